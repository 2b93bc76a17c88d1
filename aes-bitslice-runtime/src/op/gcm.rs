//! Galois/counter mode: encryption with authentication (SP 800-38D).
//!
//! CTR from the counter block after J0 on, and GHASH of the additional data, the ciphertext and both lengths, encrypted
//! with J0. A chunk returns the [`PartialHash`] of its ciphertext; the end of the call computes the tag from these.

use crate::base::counter::{Counter, CounterBlock, CounterMode};
use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::tag::Tag;
use crate::cpu::block::encrypt_block;
use crate::cpu::hash_key::HashKey;
use crate::cpu::kernel::WholeMessage;
use crate::cpu::key::CpuKey;
use crate::op::aad::Aad;
use crate::op::buffers::{Access, Buffers};
use crate::op::ctr::Ctr;
use crate::op::kernels::{Hashed, KernelsNeeded, OnHost};
use crate::op::launch::{Launch, Shape};
use crate::op::nonces::of_twelve;
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass};
use crate::op::partial_hash::{PartialHash, Terms, Verdict};
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The longest message, in bytes: 2^32 - 2 blocks (SP 800-38D, section 5.2.1.1).
pub const LONGEST: u64 = (1 << 36) - 32;

/// The maximum bytes of stack used by a whole message in one step, including what calls the kernel: by the sizes of the frames 1.9 KB in a
/// release build, and more where the compiler optimises less. Each KB takes 5 ns.
const STACK_OF_MESSAGE: usize = if cfg!(debug_assertions) { DERIVED } else { 3 << 10 };

/// The common part of GCM calls: a nonce, the position in the message, and `E`, the kind of result.
#[derive(Clone, Debug)]
pub struct Gcm<E> {
    nonce: Nonce,
    at: Position,
    aad: Aad,
    end: E,
}

/// The direction, and the first byte of the data in its message.
#[derive(Clone, Copy, Debug)]
struct Position {
    direction: Direction,
    offset: u64,
}

/// Encrypts a whole message and returns its tag of 16 bytes.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let nonce = Nonce::random()?; // a new one for every message
/// let mut message = *b"a secret message";
/// let tag = cipher.run(GcmEncrypt::new(&nonce, b"a header that is not secret"), &mut message)?;
/// cipher.run(GcmDecrypt::new(&nonce, b"a header that is not secret", &tag), &mut message)?;
/// assert_eq!(&message, b"a secret message");
/// # Ok::<(), Error>(())
/// ```
pub type GcmEncrypt = Gcm<Make>;

/// Decrypts a whole message if it is the one that the tag was computed from; otherwise the call fails with
/// [`Error::Unauthenticated`], and its output is cleared.
pub type GcmDecrypt = Gcm<Verify<Tag>>;

/// Encrypts or decrypts a part of a message, of any length, and returns the hash of its ciphertext. Parts may be processed
/// in any order; [`Cipher::combine`](crate::Cipher::combine) computes the tag from all hashes, with the [`GcmEncrypt`] or
/// [`GcmDecrypt`] of the whole; with a [`GcmPart`] it makes one hash of those of parts that adjoin.
///
/// The plaintext of a decrypted part is **not authentic** until the tag of the whole message has been checked.
pub type GcmPart = Gcm<Part>;

/// No tag: the hash of a part.
#[derive(Clone, Copy, Debug)]
pub struct Part;

impl GcmEncrypt {
    /// Takes a nonce that no other message under this key has, and additional data, which the tag authenticates and
    /// which is not encrypted; it may be empty.
    #[inline]
    pub fn new(nonce: &Nonce, aad: &[u8]) -> Self {
        Self::from_start(Direction::Encrypt, nonce, aad, Make)
    }
}

impl GcmDecrypt {
    /// Takes the nonce and the additional data of the encryption, and the tag that it returned, whole,
    /// [truncated](Tag::truncated) or [short](Tag::short).
    #[inline]
    pub fn new(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self {
        Self::from_start(Direction::Decrypt, nonce, aad, Verify(*tag))
    }
}

impl GcmPart {
    /// A part of the message with this nonce, from byte `offset` on; in the memory of a device, a multiple of 16.
    pub fn new(direction: Direction, nonce: &Nonce, offset: u64) -> Self {
        Self { at: Position { direction, offset }, ..Self::from_start(direction, nonce, &[], Part) }
    }
}

impl<E> Gcm<E> {
    pub(crate) fn from_start(direction: Direction, nonce: &Nonce, aad: &[u8], end: E) -> Self {
        Self { nonce: nonce.clone(), at: Position { direction, offset: 0 }, aad: aad.into(), end }
    }

    /// What is done with the tag.
    pub(crate) fn end(&self) -> &E {
        &self.end
    }

    pub(crate) fn aad(&self) -> &[u8] {
        &self.aad
    }
}

/// The values that GCM derives from a key and a nonce.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) hash: HashKey,
    of_nonce: OfNonce,
    /// Whether J0 is a hash under the hash key, which it reveals then.
    counters_are_secret: bool,
}

/// J0, the counter block before the one of the first block; and the encrypted J0, which hides the hash: as big-endian numbers. They are never
/// printed, and are on the heap: they stay in place when the value moves, and are wiped with the last clone.
#[derive(Clone)]
struct OfNonce(Arc<Zeroizing<[u128; 2]>>);

impl OfNonce {
    fn new(first: &[u8; 16], encrypted: &[u8; 16]) -> Self {
        let mut both = Arc::new(Zeroizing::new([0; 2]));
        // Written where they stay: what is moved to the heap takes bytes with it that were on the stack before.
        let numbers = Arc::get_mut(&mut both).expect("not shared yet");
        **numbers = [first, encrypted].map(|block| u128::from_be_bytes(*block));
        Self(both)
    }
}

impl std::fmt::Debug for OfNonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OfNonce")
    }
}

impl Derived {
    /// SP 800-38D, section 7.1, steps 1 and 2.
    pub(crate) fn new(cipher: &CpuKey, nonce: &Nonce) -> Self {
        let hash = cipher.hash_key();
        let first = first_counter(&hash, nonce.as_bytes());
        Self::of_first(cipher, hash, first, is_hashed(nonce))
    }

    /// The values for this J0, which may be secret.
    fn of_first(cipher: &CpuKey, hash: HashKey, first: [u8; 16], counters_are_secret: bool) -> Self {
        let mut encrypted = Zeroizing::new(first);
        encrypt_block(cipher, &mut encrypted);
        Self { hash, of_nonce: OfNonce::new(&first, &encrypted), counters_are_secret }
    }

    /// CTR of the message from byte `offset` on.
    fn ctr(&self, offset: u64) -> Ctr {
        Ctr::new(&Counter::new(CounterMode::Inc32, self.counter(0).block.to_be_bytes()), offset)
    }

    /// Encrypts or decrypts data from byte `offset` of the message on, on one core, and continues a hash with the ciphertext. Where the data
    /// begins within a block, the bytes before it count as zeros: hashes of parts of a block add up to that of the block.
    pub(crate) fn crypt_and_hash(
        &self,
        direction: Direction,
        offset: u64,
        cipher: &CpuKey,
        data: Buffers<'_>,
        hash: &mut [u8; 16],
    ) {
        let skip = (offset % 16) as usize;
        let len = data.len();
        let (head, rest) = data.split_at(if skip == 0 { 0 } else { len.min(16 - skip) });
        if head.len() > 0 {
            let (mut head, mut block) = (head.into_in_out(), [0; 16]);
            let ciphertext = &mut block[skip..skip + head.len()];
            if direction == Direction::Decrypt {
                ciphertext.copy_from_slice(head.get_in());
            }
            cipher.add_key_stream(self.counter(offset), skip, head.reborrow());
            if direction == Direction::Encrypt {
                ciphertext.copy_from_slice(head.get_out());
            }
            *hash = self.hash.append_block(hash, &block);
        }
        cipher.crypt_and_hash(
            direction,
            &self.hash,
            self.counter(offset.next_multiple_of(16)),
            hash,
            rest.into_in_out(),
        );
    }

    /// The counter of the block at byte `offset` of the message.
    fn counter(&self, offset: u64) -> CounterBlock {
        CounterBlock::of_gcm(self.of_nonce.0[0], self.counters_are_secret).after(1 + u128::from(offset / 16))
    }

    /// The tag of additional data with this hash and length, and ciphertext with this hash (SP 800-38D, section 7.1,
    /// steps 5 and 6).
    pub(crate) fn tag(&self, aad: (&[u8; 16], u64), ciphertext: &PartialHash) -> [u8; 16] {
        let both = match aad.1 {
            0 => ciphertext.hash,
            _ => self.hash.append(aad.0, &ciphertext.hash, ciphertext.bytes.div_ceil(16)),
        };
        self.masked(self.hash.append_block(&both, &lengths(aad.1, ciphertext.bytes)))
    }

    /// The terms that are the tag of this additional data and `bytes` bytes of ciphertext: the hash of the ciphertext times H, plus something
    /// that does not depend on that hash.
    fn terms(&self, aad: &[u8], bytes: u64) -> Terms {
        let nothing = PartialHash { bytes, ..PartialHash::default() };
        let addend = Zeroizing::new(self.tag((&self.hash.hash(aad), aad.len() as u64), &nothing));
        Terms { factor: Zeroizing::new(*self.hash.bytes()), addend }
    }

    /// The terms that are the tag of `bytes` bytes of additional data without a ciphertext.
    pub(crate) fn terms_of_aad(&self, bytes: u64) -> Terms {
        let addend = Zeroizing::new(self.tag((&[0; 16], bytes), &PartialHash::default()));
        Terms { factor: Zeroizing::new(*self.hash.bytes()), addend }
    }

    /// The tag for the hash of everything.
    pub(crate) fn masked(&self, hash: [u8; 16]) -> [u8; 16] {
        (u128::from_be_bytes(hash) ^ self.of_nonce.0[1]).to_be_bytes()
    }

    /// The tag of additional data and the parts of the ciphertext.
    fn tag_of(&self, aad: &[u8], parts: Vec<PartialHash>) -> Result<[u8; 16], Error> {
        let ciphertext = self.hash.combine(0, parts)?;
        let of_aad = if aad.is_empty() { [0; 16] } else { self.hash.hash(aad) };
        Ok(self.tag((&of_aad, aad.len() as u64), &ciphertext))
    }
}

/// Whether J0 is a hash of this nonce under the hash key, which it reveals then.
fn is_hashed(nonce: &Nonce) -> bool {
    nonce.as_bytes().len() != 12
}

/// J0, the counter block before the one of the first block (SP 800-38D, section 7.1, step 2).
pub(crate) fn first_counter(hash: &HashKey, nonce: &[u8]) -> [u8; 16] {
    match nonce.try_into() {
        Ok(twelve) => of_twelve(twelve).to_be_bytes(),
        Err(_) => hash.append_block(&hash.hash(nonce), &lengths(0, nonce.len() as u64)),
    }
}

/// The last block to be hashed: the lengths in bits of the additional data and the ciphertext, which are given in
/// bytes.
pub(crate) fn lengths(aad: u64, ciphertext: u64) -> [u8; 16] {
    (u128::from(aad) << 67 | u128::from(ciphertext) << 3).to_be_bytes()
}

/// The result of a GCM call: what is done with the tag, or the hash of a part.
pub trait End: Clone + Send + Sync + 'static {
    /// The value that the call returns.
    type Output: Send + 'static;

    /// The data that determines whether `bytes` bytes of ciphertext are authentic, if that is verified.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "implemented here only")]
    fn verdict(&self, derived: &Derived, aad: &[u8], bytes: u64) -> Option<Verdict>;

    /// The terms that are the tag of `bytes` bytes of ciphertext, if one is made.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "implemented here only")]
    fn terms(&self, _derived: &Derived, _aad: &[u8], _bytes: u64) -> Option<Terms> {
        None
    }

    /// The result, from these terms or those of the verdict; `None` if there are none.
    #[doc(hidden)]
    fn of_terms(&self, _computed: [u8; 16]) -> Option<Result<Self::Output, Error>> {
        None
    }

    /// Computes the result from the parts of the message from byte `offset` on.
    #[doc(hidden)]
    #[expect(private_interfaces, reason = "implemented here only")]
    fn end(&self, derived: &Derived, aad: &[u8], offset: u64, parts: Vec<PartialHash>) -> Result<Self::Output, Error>;

    /// Computes the result of a message from its tag, if this function computes one, and the result is computed from it; `Some(None)` if the
    /// message is not authentic.
    #[doc(hidden)]
    fn of_message(&self, _tag: impl FnOnce() -> Option<[u8; 16]>) -> Option<Option<Self::Output>> {
        None
    }
}

#[expect(private_interfaces, reason = "implemented here only")]
impl<T: Tagging<[u8; 16]>> End for T {
    type Output = T::Output;

    fn verdict(&self, derived: &Derived, aad: &[u8], bytes: u64) -> Option<Verdict> {
        let (expected, mask) = self.expected()?.padded();
        let mut terms = derived.terms(aad, bytes);
        terms.addend.iter_mut().zip(expected).for_each(|(byte, expected)| *byte ^= expected);
        Some(Verdict { terms, mask })
    }

    fn terms(&self, derived: &Derived, aad: &[u8], bytes: u64) -> Option<Terms> {
        self.expected().is_none().then(|| derived.terms(aad, bytes))
    }

    fn of_terms(&self, mut computed: [u8; 16]) -> Option<Result<T::Output, Error>> {
        // The terms of a verdict are what differs from what is expected.
        let expected = self.expected().map_or([0; 16], |expected| expected.padded().0);
        computed.iter_mut().zip(expected).for_each(|(byte, expected)| *byte ^= expected);
        Some(self.finish(computed))
    }

    fn end(&self, derived: &Derived, aad: &[u8], _offset: u64, parts: Vec<PartialHash>) -> Result<T::Output, Error> {
        self.finish(derived.tag_of(aad, parts)?)
    }

    #[inline(always)]
    fn of_message(&self, tag: impl FnOnce() -> Option<[u8; 16]>) -> Option<Option<T::Output>> {
        Some(self.finish(tag()?).ok())
    }
}

#[expect(private_interfaces, reason = "implemented here only")]
impl End for Part {
    type Output = PartialHash;

    fn verdict(&self, _derived: &Derived, _aad: &[u8], _bytes: u64) -> Option<Verdict> {
        None
    }

    fn end(&self, derived: &Derived, _aad: &[u8], offset: u64, parts: Vec<PartialHash>) -> Result<PartialHash, Error> {
        derived.hash.combine(offset, parts)
    }
}

impl<E> Gcm<E> {
    /// A message with a usual nonce, for a kernel.
    #[inline(always)]
    pub(crate) fn whole<'a>(&'a self, data: Buffers<'a>) -> Option<WholeMessage<'a, 'a, 'a>> {
        let first = of_twelve(self.nonce.as_bytes().try_into().ok()?);
        let (first, direction) = (CounterBlock::of_gcm(first, false), self.at.direction);
        Some(WholeMessage { direction, first, aad: &self.aad, data: data.into_in_out() })
    }
}

impl<E: End> Operation for Gcm<E> {
    type Output = E::Output;
    const NAME: &'static str = "GCM";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let refused = |what: String| Err(Error::Length { operation: "GCM", what });
        let offset = self.at.offset;
        if offset.checked_add(bytes).is_none_or(|end| end > LONGEST) {
            return refused(format!("a message has at most {LONGEST} bytes: cut it into several"));
        }
        Ok(())
    }

    fn kernels(&self) -> KernelsNeeded {
        let hashed = match self.at.direction {
            Direction::Encrypt => Hashed::Output,
            Direction::Decrypt => Hashed::Input,
        };
        let counters_are_secret = is_hashed(&self.nonce);
        let on_host = match counters_are_secret {
            _ if !self.at.offset.is_multiple_of(16) => OnHost::Cpu,
            true => OnHost::DeviceOrCpu,
            false => OnHost::Device,
        };
        KernelsNeeded { hashed: Some(hashed), counters_are_secret, on_host, ..KernelsNeeded::of(Mode::Ctr) }
    }

    /// A message with a usual nonce.
    #[inline(always)]
    fn in_one_step(&self, cipher: &CpuKey, data: Buffers<'_>) -> Option<Option<E::Output>> {
        let mut message = self.whole(data)?;
        scrubbed::<STACK_OF_MESSAGE, _>(|| self.end.of_message(|| cipher.message(&mut message)))
    }

    one_pass!();
}

impl<E: End> Pass for Gcm<E> {
    type Ready = Keyed<E>;

    fn ready(self, key: Option<&CpuKey>) -> Result<Keyed<E>, Error> {
        let derived = Derived::new(needed::<Self>(key)?, &self.nonce);
        Ok(Keyed { at: self.at, derived, aad: self.aad, end: self.end })
    }
}

/// GCM with what it derives from the key.
#[derive(Clone, Debug)]
pub struct Keyed<E> {
    at: Position,
    derived: Derived,
    aad: Aad,
    end: E,
}

impl<E: End> Ready for Keyed<E> {
    type Part = PartialHash;
    type Output = E::Output;

    fn cut(&self) -> Option<Cut<Self>> {
        let after =
            |gcm: &Self, bytes| Self { at: Position { offset: gcm.at.offset + bytes, ..gcm.at }, ..gcm.clone() };
        Cut::anywhere(after).map(|cut| Cut { skip: (self.at.offset % 16) as usize, ..cut })
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        let offset = self.at.offset;
        if !offset.is_multiple_of(16) {
            let what = format!("on a device, a part begins at a multiple of 16 bytes, and {offset} is not one");
            return Err(Error::Length { operation: "GCM", what });
        }
        let ctr = || self.derived.ctr(offset);
        match (self.derived.counters_are_secret, shape.geometry.takes_secret_counters) {
            (false, _) => ctr().launches(shape),
            (true, true) => scrubbed::<DERIVED, _>(|| ctr().launch_of_secret(shape)),
            // Without such an entry point, it is a table kernel or co-resident with one, whose addresses depend on the key
            // anyway: a cipher of one kernel has no hash key.
            (true, false) => scrubbed::<DERIVED, _>(|| ctr().launches(shape)),
        }
    }

    fn hash_key(&self) -> Option<&HashKey> {
        Some(&self.derived.hash)
    }

    fn verdict(&self, bytes: u64) -> Option<Verdict> {
        self.end.verdict(&self.derived, &self.aad, bytes)
    }

    fn tag(&self, bytes: u64) -> Option<Terms> {
        self.end.terms(&self.derived, &self.aad, bytes).filter(|_| self.at.offset == 0)
    }

    fn counter(&self) -> Option<u128> {
        let is_at_block = self.at.offset.is_multiple_of(16);
        (is_at_block && !self.derived.counters_are_secret).then(|| self.derived.counter(self.at.offset).block)
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) -> PartialHash {
        let Position { direction, offset } = self.at;
        let mut part = PartialHash { offset, bytes: data.len() as u64, ..PartialHash::default() };
        self.derived.crypt_and_hash(direction, offset, cipher, data, &mut part.hash);
        part
    }

    fn part(&self, bytes: u64, results: &[u8]) -> PartialHash {
        PartialHash::of(self.at.offset, bytes, results)
    }

    fn of_terms(&self, computed: [u8; 16]) -> Option<Result<E::Output, Error>> {
        self.end.of_terms(computed)
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<E::Output, Error> {
        self.end.end(&self.derived, &self.aad, self.at.offset, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;
    use crate::op::gmac::Gmac;

    fn derived() -> Derived {
        let first = [[0xff; 12].as_slice(), &[0, 0, 0, 1]].concat();
        let (cipher, hash) = (CpuKey::new(&Key::new(&[7; 16]).unwrap()), HashKey::from_bytes([0x42; 16]));
        Derived::of_first(&cipher, hash, first.try_into().unwrap(), false)
    }

    /// SP 800-38D, section 7.1, step 5: each length in bits, as a number of 64 bits.
    #[test]
    fn lengths_have_64_bits_each() {
        for (bytes, bits) in [
            (1, 8),
            ((1 << 29) - 1, 0xffff_fff8),
            (1 << 29, 1 << 32),
            (1 << 32, 1 << 35),
            (LONGEST, (1 << 39) - 256),
            ((1 << 61) - 1, 0xffff_ffff_ffff_fff8_u64),
        ] {
            assert_eq!(
                lengths(bytes, 0),
                [bits.to_be_bytes(), [0; 8]].concat()[..],
                "{bytes} bytes of additional data"
            );
            assert_eq!(lengths(0, bytes), [[0; 8], bits.to_be_bytes()].concat()[..], "{bytes} bytes of ciphertext");
        }
        assert_eq!(lengths(1 << 29, 3), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24]);
    }

    /// The hash of additional data is moved by the blocks of the ciphertext, and both lengths are hashed, however long they are.
    #[test]
    fn the_tag_of_long_data_is_that_of_its_lengths() {
        let (derived, aad, hash) = (derived(), [0x17; 16], [0x99; 16]);
        for (aad_bytes, bytes) in [(1 << 29, 0), (1, 1 << 36), ((1 << 61) - 1, LONGEST), (1 << 32, (1 << 35) + 1)] {
            let message = PartialHash { offset: 0, bytes, hash };
            let both = derived.hash.append(&aad, &hash, bytes.div_ceil(16));
            let expected = derived.masked(derived.hash.append_block(&both, &lengths(aad_bytes, bytes)));
            assert_eq!(derived.tag((&aad, aad_bytes), &message), expected, "{aad_bytes} and {bytes} bytes");
        }
        let message = PartialHash { offset: 0, bytes: 1 << 33, hash };
        let expected = derived.masked(derived.hash.append_block(&hash, &lengths(0, 1 << 33)));
        assert_eq!(derived.tag((&[0; 16], 0), &message), expected, "without additional data");
    }

    /// 2^32 - 2 blocks, the last of which has the counter before J0's.
    #[test]
    fn the_last_block_of_the_longest_message_has_the_last_counter() {
        let counter = |offset| derived().ctr(offset).first();
        let high = u128::MAX - u128::from(u32::MAX);
        assert_eq!(
            [0, 16, (1 << 32), LONGEST - 16].map(counter),
            [2, 3, 2 + (1 << 28), u128::from(u32::MAX)].map(|n| high + n)
        );
        assert_eq!(counter(LONGEST), high, "J0 comes next but one");
    }

    #[test]
    fn a_message_has_no_more_than_the_standard_allows() {
        assert_eq!(LONGEST, 16 * ((1 << 32) - 2));
        let nonce = Nonce::from([3; 12]);
        let part = |offset, bytes| GcmPart::new(Direction::Encrypt, &nonce, offset).check(bytes).is_ok();
        assert!(GcmEncrypt::new(&nonce, b"").check(LONGEST).is_ok() && part(LONGEST - 16, 16) && part(LONGEST, 0));
        assert!(GcmEncrypt::new(&nonce, b"").check(LONGEST + 1).is_err());
        assert!(!part(LONGEST - 16, 17) && !part(LONGEST, 1) && !part(16, u64::MAX) && !part(u64::MAX - 15, 0));
        assert!(part(8, 1) && part((1 << 33) + 7, 1) && part(LONGEST - 15, 15) && !part(LONGEST - 15, 16));
    }

    /// A kernel counts from a block on: a part that begins within one gives it no counter.
    #[test]
    fn a_part_has_a_counter_where_it_begins_with_a_block() {
        let (key, nonce) = (CpuKey::new(&Key::new(&[7; 16]).unwrap()), Nonce::from([3; 12]));
        for offset in 0..50 {
            let part = GcmPart::new(Direction::Encrypt, &nonce, offset).ready(Some(&key)).unwrap();
            assert_eq!(part.counter().is_some(), offset % 16 == 0, "from byte {offset}");
            assert_eq!(part.cut().unwrap().skip as u64, offset % 16, "from byte {offset}");
        }
    }

    /// Whichever way it is processed, from whichever byte on; and the hash of what comes before goes on.
    #[test]
    fn the_hash_of_a_part_is_of_its_ciphertext() {
        let (key, nonce, plaintext) = (CpuKey::new(&Key::new(&[7; 16]).unwrap()), Nonce::from([3; 12]), [0x5a; 50]);
        for offset in [0, 5, 16] {
            let mut data = plaintext;
            let [made, read] = [Direction::Encrypt, Direction::Decrypt].map(|direction| {
                let part = GcmPart::new(direction, &nonce, offset).ready(Some(&key)).unwrap();
                part.on_cpu(&key, Buffers::InPlace(&mut data))
            });
            assert!(made == read && data == plaintext, "from byte {offset}");
        }
        let [(one, hash), (other, continued)] = [[0; 16], [9; 16]].map(|mut hash| {
            let mut data = plaintext;
            derived().crypt_and_hash(Direction::Encrypt, 0, &key, Buffers::InPlace(&mut data), &mut hash);
            (data, hash)
        });
        assert!(one == other && continued == derived().hash.append(&[9; 16], &hash, 4));
    }

    #[test]
    fn a_device_computes_the_tag_or_its_difference_from_the_expected_one() {
        let (key, nonce, tag) = (CpuKey::new(&Key::new(&[7; 16]).unwrap()), Nonce::from([3; 12]), [0x5a; 16]);
        let made = GcmEncrypt::new(&nonce, b"").ready(Some(&key)).unwrap().of_terms(tag).unwrap();
        let of_gmac = Gmac::new(&nonce).ready(Some(&key)).unwrap().of_terms(tag).unwrap();
        assert_eq!([made.unwrap(), of_gmac.unwrap()], [Tag::from(tag); 2]);
        let verified = GcmDecrypt::new(&nonce, b"", &Tag::from(tag)).ready(Some(&key)).unwrap();
        let is_authentic = |difference| verified.of_terms(difference).unwrap().is_ok();
        assert!(is_authentic([0; 16]) && !is_authentic([0x10; 16]) && !is_authentic([0xff; 16]));
    }

    #[test]
    fn what_is_derived_from_a_nonce_is_not_shown() {
        assert_eq!(format!("{:?}", OfNonce::new(&[1; 16], &[2; 16])), "OfNonce");
    }
}
