//! The batches of GCM messages that printed kernels are checked with, and what the definition makes of them (SP 800-38D).

use super::program::bytes_of;
use aes_bitslice_core::aes::{KeySchedule, cipher};
use aes_bitslice_core::ghash::{Element, ghash};
use aes_bitslice_core::messages::{Message, words_of, words_of_end};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::order::Order;
use aes_bitslice_core::reference::reference;

/// A batch, and where its data is.
pub(super) struct Case {
    /// Of each message: bytes of data, bytes of additional data, and bytes between it and the message before it.
    pub(super) lengths: &'static [(u64, u32, u64)],
    /// The data begins this many bytes past a multiple of 16.
    pub(super) offset: usize,
    pub(super) in_place: bool,
}

const SEVERAL: &[(u64, u32, u64)] = &[
    (1500, 13, 0),
    (16 * 31, 0, 0),
    (16 * 31 + 1, 5, 12),
    // The last run of both lacks one byte.
    (16 * 31 - 1, 15, 0),
    (16 * 63 - 1, 31, 5),
    // A message whose last run lacks one byte, without additional data.
    (16 * 32 - 1, 0, 0),
    (0, 0, 0),
    (0, 40, 3),
    (2048, 0, 0),
    (4096 + 2048, 16, 4),
    (5000, 300, 1),
    (1, 1, 0),
    (67, 0, 2),
    (2048, 0, 8),
    (9000, 17, 0),
];

/// Lengths of data and additional data around blocks, runs and tiles; any address; in place and out of place.
pub(super) const CASES: [Case; 7] = [
    Case { lengths: SEVERAL, offset: 0, in_place: true },
    Case { lengths: &[(2048, 0, 0); 11], offset: 0, in_place: false },
    Case { lengths: SEVERAL, offset: 4, in_place: false },
    Case { lengths: &[(100, 20, 5)], offset: 3, in_place: true },
    // With the data five bytes past a multiple of 16, the messages of such a group begin at multiples of 16, and end within blocks.
    Case { lengths: &[(4101, 0, 11); 8], offset: 5, in_place: true },
    Case { lengths: SEVERAL, offset: 7, in_place: true },
    // More than a step of as many threads as may share a message, and more additional data than one.
    Case { lengths: &[(40_001, 20_000, 3), (0, 0, 0), (17, 0, 0)], offset: 3, in_place: true },
];

/// A batch, and its results.
pub(super) struct Batch {
    pub(super) all: Vec<Message>,
    pub(super) runs: u32,
    pub(super) plaintext: Vec<u8>,
    pub(super) aad: Vec<u8>,
    /// The words of the messages, and of their end.
    pub(super) words: Vec<u8>,
    pub(super) order: Vec<u8>,
    pub(super) ciphertext: Vec<u8>,
    pub(super) tags: Vec<[u8; 16]>,
}

/// What a decryption gets and leaves if some tags are wrong.
pub(super) struct Forged {
    /// The tags, of which one bit in every third is changed, and the bytes that do not count.
    pub(super) expected: Vec<[u8; 16]>,
    /// The plaintext, without the messages whose tags are wrong.
    pub(super) left: Vec<u8>,
    pub(super) verdicts: Vec<u8>,
}

impl Batch {
    /// The batch of a case with this number, whose counters wrap in some messages.
    pub(super) fn of(case: &Case, n: usize, schedule: &KeySchedule) -> Self {
        let encrypt = |block| cipher::process(block, schedule, Mode::Ctr.direction());
        let hash_key = Element::from_block(encrypt([0; 16]));
        let (mut at, mut aad_at, mut runs) = (0, 0, 0);
        let mut all: Vec<Message> = Vec::new();
        for (i, &(bytes, aad_bytes, gap)) in case.lengths.iter().enumerate() {
            let mut first: [u8; 16] = std::array::from_fn(|b| (b * 31 + i * 7 + n) as u8);
            first[12..].copy_from_slice(&[1, 0x1f2e_3d4c, u32::MAX - i as u32][i % 3].to_be_bytes());
            let tag_bytes = [16, 12, 4, 15, 8][i % 5];
            let message = Message { first, at: at + gap, bytes, aad_at, aad_bytes, tag_bytes, first_run: runs };
            runs += message.runs() as u32;
            all.push(message);
            at += gap + bytes;
            aad_at += aad_bytes;
        }
        let stream = |seed: u128, bytes: usize| reference(Mode::Ctr, schedule, seed << 96, 0, &vec![0; bytes]);
        let (plaintext, aad) = (stream(77, at as usize + 9), stream(78, aad_at as usize));
        let words: Vec<_> = all.iter().map(words_of).chain([words_of_end(runs)]).collect();
        let order = Order::longest_first(all.len(), |n| all[n].hashed_blocks()).expect("few");
        let order: Vec<u32> = (0..all.len()).map(|position| order.at(position) as u32).collect();
        let (mut ciphertext, mut tags) = (plaintext.clone(), Vec::new());
        for message in &all {
            let range = message.at as usize..(message.at + message.bytes) as usize;
            for (i, block) in ciphertext[range.clone()].chunks_mut(16).enumerate() {
                let mut counter = message.first;
                let number = u32::from_be_bytes(counter[12..].try_into().expect("four bytes"));
                counter[12..].copy_from_slice(&number.wrapping_add(1 + i as u32).to_be_bytes());
                block.iter_mut().zip(encrypt(counter)).for_each(|(byte, key)| *byte ^= key);
            }
            let hash = hash_of(message, &ciphertext, &aad, hash_key);
            tags.push((hash + Element::from_block(encrypt(message.first))).to_block());
        }
        let words = words.as_flattened().as_flattened().to_vec();
        Self { all, runs, plaintext, aad, words, order: bytes_of(&order), ciphertext, tags }
    }

    /// The hashes of the messages, each under the hash key with its number.
    pub(super) fn hashes(&self, keys: &[Element]) -> Vec<[u8; 16]> {
        let of = |(message, key): (&Message, &Element)| hash_of(message, &self.ciphertext, &self.aad, *key).to_block();
        self.all.iter().zip(keys).map(of).collect()
    }

    /// An output before the launch: as `input` where there is no message, which stays as it is.
    pub(super) fn between(&self, input: &[u8]) -> Vec<u8> {
        let mut other = input.to_vec();
        self.all.iter().for_each(|m| other[m.at as usize..(m.at + m.bytes) as usize].fill(0));
        other
    }

    /// With some wrong tags.
    pub(super) fn forged(&self) -> Forged {
        let (mut expected, mut left, mut verdicts) = (self.tags.clone(), self.plaintext.clone(), Vec::new());
        for (i, (tag, message)) in expected.iter_mut().zip(&self.all).enumerate() {
            let counts = message.tag_bytes as usize;
            tag[counts..].fill(0);
            let is_wrong = i % 3 == 1;
            if is_wrong {
                // The lowest and the highest bits of words are among them.
                let bit = (i / 3 * 31) % (8 * counts);
                tag[bit / 8] ^= 1 << (bit % 8);
                left[message.at as usize..][..message.bytes as usize].fill(0);
            }
            verdicts.push(u32::from(is_wrong));
        }
        Forged { expected, left, verdicts: bytes_of(&verdicts) }
    }
}

/// The hash of a message, lengths included.
fn hash_of(message: &Message, ciphertext: &[u8], aad: &[u8], key: Element) -> Element {
    let data = &ciphertext[message.at as usize..][..message.bytes as usize];
    let aad = &aad[message.aad_at as usize..][..message.aad_bytes as usize];
    let lengths = u128::from(message.aad_bytes) << 67 | u128::from(message.bytes) << 3;
    let both = ghash(key, aad) * key.pow(message.bytes.div_ceil(16)) + ghash(key, data);
    (both + Element::from_block(lengths.to_be_bytes())) * key
}
