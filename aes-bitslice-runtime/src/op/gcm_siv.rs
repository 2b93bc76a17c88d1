//! AES-GCM-SIV: authenticated encryption that tolerates nonce reuse (RFC 8452).
//!
//! ```text
//! keys of the message  =  cipher of the nonce                      section 4: one of POLYVAL, one of AES
//! tag                  =  cipher of (POLYVAL of additional data, plaintext and lengths  +  nonce)
//! ciphertext           =  plaintext  +  cipher of counters that begin with the tag
//! ```
//!
//! The tag of the whole plaintext is needed first, so encryption makes two passes over a message: one computes the hashes of all chunks,
//! the next the ciphertext. Decryption has the tag, so a single pass decrypts a chunk and hashes the result. Kernels take a counter as a
//! number whose last 32 bits count: the block as a little-endian number.

use crate::base::counter::{Counter, CounterMode};
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::nonce::Nonce;
use crate::base::scrubbed::{ONE_KEY, scrubbed};
use crate::base::tag::Tag;
use crate::cpu::cipher::{CpuCipher, encrypt_block};
use crate::cpu::hash_key::HashKey;
use crate::cpu::key::CpuKey;
use crate::op::aad::Aad;
use crate::op::buffers::{Access, Buffers};
use crate::op::ctr::Ctr;
use crate::op::launch::{Launch, Shape};
use crate::op::operation::{Hashed, Keys, Operation, OwnKey, Steps};
use crate::op::partial_hash::{PartialHash, Verdict};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::mode::Mode;
use cipher::inout::InOutBuf;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The maximum length of a message, and of its additional data, in bytes (section 6).
const LONGEST: u64 = 1 << 36;

/// The common part of AES-GCM-SIV calls: a nonce, additional data, and `E`, which says what is done with the tag.
#[derive(Clone, Debug)]
pub struct GcmSiv<E> {
    nonce: Nonce,
    aad: Aad,
    /// The first byte of the data in its message.
    offset: u64,
    /// The tag, which determines the counters; `None` until it is computed.
    tag: Option<[u8; 16]>,
    derived: Option<Derived>,
    end: E,
}

/// Encrypts a whole message with AES-GCM-SIV (RFC 8452) and returns its tag of 16 bytes. Keys have 128 or 256 bits, nonces 12 bytes.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, GcmSivDecrypt, GcmSivEncrypt, Key, KeyBits, Nonce};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let nonce = Nonce::random()?;
/// let mut message = *b"a secret message";
/// let tag = cipher.run(GcmSivEncrypt::new(&nonce, b"a header that is not secret"), &mut message)?;
/// cipher.run(GcmSivDecrypt::new(&nonce, b"a header that is not secret", &tag), &mut message)?;
/// assert_eq!(&message, b"a secret message");
/// # Ok::<(), Error>(())
/// ```
///
/// If a nonce is used twice under a key, this reveals whether two messages with the same additional data are equal, and nothing else. Use
/// new nonces all the same, because limits are lower otherwise (section 9).
///
/// It makes two passes over the data, and the second begins only when the first has completed. So on a stream of a CUDA GPU the call itself
/// waits for the first pass, as no other operation does.
pub type GcmSivEncrypt = GcmSiv<MakeTag>;

/// Decrypts a whole message if it is the one that the tag was computed from; otherwise the call fails with [`Error::Unauthenticated`], and
/// its output is cleared.
pub type GcmSivDecrypt = GcmSiv<VerifyTag>;

/// The end of an encryption: the tag.
#[derive(Clone, Copy, Debug)]
pub struct MakeTag;

/// The end of a decryption: whether the tag is right.
#[derive(Clone, Copy, Debug)]
pub struct VerifyTag(Tag);

impl GcmSivEncrypt {
    /// Takes a nonce of 12 bytes and additional data, which the tag authenticates and which is not encrypted; it may be empty.
    pub fn new(nonce: &Nonce, aad: &[u8]) -> Self {
        Self { nonce: nonce.clone(), aad: aad.into(), offset: 0, tag: None, derived: None, end: MakeTag }
    }
}

impl GcmSivDecrypt {
    /// Takes the nonce and the additional data of the encryption, and the tag that it returned.
    pub fn new(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self {
        let (bytes, _) = tag.padded();
        Self { nonce: nonce.clone(), aad: aad.into(), offset: 0, tag: Some(bytes), derived: None, end: VerifyTag(*tag) }
    }
}

/// The result of an AES-GCM-SIV call.
pub trait SivEnd: Clone + Send + Sync + 'static {
    /// The value that the call returns.
    type Output: Send + 'static;

    /// Whether it says that the output is authentic.
    #[doc(hidden)]
    const VERIFIES: bool;

    /// The tag of a decryption.
    #[doc(hidden)]
    fn given(&self) -> Option<&Tag>;

    #[doc(hidden)]
    fn end(&self, computed: &[u8; 16]) -> Result<Self::Output, Error>;
}

impl SivEnd for MakeTag {
    type Output = Tag;
    const VERIFIES: bool = false;

    fn given(&self) -> Option<&Tag> {
        None
    }

    fn end(&self, computed: &[u8; 16]) -> Result<Tag, Error> {
        Ok(Tag::from(*computed))
    }
}

impl SivEnd for VerifyTag {
    type Output = ();
    const VERIFIES: bool = true;

    fn given(&self) -> Option<&Tag> {
        Some(&self.0)
    }

    fn end(&self, computed: &[u8; 16]) -> Result<(), Error> {
        self.0.verify(computed)
    }
}

/// The keys of a message (section 4). Both are wiped with the last clone.
#[derive(Clone)]
struct Derived {
    hash: HashKey,
    key: Arc<Key>,
    /// The same key on the CPU, for the tag.
    cpu: Arc<CpuKey>,
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}

impl Derived {
    fn new(cipher: &impl CpuCipher, nonce: &[u8]) -> Self {
        let halves = match cipher.bits() {
            KeyBits::Aes128 => 4,
            KeyBits::Aes256 => 6,
            KeyBits::Aes192 => unreachable!("refused before the work"),
        };
        let mut keys = Zeroizing::new([0; 48]);
        for (n, half) in keys.chunks_mut(8).take(halves).enumerate() {
            let mut block = Zeroizing::new([0; 16]);
            block[..4].copy_from_slice(&(n as u32).to_le_bytes());
            block[4..].copy_from_slice(nonce);
            encrypt_block(cipher, &mut block);
            half.copy_from_slice(&block[..8]);
        }
        let (hash, key) = keys[..8 * halves].split_first_chunk().expect("more than a block");
        let key = Key::new(key).expect("a key of the same length");
        let cpu = Arc::new(scrubbed::<ONE_KEY, _>(|| CpuKey::on(cipher.instructions(), &key)));
        Self { hash: HashKey::of_polyval(hash, cipher.instructions()), cpu, key: Arc::new(key) }
    }

    /// The block whose encryption is the tag of a message with this hash (section 5), except for the highest bit, which must be 0.
    fn before_tag(&self, nonce: &[u8], aad: &[u8], message: &PartialHash) -> Zeroizing<[u8; 16]> {
        let both = Zeroizing::new(match aad {
            [] => message.hash,
            _ => self.hash.append(&self.hash.hash(aad), &message.hash, message.bytes.div_ceil(16)),
        });
        let sum = self.hash.append_block(&both, &Blocks::Reversed.block(lengths(aad.len() as u64, message.bytes)));
        let mut block = Zeroizing::new(Blocks::Reversed.block(sum));
        block.iter_mut().zip(nonce).for_each(|(byte, nonce)| *byte ^= nonce);
        block
    }
}

/// The last block to be hashed: the lengths in bits of the additional data and the message (section 4), which are given in bytes.
fn lengths(aad: u64, message: u64) -> [u8; 16] {
    (u128::from(message) << 67 | u128::from(aad) << 3).to_le_bytes()
}

/// Whether a message and its additional data, in bytes, are no longer than allowed.
fn is_allowed(message: u64, aad: u64) -> bool {
    message <= LONGEST && aad <= LONGEST
}

/// The bits that count in the last byte of the block that is encrypted to a tag.
const COUNTS: u8 = 0x7f;

impl<E> GcmSiv<E> {
    fn derived(&self) -> &Derived {
        self.derived.as_ref().expect("derived before the work")
    }

    /// The tag of a message with the hashes of these parts.
    fn tag_of(&self, parts: Vec<PartialHash>) -> Result<Zeroizing<[u8; 16]>, Error> {
        let derived = self.derived();
        let message = derived.hash.combine(0, parts)?;
        let mut block = derived.before_tag(self.nonce.as_bytes(), &self.aad, &message);
        block[15] &= COUNTS;
        encrypt_block(&*derived.cpu, &mut block);
        Ok(block)
    }

    /// The counters (section 4) from the data's first byte on, as numbers in the form that kernels take.
    fn counters(&self) -> (Counter, u128) {
        let mut block = self.tag.expect("made before data is encrypted");
        block[15] |= 0x80;
        block.reverse();
        (Counter::new(CounterMode::Inc32, block), self.offset.into())
    }

    /// Adds the key stream to data, on one core.
    fn add_key_stream(&self, cipher: &impl CpuCipher, data: Buffers<'_>) {
        let (counter, position) = self.counters();
        cipher.add_little_endian_key_stream(counter.block_at(position), data.into_in_out());
    }

    fn part_of(&self, bytes: u64, hash: [u8; 16]) -> PartialHash {
        PartialHash { offset: self.offset, bytes, hash }
    }
}

impl<E: SivEnd> Operation for GcmSiv<E> {
    const NAME: &'static str = "AES-GCM-SIV";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OneOnCpu;
    const KEY_LENGTHS: &'static [KeyBits] = &[KeyBits::Aes128, KeyBits::Aes256];
    const HAS_OWN_KEY: bool = true;
    const VERIFIES: bool = E::VERIFIES;
}

impl<E: SivEnd> Steps for GcmSiv<E> {
    type Part = PartialHash;
    type Output = E::Output;

    fn mode(&self) -> Option<Mode> {
        (!self.only_reads()).then_some(Mode::CtrLe32)
    }

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let refused = |what: String| Err(Error::Length { operation: Self::NAME, what });
        let (nonce, aad) = (self.nonce.as_bytes().len(), self.aad.len() as u64);
        if nonce != 12 {
            return refused(format!("a nonce has 12 bytes, and this one has {nonce}"));
        }
        if let Some(tag) = self.end.given().map(|tag| tag.as_bytes().len()).filter(|&tag| tag != 16) {
            return refused(format!("a tag has 16 bytes, and this one has {tag}"));
        }
        match is_allowed(bytes, aad) {
            true => Ok(()),
            false => refused(format!("a message has at most {LONGEST} bytes, and so has its additional data")),
        }
    }

    fn derive(&mut self, cipher: &impl CpuCipher) {
        self.derived = Some(Derived::new(cipher, self.nonce.as_bytes()));
    }

    fn own_key(&self) -> Option<OwnKey<'_>> {
        let Derived { key, cpu, .. } = self.derived();
        Some(OwnKey { key, cpu })
    }

    fn only_reads(&self) -> bool {
        self.derived.is_some() && self.tag.is_none()
    }

    fn next_pass(&self, parts: &[PartialHash]) -> Result<Option<Self>, Error> {
        match self.tag {
            Some(_) => Ok(None),
            None => Ok(Some(Self { tag: Some(*self.tag_of(parts.to_vec())?), ..self.clone() })),
        }
    }

    fn after(&self, bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { offset: self.offset + bytes, ..self.clone() }
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        Ctr::new(&self.counters().0, self.offset).launches(shape)
    }

    fn hashed(&self) -> Option<Hashed> {
        match (E::VERIFIES, self.tag) {
            (true, _) => Some(Hashed::Output),
            (false, None) => Some(Hashed::Input),
            (false, Some(_)) => None,
        }
    }

    /// Compares the blocks before encryption to the tag, because a device can do this without the cipher.
    fn verdict(&self, bytes: u64) -> Option<Verdict> {
        let tag = self.end.given()?;
        let derived = self.derived();
        let mut expected = Zeroizing::new(tag.padded().0);
        derived.cpu.process(Direction::Decrypt, InOutBuf::from(std::slice::from_mut((&mut *expected).into())));
        // Such a tag belongs to no message, whatever its hash: then the factor is 0, and a bit of the addend stays set.
        let never = 0_u8.wrapping_sub(expected[15] >> 7);
        let nothing = PartialHash { bytes, ..PartialHash::default() };
        let computed = derived.before_tag(self.nonce.as_bytes(), &self.aad, &nothing);
        let reversed = |mut block: [u8; 16]| {
            block.reverse();
            block
        };
        let mut addend = Zeroizing::new(reversed(std::array::from_fn(|i| computed[i] ^ expected[i])));
        addend[15] = addend[15] & !never | 1 & never;
        let factor = Zeroizing::new(derived.hash.bytes().map(|byte| byte & !never));
        let mut mask = [0xff; 16];
        mask[0] = COUNTS;
        Some(Verdict { factor, addend, mask })
    }

    fn hash_key(&self) -> &HashKey {
        &self.derived().hash
    }

    fn part(&self, bytes: u64, hash: &[u8; 16]) -> PartialHash {
        self.part_of(bytes, *hash)
    }

    fn on_cpu(&self, cipher: &impl CpuCipher, mut data: Buffers<'_>) -> PartialHash {
        let bytes = data.len() as u64;
        if self.only_reads() {
            return self.part_of(bytes, self.hash_key().hash(data.input()));
        }
        self.add_key_stream(cipher, data.reborrow());
        match self.hashed() {
            Some(_) => self.part_of(bytes, self.hash_key().hash(data.output())),
            None => PartialHash::default(),
        }
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<E::Output, Error> {
        match self.tag {
            Some(made) if !E::VERIFIES => self.end.end(&made),
            // Computes the right tag of a message that may be refused.
            _ => self.end.end(&*self.tag_of(parts)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived(mut decrypt: GcmSivDecrypt) -> GcmSivDecrypt {
        decrypt.derive(&CpuKey::new(&Key::new(&[0x35; 32]).unwrap()));
        decrypt
    }

    /// Determines, as a device does, whether a message with this hash is authentic.
    fn passes(verdict: &Verdict, hash: [u8; 16]) -> bool {
        let product = HashKey::from_bytes(*verdict.factor).hash(&hash);
        (0..16).all(|i| (product[i] ^ verdict.addend[i]) & verdict.mask[i] == 0)
    }

    #[test]
    fn a_device_accepts_the_tag_of_the_message_and_no_other() {
        let nonce = Nonce::from([3; 12]);
        for (aad, len) in [(&b""[..], 16), (b"a header", 1), (b"sixteen bytes...and more", 100)] {
            let message: Vec<u8> = (0..len).map(|i| (i * 37 + 11) as u8).collect();
            let of = |tag: &[u8; 16]| derived(GcmSivDecrypt::new(&nonce, aad, &Tag::from(*tag)));
            let siv = of(&[0; 16]);
            let (hash, bytes) = (siv.hash_key().hash(&message), message.len() as u64);
            let part = siv.part(bytes, &hash);
            let tag = *siv.tag_of(vec![part]).unwrap();
            let accepts = |tag: &[u8; 16], hash| passes(&of(tag).verdict(bytes).unwrap(), hash);
            assert!(accepts(&tag, hash) && of(&tag).finish(vec![part]).is_ok());
            for bit in 0..128 {
                let flipped = |block: &[u8; 16]| {
                    let mut block = *block;
                    block[bit / 8] ^= 1 << (bit % 8);
                    block
                };
                assert!(!accepts(&flipped(&tag), hash) && of(&flipped(&tag)).finish(vec![part]).is_err(), "{bit}");
                assert!(!accepts(&tag, flipped(&hash)), "{bit}");
            }
            // A tag that differs from the right one only in the highest bit before encryption.
            let mut block = tag;
            let cpu = &siv.derived().cpu;
            cpu.process(Direction::Decrypt, InOutBuf::from(std::slice::from_mut((&mut block).into())));
            block[15] |= 0x80;
            encrypt_block(&**cpu, &mut block);
            assert!(!accepts(&block, hash) && of(&block).finish(vec![part]).is_err());
        }
    }

    /// RFC 8452, appendix C.3: the counter wraps in its first four bytes. A chunk begins anywhere.
    #[test]
    fn counters_wrap_in_the_first_word() {
        let tag = Tag::from(std::array::from_fn(|i| if i < 4 { 0xff } else { i as u8 }));
        let siv = GcmSivDecrypt::new(&Nonce::from([0; 12]), b"", &tag);
        let at = |bytes| {
            let (counter, position) = siv.after(bytes, || unreachable!("it is not chained")).counters();
            counter.at(position).to_le_bytes()
        };
        let rest = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x8f];
        assert_eq!((at(0)[..4].to_vec(), at(0)[4..].to_vec()), (vec![0xff; 4], rest.to_vec()));
        assert_eq!((at(16)[..4].to_vec(), at(16)[4..].to_vec()), (vec![0; 4], rest.to_vec()));
        assert_eq!(at(16 << 9)[..4], [0xff, 1, 0, 0]);
    }

    /// RFC 8452, section 4: each length in bits, as a little-endian number of 64 bits.
    #[test]
    fn lengths_have_64_bits_each() {
        for (bytes, bits) in [(1, 8), ((1 << 29) - 1, 0xffff_fff8), (1 << 29, 1_u64 << 32), (LONGEST, 1 << 39)] {
            assert_eq!(
                lengths(bytes, 0),
                [bits.to_le_bytes(), [0; 8]].concat()[..],
                "{bytes} bytes of additional data"
            );
            assert_eq!(lengths(0, bytes), [[0; 8], bits.to_le_bytes()].concat()[..], "{bytes} bytes of the message");
        }
    }

    #[test]
    fn a_message_and_its_data_have_no_more_than_the_standard_allows() {
        assert_eq!(LONGEST, 1 << 36);
        assert!(is_allowed(LONGEST, LONGEST) && !is_allowed(LONGEST + 1, 0) && !is_allowed(0, LONGEST + 1));
        let encrypt = GcmSivEncrypt::new(&Nonce::from([3; 12]), b"a header");
        assert!(
            encrypt.check(LONGEST).is_ok() && encrypt.check(LONGEST + 1).is_err() && encrypt.check(1 << 37).is_err()
        );
        for len in [1, 11, 13, 16] {
            assert!(GcmSivEncrypt::new(&Nonce::new(&vec![3; len]).unwrap(), b"").check(1).is_err(), "a nonce of {len}");
        }
        let decrypt = |len| GcmSivDecrypt::new(&Nonce::from([3; 12]), b"", &Tag::new(&vec![5; len]).unwrap()).check(1);
        assert!(decrypt(16).is_ok() && [4, 8, 12, 13, 14, 15].into_iter().all(|len| decrypt(len).is_err()));
    }

    /// The hash of additional data is moved by the blocks of the message, however long it is.
    #[test]
    fn the_hash_of_a_long_message_is_that_of_its_lengths() {
        let siv = derived(GcmSivDecrypt::new(&Nonce::from([0; 12]), b"", &Tag::from([0; 16])));
        let (key, hash) = (&siv.derived().hash, [0x99; 16]);
        for bytes in [1_u64 << 29, 1 << 32, (1 << 35) + 1, LONGEST] {
            let message = PartialHash { offset: 0, bytes, hash };
            let of = |aad: &[u8]| {
                let both = if aad.is_empty() { hash } else { key.append(&key.hash(aad), &hash, bytes.div_ceil(16)) };
                let lengths = Blocks::Reversed.block(lengths(aad.len() as u64, bytes));
                Blocks::Reversed.block(key.append_block(&both, &lengths))
            };
            for aad in [&b""[..], b"a header"] {
                assert_eq!(*siv.derived().before_tag(&[0; 12], aad, &message), of(aad), "{bytes} bytes");
            }
        }
    }

    /// RFC 8452, section 4: 2^36 bytes are 2^32 blocks, whose counters differ.
    #[test]
    fn chunks_of_a_long_message_begin_with_their_counters() {
        let siv = GcmSivDecrypt::new(&Nonce::from([0; 12]), b"", &Tag::from([0; 16]));
        let first = |offset| {
            let (counter, position) = siv.after(offset, || unreachable!("it is not chained")).counters();
            u32::from_le_bytes(counter.at(position).to_le_bytes()[..4].try_into().unwrap())
        };
        let offsets = [0, 16, 1 << 32, (1 << 35) + 32, LONGEST - 16];
        assert_eq!(offsets.map(first), [0, 1, 1 << 28, (1 << 31) + 2, u32::MAX]);
    }
}
