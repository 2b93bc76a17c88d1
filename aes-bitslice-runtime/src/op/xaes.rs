//! XAES-256-GCM: GCM with nonces of 24 bytes, long enough to be random for every message (C2SP, `XAES-256-GCM.md`).
//!
//! ```text
//! K1                  =  cipher of zeros, doubled                                as in CMAC (SP 800-38B, section 6.1)
//! key of the message  =  cipher of (00 i 58 00, nonce[..12])  +  K1              i = 1, 2: one half each
//! ciphertext, tag     =  GCM under that key with nonce[12..]
//! ```
//!
//! It is a composition of one operation under the key of the message, so it runs wherever GCM under a key of its own call does.

use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::scrubbed::scrubbed;
use crate::base::tag::Tag;
use crate::cpu::block::{Block, BlockCipher, encrypt_block};
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::cmac::double;
use crate::op::gcm::{Gcm, GcmDecrypt, GcmEncrypt};
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Composition, Keys, Operation, Passes, Place};
use crate::op::own_key::{OwnKey, STACK_UNDER_OWN_KEY};
use crate::op::tagging::{Make, Tagging, Verify};
use aes_bitslice_core::aes::{Direction, KeyBits};
use zeroize::Zeroizing;

/// The common part of XAES-256-GCM calls: a nonce, and the GCM of the message; `E` says what is done with the tag.
#[derive(Clone, Debug)]
pub struct Xaes<E> {
    nonce: Nonce,
    gcm: Gcm<E>,
}

/// Encrypts a whole message with XAES-256-GCM and returns its tag of 16 bytes. Keys have 256 bits, nonces 24 bytes.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, Key, KeyBits, Nonce, XaesDecrypt, XaesEncrypt};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let nonce = Nonce::random_for_xaes()?; // a new one for every message
/// let mut message = *b"a secret message";
/// let tag = cipher.run(XaesEncrypt::new(&nonce, b"a header that is not secret"), &mut message)?;
/// cipher.run(XaesDecrypt::new(&nonce, b"a header that is not secret", &tag), &mut message)?;
/// assert_eq!(&message, b"a secret message");
/// # Ok::<(), Error>(())
/// ```
///
/// Random nonces serve for 2^80 messages under one key. A nonce that is used twice does the harm that it does in GCM.
pub type XaesEncrypt = Xaes<Make>;

/// Decrypts a whole message if it is the one that the tag was computed from; otherwise the call fails with [`Error::Unauthenticated`], and
/// its output is cleared.
pub type XaesDecrypt = Xaes<Verify<Tag>>;

impl XaesEncrypt {
    /// Takes a nonce of 24 bytes that no other message under this key has, and additional data, which the tag authenticates and which is
    /// not encrypted; it may be empty.
    pub fn new(nonce: &Nonce, aad: &[u8]) -> Self {
        Self { nonce: nonce.clone(), gcm: GcmEncrypt::new(&of_message(nonce), aad) }
    }
}

impl XaesDecrypt {
    /// Takes the nonce and the additional data of the encryption, and the tag that it returned.
    pub fn new(nonce: &Nonce, aad: &[u8], tag: &Tag) -> Self {
        Self { nonce: nonce.clone(), gcm: GcmDecrypt::new(&of_message(nonce), aad, tag) }
    }
}

/// The nonce of the message under its own key; zeros for a nonce that [`Operation::check`] refuses.
fn of_message(nonce: &Nonce) -> Nonce {
    nonce.as_bytes().get(12..).and_then(|rest| rest.first_chunk::<12>()).copied().unwrap_or_default().into()
}

impl<E: Tagging<[u8; 16]>> Operation for Xaes<E> {
    type Output = E::Output;
    const NAME: &'static str = "XAES-256-GCM";
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::OnCpu(&[KeyBits::Aes256]);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        let refused = |what: String| Err(Error::Length { operation: Self::NAME, what });
        match (self.nonce.as_bytes().len(), self.gcm.end().expected().map(|tag| tag.as_bytes().len())) {
            (24, None | Some(16)) => self.gcm.check(bytes),
            (24, Some(tag)) => refused(format!("a tag has 16 bytes, and this one has {tag}")),
            (nonce, _) => refused(format!("a nonce has 24 bytes, and this one has {nonce}")),
        }
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded { under_own_key: true, ..self.gcm.kernels() }
    }

    fn in_one_step(&self, cipher: &CpuKey, data: Buffers<'_>) -> Option<Option<E::Output>> {
        let (kernel, mut message) = (cipher.instructions.kernel()?, self.gcm.whole(data)?);
        scrubbed::<STACK_UNDER_OWN_KEY, _>(|| {
            let tag = kernel.message_under(self.key(cipher).as_flattened(), &mut message);
            Some(self.gcm.end().finish(tag).ok())
        })
    }

    fn carry_out<P: Place>(self, place: P) -> Result<P::Value<E::Output>, Error> {
        place.composed(self)
    }
}

impl<E: Tagging<[u8; 16]>> Composition for Xaes<E> {
    type Derived = OwnKey;

    fn derive(&self, cipher: &CpuKey) -> Result<OwnKey, Error> {
        OwnKey::new(cipher, self.key(cipher).as_flattened())
    }

    fn passes<P: Passes>(self, _own: OwnKey, place: P) -> Result<P::Value<E::Output>, Error> {
        place.pass(self.gcm)
    }
}

impl<E> Xaes<E> {
    /// The key of the message.
    fn key(&self, cipher: &CpuKey) -> Zeroizing<[[u8; 16]; 2]> {
        let mut k1 = Zeroizing::new([0; 16]);
        encrypt_block(cipher, &mut k1);
        double(&mut k1);
        let mut halves = Zeroizing::new([[0; 16]; 2]);
        for (half, i) in halves.iter_mut().zip(1..) {
            half[..4].copy_from_slice(&[0, i, b'X', 0]);
            half[4..].copy_from_slice(&self.nonce.as_bytes()[..12]);
            half.iter_mut().zip(k1.iter()).for_each(|(byte, k1)| *byte ^= k1);
        }
        cipher.process(Direction::Encrypt, Block::cast_slice_from_core_mut(&mut *halves).into());
        halves
    }
}
