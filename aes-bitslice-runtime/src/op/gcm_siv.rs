//! AES-GCM-SIV: encryption with authentication that bears a nonce used twice (RFC 8452).
//!
//! ```text
//! keys of the message  =  cipher of the nonce                      section 4: one of POLYVAL, one of AES
//! tag                  =  cipher of (POLYVAL of additional data, plaintext and lengths  +  nonce)
//! ciphertext           =  plaintext  +  cipher of counters that begin with the tag
//! ```
//!
//! The tag of all plaintext comes first, so a message is gone through twice. In both passes the cores share out its pieces: hashes of
//! pieces are moved to their places by powers of the hash key.

use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::nonce::Nonce;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::base::tag::Tag;
use crate::base::threads::threads;
use crate::op::buffers::{Access, Buffers};
use crate::op::cpu_cipher::{Block, CpuCipher, encrypt_block};
use crate::op::cpu_key::CpuKey;
use crate::op::operation::{Keys, Operation, Steps};
use crate::op::partial_hash::power;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::mode::Mode;
use cipher::array::Array;
use cipher::inout::InOutBuf;
use ghash::universal_hash::UniversalHash;
use polyval::Polyval;
use rayon::prelude::*;
use std::fmt;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// The most bytes of a message, and of its additional data (section 6).
const LONGEST: u64 = 1 << 36;

/// What the calls of AES-GCM-SIV have in common: a nonce, additional data, and `E`, what is done with the tag.
#[derive(Clone, Debug)]
pub struct GcmSiv<E> {
    nonce: Nonce,
    aad: Arc<[u8]>,
    derived: Option<Derived>,
    end: E,
}

/// Encrypts a whole message by AES-GCM-SIV (RFC 8452), and gives its tag, of 16 bytes. Keys have 128 or 256 bits, nonces 12 bytes.
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
/// Where a nonce comes twice under a key, it is told that two messages with the same additional data are equal, and nothing else; take new
/// nonces all the same, for limits are lower without (section 9). It is done in host memory, by the cores of the CPU, whatever the engine.
pub type GcmSivEncrypt = GcmSiv<MakeTag>;

/// Decrypts a whole message, if it is the one that the tag was made of: otherwise the call fails with [`Error::Unauthenticated`], and its
/// output is cleared.
pub type GcmSivDecrypt = GcmSiv<VerifyTag>;

/// The end of an encryption: the tag.
#[derive(Clone, Copy, Debug)]
pub struct MakeTag;

/// The end of a decryption: whether the tag is right.
#[derive(Clone, Copy, Debug)]
pub struct VerifyTag(Tag);

impl GcmSivEncrypt {
    /// With a nonce of 12 bytes and additional data, which the tag authenticates and which is not encrypted; it may be empty.
    pub fn new(nonce: &Nonce, aad: &[u8]) -> Self {
        Self { nonce: nonce.clone(), aad: aad.into(), derived: None, end: MakeTag }
    }
}

impl GcmSivDecrypt {
    /// With the nonce and the additional data of the encryption, and the tag that it gave.
    pub fn new(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self {
        Self { nonce: nonce.clone(), aad: aad.into(), derived: None, end: VerifyTag(*tag) }
    }
}

/// What comes of a call of AES-GCM-SIV.
pub trait SivEnd: Clone + Send + Sync + 'static {
    /// What the call returns.
    type Output: Send + 'static;

    /// Whether it tells that the output is good.
    #[doc(hidden)]
    const VERIFIES: bool;

    /// The tag of a decryption, which tells its counters.
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
        Ok(Tag::of(*computed))
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
    hash: Arc<Zeroizing<[u8; 16]>>,
    key: Arc<CpuKey>,
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derived")
    }
}

/// Bytes of a message that are a core's work at a time: whole blocks, and few enough for its second-level cache.
const PIECE: usize = 256 << 10;

/// Blocks of key stream that are made at a time.
const BATCH: usize = 1024;

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
        Self { hash: Arc::new(Zeroizing::new(*hash)), key: Arc::new(CpuKey::new(&key)) }
    }

    /// POLYVAL of bytes, the last block filled up with zeros.
    fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        let mut hasher = Polyval::new((&**self.hash).into());
        hasher.update_padded(bytes);
        hasher.finalize().into()
    }

    /// The tag of a message (section 5).
    fn tag(&self, nonce: &[u8], aad: &[u8], message: &[u8]) -> [u8; 16] {
        let one = |piece: &[u8]| scrubbed::<DERIVED, _>(|| self.hash(piece));
        let hashes = Zeroizing::new(match is_for_all_cores(message.len()) {
            true => message.par_chunks(PIECE).map(one).collect::<Vec<_>>(),
            false => message.chunks(PIECE).map(one).collect(),
        });
        let mut sum = Zeroizing::new(self.hash(aad));
        // All pieces but the last are equally long. A hash goes as many blocks to the front as come behind it.
        let mut front = (0, Zeroizing::new([0; 16]));
        for (n, (piece, hash)) in message.chunks(PIECE).zip(&*hashes).enumerate() {
            if n > 0 || !aad.is_empty() {
                let blocks = piece.len().div_ceil(16) as u64;
                if front.0 != blocks {
                    front = (blocks, power(&self.hash, blocks, dot));
                }
                sum = dot(&sum, &front.1);
            }
            add(&mut sum, hash);
        }
        let bits = [aad, message].map(|bytes| 8 * bytes.len() as u64);
        add(&mut sum, &(u128::from(bits[1]) << 64 | u128::from(bits[0])).to_le_bytes());
        let mut block = dot(&sum, &self.hash);
        block.iter_mut().zip(nonce).for_each(|(byte, nonce)| *byte ^= nonce);
        block[15] &= 0x7f;
        encrypt_block(&*self.key, &mut block);
        *block
    }

    /// Adds the key stream of the message with this tag (section 4), each piece on a core.
    fn add_key_stream(&self, tag: &[u8; 16], data: Buffers<'_>) {
        let pieces: Vec<_> = data.chunks(PIECE).collect();
        let one = |(n, piece): (usize, Buffers<'_>)| self.add_to(tag, (PIECE / 16 * n) as u32, piece);
        match is_for_all_cores(PIECE * pieces.len()) {
            true => pieces.into_par_iter().enumerate().for_each(one),
            false => pieces.into_iter().enumerate().for_each(one),
        }
    }

    /// The same to data from this block of the message on. The first four bytes of a counter block are a number that wraps, little-endian.
    fn add_to(&self, tag: &[u8; 16], block: u32, data: Buffers<'_>) {
        let mut counter = *tag;
        counter[15] |= 0x80;
        let mut number = u32::from_le_bytes(*counter.first_chunk().expect("four of them")).wrapping_add(block);
        let mut stream = vec![Block::default(); BATCH.min(data.len().div_ceil(16))];
        for piece in data.chunks(16 * BATCH) {
            let len = piece.len();
            let stream = &mut stream[..len.div_ceil(16)];
            for block in &mut *stream {
                counter[..4].copy_from_slice(&number.to_le_bytes());
                *block = counter.into();
                number = number.wrapping_add(1);
            }
            self.key.process(Direction::Encrypt, InOutBuf::from(&mut *stream));
            piece.into_in_out().xor_in2out(&Array::slice_as_flattened(stream)[..len]);
        }
        Array::slice_as_flattened_mut(&mut stream).zeroize();
    }
}

fn is_for_all_cores(bytes: usize) -> bool {
    bytes > PIECE && threads() > 1
}

fn add(sum: &mut [u8; 16], block: &[u8; 16]) {
    sum.iter_mut().zip(block).for_each(|(byte, other)| *byte ^= other);
}

/// dot(x, y) of section 3, which is associative.
fn dot(x: &[u8; 16], y: &[u8; 16]) -> Zeroizing<[u8; 16]> {
    let mut hasher = Polyval::new(y.into());
    hasher.update(&[(*x).into()]);
    Zeroizing::new(hasher.finalize().into())
}

impl<E> GcmSiv<E> {
    fn derived(&self) -> &Derived {
        self.derived.as_ref().expect("derived before the work")
    }

    fn tag(&self, message: &[u8]) -> [u8; 16] {
        self.derived().tag(self.nonce.as_bytes(), &self.aad, message)
    }
}

impl<E: SivEnd> Operation for GcmSiv<E> {
    const NAME: &'static str = "AES-GCM-SIV";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OneOnCpu;
    const KEY_LENGTHS: &'static [KeyBits] = &[KeyBits::Aes128, KeyBits::Aes256];
    // No part can be encrypted before all is hashed; either goes to all cores.
    const SERIAL: bool = true;
    const VERIFIES: bool = E::VERIFIES;
}

impl<E: SivEnd> Steps for GcmSiv<E> {
    /// The tag that was computed.
    type Part = [u8; 16];
    type Output = E::Output;

    fn mode(&self) -> Option<Mode> {
        None
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
        match bytes.max(aad) > LONGEST {
            true => refused(format!("a message has at most {LONGEST} bytes, and so has its additional data")),
            false => Ok(()),
        }
    }

    fn keyed(self, cipher: &impl CpuCipher) -> Self {
        Self { derived: Some(Derived::new(cipher, self.nonce.as_bytes())), ..self }
    }

    fn after(&self, _bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        unreachable!("a serial operation is not cut")
    }

    fn on_cpu(&self, _cipher: &impl CpuCipher, mut data: Buffers<'_>) -> [u8; 16] {
        match self.end.given() {
            None => {
                let tag = self.tag(data.input());
                self.derived().add_key_stream(&tag, data);
                tag
            }
            Some(given) => {
                self.derived().add_key_stream(&given.padded().0, data.reborrow());
                self.tag(data.output())
            }
        }
    }

    fn finish(&self, parts: Vec<[u8; 16]>) -> Result<E::Output, Error> {
        // The right tag of a message that may be refused.
        let parts = Zeroizing::new(parts);
        let computed = Zeroizing::new(parts.first().copied().unwrap_or_else(|| self.tag(&[])));
        self.end.end(&computed)
    }
}
