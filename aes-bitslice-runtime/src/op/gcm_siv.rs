//! AES-GCM-SIV: authenticated encryption that tolerates nonce reuse (RFC 8452).
//!
//! ```text
//! keys of the message  =  cipher of the nonce                      section 4: one of POLYVAL, one of AES
//! tag                  =  cipher of (POLYVAL of additional data, plaintext and lengths  +  nonce)
//! ciphertext           =  plaintext  +  cipher of counters that begin with the tag
//! ```
//!
//! It is a composition of operations under the key of the message. The tag of the whole plaintext is needed first, so encryption makes two
//! passes: a [hash](Polyval), and then [counters from the tag](Counters). Decryption has the tag, so a single pass [decrypts and
//! hashes](Opening) the result. A message for one core of a CPU is one call of a kernel instead, under keys that stay on its stack.
//! Kernels take a counter as a number whose last 32 bits count: the block as a little-endian number.

use crate::base::counter::{Counter, CounterBlock, CounterMode};
use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::tag::Tag;
use crate::cpu::block::{BlockCipher, encrypt_block};
use crate::cpu::hash_key::HashKey;
use crate::cpu::kernel::MessageOfSiv;
use crate::cpu::key::CpuKey;
use crate::op::aad::Aad;
use crate::op::buffers::{Access, Buffers};
use crate::op::ctr::Ctr;
use crate::op::ghash::Hash;
use crate::op::kernels::{Hashed, KernelsNeeded, OnHost};
use crate::op::launch::{Launch, Shape};
use crate::op::operation::{
    Composition, Cut, Keys, Operation, Pass, Passes, Place, Ready, one_pass, ready_as_it_is, returns_nothing,
};
use crate::op::own_key::{OwnKey, STACK_UNDER_OWN_KEY};
use crate::op::partial_hash::{PartialHash, Terms, Verdict};
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::mode::Mode;
use cipher::inout::InOutBuf;
use zeroize::Zeroizing;

/// The maximum length of a message, and of its additional data, in bytes (section 6).
const LONGEST: u64 = 1 << 36;

/// The common part of AES-GCM-SIV calls: a nonce, additional data, and `E`, which says what is done with the tag.
#[derive(Clone, Debug)]
pub struct GcmSiv<E> {
    nonce: Nonce,
    aad: Aad,
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
/// If a nonce is used twice under a key, this reveals whether two messages with the same additional data are equal, and nothing else. Still
/// use a new nonce for every message: repeated ones lower the limits of section 9.
///
/// It makes two passes over the data, and the second begins only when the first has completed. So on a stream of a CUDA GPU the call itself
/// waits for the first pass, as no other operation does.
pub type GcmSivEncrypt = GcmSiv<Make>;

/// Decrypts a whole message if it is the one that the tag was computed from; otherwise the call fails with [`Error::Unauthenticated`], and
/// its output is cleared.
pub type GcmSivDecrypt = GcmSiv<Verify<Tag>>;

impl GcmSivEncrypt {
    /// Takes a nonce of 12 bytes and additional data, which the tag authenticates and which is not encrypted; it may be empty.
    pub fn new(nonce: &Nonce, aad: &[u8]) -> Self {
        Self { nonce: nonce.clone(), aad: aad.into(), end: Make }
    }
}

impl GcmSivDecrypt {
    /// Takes the nonce and the additional data of the encryption, and the tag that it returned.
    pub fn new(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self {
        Self { nonce: nonce.clone(), aad: aad.into(), end: Verify(*tag) }
    }
}

/// What belongs to a message: its keys (section 4), which are wiped with the last clone, its nonce and its additional data.
#[derive(Clone)]
pub struct Message {
    hash: HashKey,
    key: OwnKey,
    nonce: Nonce,
    aad: Aad,
}

impl AsRef<OwnKey> for Message {
    fn as_ref(&self) -> &OwnKey {
        &self.key
    }
}

impl Message {
    fn new(cipher: &CpuKey, nonce: &Nonce, aad: &Aad) -> Result<Self, Error> {
        let counter = counter_of_keys(nonce.as_bytes().try_into().expect("a nonce that was checked"));
        let mut blocks = Zeroizing::new([[0; 16]; 6]);
        cipher.add_little_endian_key_stream(counter, blocks.as_flattened_mut().into());
        let mut keys = Zeroizing::new([[0; 8]; 6]);
        keys.iter_mut().zip(&*blocks).for_each(|(half, block)| half.copy_from_slice(&block[..8]));
        // As many bytes of keys as POLYVAL and the cipher take.
        let (hash, key) = keys.as_flattened()[..16 + cipher.bits.bytes()].split_at(16);
        let mut of_hash = Zeroizing::new([0; 16]);
        of_hash.copy_from_slice(hash);
        Ok(Self {
            hash: HashKey::of_polyval(&of_hash, cipher.instructions),
            key: OwnKey::new(cipher, key)?,
            nonce: nonce.clone(),
            aad: aad.clone(),
        })
    }

    /// The block whose encryption is the tag of a message with this hash (section 5), except for the highest bit, which must be 0.
    fn before_tag(&self, message: &PartialHash) -> Zeroizing<[u8; 16]> {
        let aad = &*self.aad;
        let both = Zeroizing::new(match aad {
            [] => message.hash,
            _ => self.hash.append(&self.hash.hash(aad), &message.hash, message.bytes.div_ceil(16)),
        });
        let sum = self.hash.append_block(&both, &Blocks::Reversed.block(lengths(aad.len() as u64, message.bytes)));
        let mut block = Zeroizing::new(Blocks::Reversed.block(sum));
        block.iter_mut().zip(self.nonce.as_bytes()).for_each(|(byte, nonce)| *byte ^= nonce);
        block
    }

    /// The tag of a message with this hash.
    fn tag_of(&self, message: &PartialHash) -> Zeroizing<[u8; 16]> {
        let mut block = self.before_tag(message);
        block[15] &= COUNTS;
        encrypt_block(&*self.key.cpu, &mut block);
        block
    }
}

/// The first of the blocks whose encryptions begin with eight bytes each of the keys of a message: first of POLYVAL's, and then of the
/// cipher's (section 4). Their first four bytes are the number of the block, the lowest byte first.
pub(crate) fn counter_of_keys(nonce: &[u8; 12]) -> CounterBlock {
    let mut block = [0; 16];
    block[4..].copy_from_slice(nonce);
    CounterBlock::of_gcm(u128::from_le_bytes(block), false)
}

/// The last block to be hashed: the lengths in bits of the additional data and the message (section 4), which are given in bytes.
pub(crate) fn lengths(aad: u64, message: u64) -> [u8; 16] {
    (u128::from(message) << 67 | u128::from(aad) << 3).to_le_bytes()
}

/// Whether a message and its additional data, in bytes, are no longer than allowed.
fn is_allowed(message: u64, aad: u64) -> bool {
    message <= LONGEST && aad <= LONGEST
}

/// The bits that count in the last byte of the block that is encrypted to a tag.
const COUNTS: u8 = 0x7f;

/// The kernels of passes under the key of a message. Counting the other way takes as long as in counter mode.
fn kernels(mode: Option<Mode>, hashed: Option<Hashed>) -> KernelsNeeded {
    let (on_host, as_fast_as) = (OnHost::DeviceOrCpu, Some(Mode::Ctr));
    KernelsNeeded { mode, hashed, on_host, as_fast_as, under_own_key: true, ..KernelsNeeded::NONE }
}

impl<E: Tagging<[u8; 16]>> Operation for GcmSiv<E> {
    type Output = E::Output;
    const NAME: &'static str = "AES-GCM-SIV";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&[KeyBits::Aes128, KeyBits::Aes256]);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let refused = |what: String| Err(Error::Length { operation: Self::NAME, what });
        let (nonce, aad) = (self.nonce.as_bytes().len(), self.aad.len() as u64);
        if nonce != 12 {
            return refused(format!("a nonce has 12 bytes, and this one has {nonce}"));
        }
        if let Some(tag) = self.end.expected().map(|tag| tag.as_bytes().len()).filter(|&tag| tag != 16) {
            return refused(format!("a tag has 16 bytes, and this one has {tag}"));
        }
        if !is_allowed(bytes, aad) {
            return refused(format!("a message has at most {LONGEST} bytes, and so has its additional data"));
        }
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        kernels(Some(Mode::CtrLe32), Some(Hashed::Output))
    }

    fn in_one_step(&self, cipher: &CpuKey, data: Buffers<'_>) -> Option<Option<E::Output>> {
        let tag = self.end.expected().map(|tag| tag.padded().0);
        let nonce = self.nonce.as_bytes().try_into().ok()?;
        let mut message = MessageOfSiv { nonce, aad: &self.aad, tag, data: data.into_in_out() };
        scrubbed::<STACK_UNDER_OWN_KEY, _>(|| cipher.message_of_siv(&mut message).map(|tag| self.end.finish(tag).ok()))
    }

    fn carry_out<P: Place>(self, place: P) -> Result<P::Value<E::Output>, Error> {
        place.composed(self)
    }
}

impl<E: Tagging<[u8; 16]>> Composition for GcmSiv<E> {
    type Derived = Message;

    fn derive(&self, cipher: &CpuKey) -> Result<Message, Error> {
        Message::new(cipher, &self.nonce, &self.aad)
    }

    fn passes<P: Passes>(self, message: Message, place: P) -> Result<P::Value<E::Output>, Error> {
        if let Some(tag) = self.end.expected() {
            let counters = Counters::from_tag(tag.padded().0);
            return place.pass(Opening { message, counters, end: self.end });
        }
        let hash = place.read(Polyval(message.hash.clone()))?;
        let tag = scrubbed::<DERIVED, _>(|| message.tag_of(&hash));
        place.last(Counters::from_tag(*tag), self.end.finish(*tag)?)
    }
}

/// The hash of a message.
#[derive(Clone)]
struct Polyval(HashKey);

impl Operation for Polyval {
    type Output = PartialHash;
    const NAME: &'static str = "POLYVAL";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        kernels(None, Some(Hashed::Input))
    }

    one_pass!();
}

impl Pass for Polyval {
    type Ready = Hash;

    fn ready(self, _key: Option<&CpuKey>) -> Result<Hash, Error> {
        Ok(Hash { key: self.0, offset: 0 })
    }
}

/// The key stream of a message, added to data.
#[derive(Clone, Copy)]
struct Counters {
    /// The counter of the first block of the message (section 4), as a number in the form that kernels take.
    first: Counter,
    /// The first byte of the data in its message.
    offset: u64,
}

impl Counters {
    fn from_tag(tag: [u8; 16]) -> Self {
        let mut block = tag;
        block[15] |= 0x80;
        block.reverse();
        Self { first: Counter::new(CounterMode::Inc32, block), offset: 0 }
    }

    fn after(&self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..*self }
    }
}

impl Operation for Counters {
    type Output = ();
    const NAME: &'static str = "counters of AES-GCM-SIV";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        kernels(Some(Mode::CtrLe32), None)
    }

    one_pass!();
}

ready_as_it_is!(Counters);

impl Ready for Counters {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(Self::after)
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        Ctr::new(&self.first, self.offset).launches(shape)
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        cipher.add_little_endian_key_stream(self.first.block_at(self.offset.into()), data.into_in_out());
    }
}

/// Decryption: the key stream, and the hash of the result.
#[derive(Clone)]
struct Opening<E> {
    message: Message,
    counters: Counters,
    end: E,
}

impl<E: Tagging<[u8; 16]>> Operation for Opening<E> {
    type Output = E::Output;
    const NAME: &'static str = "AES-GCM-SIV";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, _bytes: u64) -> Result<(), Error> {
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        kernels(Some(Mode::CtrLe32), Some(Hashed::Output))
    }

    one_pass!();
}

impl<E: Tagging<[u8; 16]>> Pass for Opening<E> {
    type Ready = Self;

    fn ready(self, _key: Option<&CpuKey>) -> Result<Self, Error> {
        Ok(self)
    }
}

impl<E: Tagging<[u8; 16]>> Ready for Opening<E> {
    type Part = PartialHash;
    type Output = E::Output;

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(|opening, bytes| Self { counters: opening.counters.after(bytes), ..opening.clone() })
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        self.counters.launches(shape)
    }

    fn hash_key(&self) -> Option<&HashKey> {
        Some(&self.message.hash)
    }

    /// Compares the blocks before encryption to the tag, because a device can do this without the cipher.
    fn verdict(&self, bytes: u64) -> Option<Verdict> {
        let tag = self.end.expected()?;
        let Self { message, .. } = self;
        let mut expected = Zeroizing::new(tag.padded().0);
        message.key.cpu.process(Direction::Decrypt, InOutBuf::from(std::slice::from_mut((&mut *expected).into())));
        // Such a tag belongs to no message, whatever its hash: then the factor is 0, and a bit of the addend stays set.
        let never = 0_u8.wrapping_sub(expected[15] >> 7);
        let nothing = PartialHash { bytes, ..PartialHash::default() };
        let computed = message.before_tag(&nothing);
        let reversed = |mut block: [u8; 16]| {
            block.reverse();
            block
        };
        let mut addend = Zeroizing::new(reversed(std::array::from_fn(|i| computed[i] ^ expected[i])));
        addend[15] = addend[15] & !never | 1 & never;
        let factor = Zeroizing::new(message.hash.bytes().map(|byte| byte & !never));
        let mut mask = [0xff; 16];
        mask[0] = COUNTS;
        Some(Verdict { terms: Terms { factor, addend }, mask })
    }

    fn on_cpu(&self, cipher: &CpuKey, mut data: Buffers<'_>) -> PartialHash {
        self.counters.on_cpu(cipher, data.reborrow());
        self.part(data.len() as u64, &self.message.hash.hash(data.output()))
    }

    fn part(&self, bytes: u64, results: &[u8]) -> PartialHash {
        PartialHash::of(self.counters.offset, bytes, results)
    }

    /// Computes the right tag of a message that may be refused.
    fn finish(&self, parts: Vec<PartialHash>) -> Result<E::Output, Error> {
        let hash = self.message.hash.combine(0, parts)?;
        self.end.finish(*self.message.tag_of(&hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;

    fn opening(decrypt: &GcmSivDecrypt) -> Opening<Verify<Tag>> {
        let message = decrypt.derive(&CpuKey::new(&Key::new(&[0x35; 32]).unwrap())).unwrap();
        Opening { message, counters: Counters::from_tag(decrypt.end.0.padded().0), end: decrypt.end }
    }

    /// Determines, as a device does, whether a message with this hash is authentic.
    fn passes(verdict: &Verdict, hash: [u8; 16]) -> bool {
        let product = HashKey::from_bytes(*verdict.terms.factor).hash(&hash);
        (0..16).all(|i| (product[i] ^ verdict.terms.addend[i]) & verdict.mask[i] == 0)
    }

    #[test]
    fn a_device_accepts_the_tag_of_the_message_and_no_other() {
        let nonce = Nonce::from([3; 12]);
        for (aad, len) in [(&b""[..], 16), (b"a header", 1), (b"sixteen bytes...and more", 100)] {
            let message: Vec<u8> = (0..len).map(|i| (i * 37 + 11) as u8).collect();
            let of = |tag: &[u8; 16]| opening(&GcmSivDecrypt::new(&nonce, aad, &Tag::from(*tag)));
            let siv = of(&[0; 16]);
            let (hash, bytes) = (siv.message.hash.hash(&message), message.len() as u64);
            let part = siv.part(bytes, &hash);
            let tag = *siv.message.tag_of(&part);
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
            let cpu = &siv.message.key.cpu;
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
        let counters = Counters::from_tag(tag.padded().0);
        let at = |bytes| counters.first.at(counters.after(bytes).offset.into()).to_le_bytes();
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
        let decrypt = |tag: Result<Tag, Error>| GcmSivDecrypt::new(&Nonce::from([3; 12]), b"", &tag.unwrap()).check(1);
        assert!(decrypt(Tag::new(&[5; 16])).is_ok());
        assert!([12, 13, 14, 15].into_iter().all(|len| decrypt(Tag::new(&vec![5; len])).is_err()));
        assert!([4, 8].into_iter().all(|len| decrypt(Tag::short(&vec![5; len])).is_err()));
    }

    /// The hash of additional data is moved by the blocks of the message, however long it is.
    #[test]
    fn the_hash_of_a_long_message_is_that_of_its_lengths() {
        let siv = |aad| opening(&GcmSivDecrypt::new(&Nonce::from([0; 12]), aad, &Tag::from([0; 16]))).message;
        let (key, hash) = (siv(b"").hash, [0x99; 16]);
        for bytes in [1_u64 << 29, 1 << 32, (1 << 35) + 1, LONGEST] {
            let message = PartialHash { offset: 0, bytes, hash };
            let of = |aad: &[u8]| {
                let both = if aad.is_empty() { hash } else { key.append(&key.hash(aad), &hash, bytes.div_ceil(16)) };
                let lengths = Blocks::Reversed.block(lengths(aad.len() as u64, bytes));
                Blocks::Reversed.block(key.append_block(&both, &lengths))
            };
            for aad in [&b""[..], b"a header"] {
                assert_eq!(*siv(aad).before_tag(&message), of(aad), "{bytes} bytes");
            }
        }
    }

    /// RFC 8452, section 4: 2^36 bytes are 2^32 blocks, whose counters differ.
    #[test]
    fn chunks_of_a_long_message_begin_with_their_counters() {
        let counters = Counters::from_tag([0; 16]);
        let first = |offset| {
            let counter = counters.first.at(counters.after(offset).offset.into());
            u32::from_le_bytes(counter.to_le_bytes()[..4].try_into().unwrap())
        };
        let offsets = [0, 16, 1 << 32, (1 << 35) + 32, LONGEST - 16];
        assert_eq!(offsets.map(first), [0, 1, 1 << 28, (1 << 31) + 2, u32::MAX]);
    }
}
