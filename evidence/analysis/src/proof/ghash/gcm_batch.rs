//! The claims about GCM of many messages in one launch: what is encrypted is the sum with counter mode's key stream, and each message has its
//! tag (SP 800-38D, section 7.1); what is decrypted is the same sum, or zeros where the tag is not as expected, and verdicts say which. Nothing
//! else is written. A launch before it encrypts the first counter blocks, which are the masks of tags.
//!
//! As in [`gcm`](super::gcm), ciphertexts with sums of outputs of S-boxes are multiplied by powers of an unknown hash key. First counter blocks
//! are known here.

use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::ghash::clear::differs;
use crate::proof::ghash::field::{Element, ghash};
use crate::proof::ghash::gcm::{Kernel, key_stream};
use crate::proof::ghash::messages::{AAD, MASKS, MESSAGES, ORDER, described, hashed, table};
use crate::proof::ghash::{TABLES, bytes_of, plus, unknown};
use crate::proof::kernel::{INPUT, OUTPUT, Proved, key_argument};
use crate::proof::launch::Launch;
use crate::proof::memory::{Byte, number};
use crate::proof::mode::no_cell;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::aes::schedule::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::batch_tables;
use aes_bitslice_core::messages::Message;
use aes_bitslice_core::order::Order;

/// Addresses of tags or verdicts, and of the tags that are expected.
const RESULTS: u64 = buffer(9);
const EXPECTED: u64 = buffer(10);

/// The known part of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The length of the key.
    pub key_bits: KeyBits,
    /// The logarithm of the number of groups of threads that share a message.
    pub wide: u32,
    /// Bytes of data and of additional data of each message.
    pub lengths: &'a [(usize, usize)],
    /// If messages are decrypted: which bits of each tag are not as expected, and how many of its bytes count.
    pub decrypted: Option<&'a [([u8; 16], u32)]>,
    /// How far past a multiple of 16 the data begins.
    pub offset: u64,
    /// Thread blocks.
    pub thread_blocks: u64,
    /// Whether the output replaces the input.
    pub in_place: bool,
}

/// The messages, with first counter blocks that differ; that of the second one is about to wrap.
fn messages(lengths: &[(usize, usize)]) -> Vec<Message> {
    let mut messages = described(lengths);
    for (n, message) in messages.iter_mut().enumerate() {
        let count = if n == 1 { u32::MAX - 2 } else { 1 };
        message.first = ((0x0123_4567_89ab_cdef_0011_2233 + n as u128) << 32 | u128::from(count)).to_be_bytes();
    }
    messages
}

fn key_basis(kernel: &Kernel<'_>) -> Result<ColumnBasis, String> {
    let rows = kernel.manifest.key_basis.ok_or("it has no round keys")?;
    ColumnBasis::new(rows).map_err(|e| e.to_string())
}

/// Proves that a launch encrypts the first counter blocks of this many messages.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove_masks(kernel: &Kernel<'_>, key_bits: KeyBits, count: usize, thread_blocks: u64) -> Result<Proved, String> {
    let Kernel { manifest, ptx, basis } = *kernel;
    let mut cells = Cells::in_bases(&[basis]);
    let cells = &mut cells;
    let messages = messages(&vec![(1, 0); count]);
    let keys = aes::unknown_keys(cells, key_bits);
    let given_keys = key_argument(cells, &keys, Direction::Encrypt, &key_basis(kernel)?);
    let encrypted = messages
        .iter()
        .map(|message| aes::process(cells, &aes::known(message.first), &keys, Direction::Encrypt).map_err(no_cell));
    let expected: Vec<Block> = encrypted.collect::<Result<_, _>>()?;
    let arguments = |argument| {
        Some(match argument {
            Argument::Messages => number(MESSAGES, 8),
            Argument::All => number(count as u64, 4),
            Argument::Masks => number(MASKS, 8),
            Argument::Keys => given_keys.clone(),
            _ => return None,
        })
    };
    let entry = manifest.entry(Entry::BatchMasks).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: thread_blocks, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: manifest.shared_bytes };
    let outputs = [("masks", MASKS, expected.as_flattened().as_chunks().0)];
    Ok(Proved { bits: launch.prove(cells, arguments, &[(MESSAGES, &table(&messages))], &outputs)? })
}

/// Proves that a launch encrypts messages and writes their tags, or decrypts them, clears those whose tag is not as expected, and writes
/// verdicts.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove(kernel: &Kernel<'_>, case: &Case<'_>) -> Result<Proved, String> {
    let Kernel { manifest, ptx, basis } = *kernel;
    let mut messages = messages(case.lengths);
    for (message, (_, tag_bytes)) in messages.iter_mut().zip(case.decrypted.unwrap_or_default()) {
        message.tag_bytes = *tag_bytes;
    }
    let mut cells = Cells::in_bases(&[basis]);
    let cells = &mut cells;
    let keys = aes::unknown_keys(cells, case.key_bits);
    let given_keys = key_argument(cells, &keys, Direction::Encrypt, &key_basis(kernel)?);
    let key = Element::from_block(&aes::unknown(cells));
    let data = unknown(cells, case.lengths.iter().map(|(bytes, _)| bytes).sum());
    let aad = unknown(cells, case.lengths.iter().map(|(_, bytes)| bytes).sum());
    let masks = unknown(cells, 16 * messages.len());

    // The messages of a unit take as many steps as the one that takes the most, and process blocks in front of their data in these.
    let order = Order::longest_first(messages.len(), |n| messages[n].hashed_blocks()).expect("few");
    let (at_a_time, step) = (32 >> case.wide, 32 << case.wide);
    let mut crypted = data.clone();
    for first in (0..messages.len()).step_by(at_a_time) {
        let unit: Vec<&Message> = (first..messages.len()).take(at_a_time).map(|n| &messages[order.at(n)]).collect();
        let most = unit.iter().map(|message| message.hashed_blocks()).max().unwrap_or_default();
        let count = most.div_ceil(step) as usize * step as usize;
        let mut stream = |block: u128, blocks: usize| {
            let number = (block as u32).wrapping_add(1).wrapping_add(blocks as u32).wrapping_sub(count as u32);
            key_stream(cells, &keys, block >> 32 << 32 | u128::from(number), count)
        };
        if unit.len() < at_a_time {
            stream(0, 0)?;
        }
        for message in unit {
            let (at, blocks) = (message.at as usize, message.bytes.div_ceil(16) as usize);
            let stream = stream(u128::from_be_bytes(message.first), blocks)?;
            let stream = stream[count - blocks..].as_flattened().as_chunks::<8>().0;
            for (byte, added) in crypted[at..][..message.bytes as usize].iter_mut().zip(stream) {
                (0..8).for_each(|i| byte[i] ^= added[i]);
            }
        }
    }
    let ciphertext = if case.decrypted.is_some() { &data } else { &crypted };
    let tags = messages.iter().zip(masks.as_chunks::<16>().0).map(|(message, mask)| {
        let tag = bytes_of(ghash(key, &hashed(message, &aad, ciphertext)));
        let with_mask = |(byte, mask): (&Byte, &Byte)| -> Byte { std::array::from_fn(|i| byte[i] ^ mask[i]) };
        tag.iter().zip(mask).map(with_mask).collect()
    });
    let tags: Vec<Vec<Byte>> = tags.collect();
    let (mut output, mut expected_tags, mut results) = (crypted, vec![], vec![]);
    match case.decrypted {
        None => results = tags.concat(),
        Some(all) => {
            for ((message, tag), (difference, count)) in messages.iter().zip(&tags).zip(all) {
                expected_tags.extend(plus(tag, *difference));
                let is_wrong = differs(difference, *count);
                if is_wrong {
                    output[message.at as usize..][..message.bytes as usize].fill([Bit::ZERO; 8]);
                }
                results.extend(number(is_wrong.into(), 4));
            }
        }
    }

    let of_tables: Vec<Byte> =
        batch_tables(key, &manifest.shape, case.wide).iter().flat_map(|word| word.bytes().to_vec()).collect();
    let order: Vec<Byte> = (0..messages.len()).flat_map(|n| number(order.at(n) as u64, 4)).collect();
    let from = INPUT + case.offset;
    let to = if case.in_place { from } else { OUTPUT + case.offset };
    let arguments = |argument| {
        Some(match argument {
            Argument::In => number(from, 8),
            Argument::Out => number(to, 8),
            Argument::Messages => number(MESSAGES, 8),
            Argument::Order => number(ORDER, 8),
            Argument::All => number(messages.len() as u64, 4),
            Argument::Wide => number(case.wide.into(), 4),
            Argument::Aad => number(AAD, 8),
            Argument::Masks => number(MASKS, 8),
            Argument::Expected => number(EXPECTED, 8),
            Argument::Keys => given_keys.clone(),
            Argument::Tables => number(TABLES, 8),
            Argument::Tags | Argument::Verdicts => number(RESULTS, 8),
            _ => return None,
        })
    };
    let entry = if case.decrypted.is_some() { Entry::BatchDecrypt } else { Entry::BatchEncrypt };
    let entry = manifest.entry(entry).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: case.thread_blocks, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: manifest.shared_bytes };
    let described = table(&messages);
    let given = [
        (from, &data[..]),
        (MESSAGES, &described),
        (ORDER, &order),
        (AAD, &aad),
        (MASKS, &masks),
        (EXPECTED, &expected_tags),
        (TABLES, &of_tables),
    ];
    let outputs = [("output", to, &output[..]), ("tags or verdicts", RESULTS, &results)];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &outputs)? })
}
