//! Many messages: what they become by another implementation, and the check of calls on them, wherever their data can be.

use crate::arrays::after_gaps;
use crate::engines::name;
use crate::memory::Memory;
use crate::others;
use crate::reference::noise;
use aes_bitslice_runtime::{Access, Cipher, GcmMessage, OpenedBatch, Operation, Tag};
use std::ops::Range;

/// Messages, what belongs to them, and the bytes between them.
#[derive(Clone)]
pub struct Messages {
    /// A key for all, or one for each.
    pub keys: Vec<Vec<u8>>,
    /// Nonces, all different.
    pub nonces: Vec<Vec<u8>>,
    /// Additional data of each.
    pub aad: Vec<Vec<u8>>,
    /// Where they are in the data.
    pub ranges: Vec<Range<u64>>,
    /// The data.
    pub plain: Vec<u8>,
}

impl Messages {
    /// Lengths in bytes: of data, of additional data, and of the gap before a message.
    pub fn new(seed: u64, keys: Vec<Vec<u8>>, lengths: &[(usize, usize, usize)]) -> Self {
        let (ranges, end) = after_gaps(lengths.iter().map(|&(bytes, _, gap)| (bytes, gap)));
        let last_four = noise(seed ^ 1, 4);
        let nonce = |n: usize| [&(n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes(), &*last_four].concat();
        Self {
            keys,
            nonces: (0..lengths.len()).map(nonce).collect(),
            aad: lengths.iter().enumerate().map(|(n, (_, aad, _))| noise(seed + n as u64, *aad)).collect(),
            ranges,
            plain: noise(!seed, end + 7),
        }
    }

    /// A list, as batches take them.
    pub fn list(&self) -> Vec<GcmMessage<'_>> {
        let message =
            |n: usize| GcmMessage { nonce: &self.nonces[n], aad: &self.aad[n], range: self.ranges[n].clone() };
        (0..self.ranges.len()).map(message).collect()
    }

    /// Where a message is in the data.
    pub fn range(&self, n: usize) -> Range<usize> {
        self.ranges[n].start as usize..self.ranges[n].end as usize
    }

    /// The number of one of them; none if there are none.
    pub fn one(&self, seed: u32) -> Vec<usize> {
        (seed as usize).checked_rem(self.ranges.len()).into_iter().collect()
    }

    /// These bytes, with others where messages are.
    pub fn between(&self, before: &[u8], others: &[u8]) -> Vec<u8> {
        let mut all = before.to_vec();
        (0..self.ranges.len()).for_each(|n| all[self.range(n)].copy_from_slice(&others[self.range(n)]));
        all
    }

    /// By GCM of the `aes-gcm` crate.
    pub fn gcm(&self) -> Known<'_> {
        self.by(|n, data| {
            let (secret, tag) = others::gcm(self.key(n), &self.nonces[n], &self.aad[n], data);
            data.copy_from_slice(&secret);
            Tag::from(tag)
        })
    }

    /// By CMAC of the `cmac` crate.
    ///
    /// # Panics
    /// If that does not make 16 bytes.
    pub fn cmac(&self) -> Known<'_> {
        self.by(|n, data| Tag::new(&others::cmac(self.key(n), data)).expect("16 bytes"))
    }

    fn key(&self, n: usize) -> &[u8] {
        &self.keys[n % self.keys.len()]
    }

    /// By a function that is given the number of a message and its data, may encrypt that, and returns a tag.
    pub fn by(&self, seal: impl Fn(usize, &mut [u8]) -> Tag) -> Known<'_> {
        let mut secret = self.plain.clone();
        let tags = (0..self.ranges.len()).map(|n| seal(n, &mut secret[self.range(n)])).collect();
        Known { messages: self, secret, tags }
    }
}

/// The first `bytes` bytes of each tag.
pub fn side_by_side(tags: &[Tag], bytes: usize) -> Vec<u8> {
    tags.iter().flat_map(|tag| &tag.as_bytes()[..bytes]).copied().collect()
}

/// Messages as another implementation has them.
pub struct Known<'a> {
    messages: &'a Messages,
    /// The data, with the messages encrypted.
    pub secret: Vec<u8>,
    /// Their tags.
    pub tags: Vec<Tag>,
}

impl Known<'_> {
    /// Their tags side by side, the first `bytes` bytes of each; of the `forged` ones with one bit changed.
    pub fn tags_with(&self, forged: &[usize], bytes: usize) -> Vec<u8> {
        let mut tags = side_by_side(&self.tags, bytes);
        for n in forged {
            let tag = &mut tags[n * bytes..][..bytes];
            let bit = usize::from(tag[0]) % (8 * bytes);
            tag[bit / 8] ^= 1 << (bit % 8);
        }
        tags
    }

    /// The data when it was decrypted, and these messages were refused.
    pub fn opened(&self, refused: &[usize]) -> Vec<u8> {
        let mut data = self.messages.plain.clone();
        refused.iter().for_each(|&n| data[self.messages.range(n)].fill(0));
        data
    }

    /// Encrypts them, or makes their tags, there.
    ///
    /// # Panics
    /// If a byte or a tag is another.
    pub fn seals<E>(&self, memory: &Memory, cipher: &Cipher, encrypt: &E)
    where
        E: Operation<Output: IntoIterator<Item: Into<Tag>>>,
    {
        let mut data = self.messages.plain.clone();
        let tags = memory.run(cipher, encrypt, &mut data).expect("a call that there is");
        self.is_right(cipher, tags, &data, &self.secret);
    }

    /// Decrypts or verifies them there.
    ///
    /// # Panics
    /// If others than these are refused, a byte is another, or anything is left of what was refused.
    pub fn opens<D>(&self, memory: &Memory, cipher: &Cipher, decrypt: &D, refused: &[usize])
    where
        D: Operation<Output = OpenedBatch>,
    {
        let mut data = self.secret.clone();
        let opened = memory.run(cipher, decrypt, &mut data).expect("a call that there is");
        assert_eq!(opened.failed(), refused, "{}", name(cipher.engine()));
        assert!(opened.all().is_ok() == refused.is_empty() && !refused.iter().any(|&n| opened.is_authentic(n)));
        // What is only read stays.
        let expected = if D::ACCESS == Access::Reads { self.secret.clone() } else { self.opened(refused) };
        assert!(data == expected, "{}: data", name(cipher.engine()));
    }

    /// Both ways, wherever the data can be, with the right tags and with some that are forged; and from an input to an output.
    ///
    /// # Panics
    /// If anything is wrong.
    pub fn check<E, D>(&self, cipher: &Cipher, encrypt: &E, decrypt: impl Fn(&[Tag]) -> D, forged: &[usize])
    where
        E: Operation<Output: IntoIterator<Item: Into<Tag>>>,
        D: Operation<Output = OpenedBatch>,
    {
        let with_forged: Vec<Tag> =
            self.tags_with(forged, 16).as_chunks::<16>().0.iter().map(|&tag| tag.into()).collect();
        let (authentic, partly) = (decrypt(&self.tags), decrypt(&with_forged));
        let plain = &self.messages.plain;
        for memory in Memory::all_of(cipher.engine()) {
            if matches!(memory, Memory::Gpu(..)) && plain.is_empty() {
                continue; // No slice of GPU memory is empty.
            }
            self.seals(&memory, cipher, encrypt);
            self.opens(&memory, cipher, &authentic, &[]);
            self.opens(&memory, cipher, &partly, forged);
        }
        if E::ACCESS == Access::Maps {
            let before = vec![0x77; plain.len()];
            let mut output = before.clone();
            let tags = cipher.run(encrypt.clone(), (&plain, &mut output)).expect("a call that there is");
            self.is_right(cipher, tags, &output, &self.messages.between(&before, &self.secret));
        }
    }

    fn is_right(&self, cipher: &Cipher, tags: impl IntoIterator<Item: Into<Tag>>, data: &[u8], expected: &[u8]) {
        let engine = cipher.engine();
        assert!(tags.into_iter().map(Into::into).eq(self.tags.iter().copied()), "{}: tags", name(engine));
        assert!(data == expected, "{}: data", name(engine));
    }
}
