//! GCM encryption whose every call makes its nonce: 96 random bits from the operating system (SP 800-38D, section 8.2.2).

use crate::base::error::Error;
use crate::base::nonce::Nonce;
use crate::base::tag::Tag;
use crate::op::buffers::Access;
use crate::op::gcm::{Gcm, GcmEncrypt};
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::{Keys, Operation, Place};
use crate::op::tagging::Tagging;
use aes_bitslice_core::aes::Direction;

/// Encrypts a whole message with a new random nonce of 12 bytes, and returns the nonce and the tag of 16 bytes. Made by
/// `GcmEncrypt::with_random_nonce`. One value serves for any number of calls: each makes a nonce of its own.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Error, GcmDecrypt, GcmEncrypt, Key, KeyBits};
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let mut message = *b"a secret message";
/// let (nonce, tag) = cipher.run(GcmEncrypt::with_random_nonce(b"a header that is not secret"), &mut message)?;
/// cipher.run(GcmDecrypt::new(&nonce, b"a header that is not secret", &tag), &mut message)?; // keep both with the message
/// assert_eq!(&message, b"a secret message");
/// # Ok::<(), Error>(())
/// ```
///
/// A call fails with [`Error::Random`], and changes nothing, if the system does not supply random bytes.
#[derive(Clone, Debug)]
pub struct GcmEncryptWithRandomNonce {
    /// With a nonce that no call uses.
    gcm: GcmEncrypt,
}

impl GcmEncrypt {
    /// Encryption whose every call makes a new random nonce and returns it with the tag, so that no caller can use one twice. Takes
    /// additional data, as [`new`](Self::new) does.
    ///
    /// No more than 2^32 messages may be encrypted under one key in this way (SP 800-38D, section 8.3). For more, use
    /// [`XaesEncrypt`](crate::XaesEncrypt) with [`Nonce::random_for_xaes`]: 2^80.
    pub fn with_random_nonce(aad: &[u8]) -> GcmEncryptWithRandomNonce {
        GcmEncryptWithRandomNonce { gcm: GcmEncrypt::new(&Nonce::from([0; 12]), aad) }
    }
}

impl Operation for GcmEncryptWithRandomNonce {
    type Output = (Nonce, Tag);
    const NAME: &'static str = GcmEncrypt::NAME;
    const ACCESS: Access = GcmEncrypt::ACCESS;
    const KEYS: Keys = GcmEncrypt::KEYS;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.gcm.check(bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        self.gcm.kernels()
    }

    fn carry_out<P: Place>(self, place: P) -> Result<P::Value<(Nonce, Tag)>, Error> {
        let nonce = Nonce::random()?;
        place.pass(Gcm::from_start(Direction::Encrypt, &nonce, self.gcm.aad(), MakeFor(nonce.clone())))
    }
}

/// Makes a tag, and returns it with the nonce that it was made for.
#[derive(Clone, Debug)]
struct MakeFor(Nonce);

impl Tagging<[u8; 16]> for MakeFor {
    type Output = (Nonce, Tag);

    fn expected(&self) -> Option<&Tag> {
        None
    }

    fn finish(&self, computed: [u8; 16]) -> Result<(Nonce, Tag), Error> {
        Ok((self.0.clone(), Tag::from(computed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::gcm::LONGEST;

    #[test]
    fn it_is_a_message_of_gcm() {
        let encrypt = GcmEncrypt::with_random_nonce(b"a header");
        assert_eq!(encrypt.gcm.aad(), b"a header");
        assert!(encrypt.check(LONGEST).is_ok() && encrypt.check(LONGEST + 1).is_err());
    }
}
