//! GCM nonces: the initialisation vector that is new for every message (SP 800-38D, section 8).

use crate::base::error::Error;
use std::sync::Arc;

/// A nonce, which SP 800-38D calls an initialisation vector: usually 12 bytes, but any other number from 1 on is
/// possible.
///
/// **Never encrypt two messages under one key with the same nonce:** that gives away the XOR of the messages and the
/// hash key, with which anyone can forge messages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Nonce {
    /// Not in an enumeration, which is copied in words that begin between its bytes: that waits for the stores of all of them.
    twelve: [u8; 12],
    /// Another number of bytes than 12, which are zeros then: equal nonces are equal values.
    other: Option<Arc<[u8]>>,
}

impl Nonce {
    /// Creates a nonce from these bytes: 12, or any other number from 1 on.
    ///
    /// # Errors
    /// [`Error::NonceLength`] for zero bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        match (bytes.len(), bytes.try_into()) {
            (0, _) => Err(Error::NonceLength { bytes: 0 }),
            (_, Ok(twelve)) => Ok(Self { twelve, other: None }),
            (_, Err(_)) => Ok(Self { twelve: [0; 12], other: Some(bytes.into()) }),
        }
    }

    /// Generates a new nonce of 12 random bytes with the operating system's random number generator. Keep it with the
    /// message.
    ///
    /// No more than 2^32 messages may be encrypted under one key with random nonces (SP 800-38D, section 8.3). For more, use
    /// [`XaesEncrypt`](crate::XaesEncrypt) with [`random_for_xaes`](Self::random_for_xaes).
    ///
    /// # Errors
    /// [`Error::Random`] if the system does not supply random bytes.
    pub fn random() -> Result<Self, Error> {
        let mut bytes = [0; 12];
        getrandom::fill(&mut bytes)?;
        Ok(bytes.into())
    }

    /// Generates a new nonce of 24 random bytes, for [`XaesEncrypt`](crate::XaesEncrypt): enough for 2^80 messages under one key.
    ///
    /// # Errors
    /// [`Error::Random`] if the system does not supply random bytes.
    pub fn random_for_xaes() -> Result<Self, Error> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes)?;
        Self::new(&bytes)
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        self.other.as_deref().unwrap_or(&self.twelve)
    }
}

impl From<[u8; 12]> for Nonce {
    #[inline]
    fn from(twelve: [u8; 12]) -> Self {
        Self { twelve, other: None }
    }
}

impl AsRef<[u8]> for Nonce {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_but_none() {
        let none = Nonce::new(&[]).unwrap_err();
        assert!(matches!(none, Error::NonceLength { bytes: 0 }));
        assert!(none.to_string().ends_with("12 for AES-GCM-SIV and 24 for XAES-256-GCM, not 0"), "{none}");
        for len in [1, 8, 12, 16, 100] {
            assert_eq!(Nonce::new(&vec![7; len]).unwrap().as_ref(), vec![7; len]);
        }
        assert_eq!(Nonce::from([3; 12]), Nonce::new(&[3; 12]).unwrap());
    }

    /// A byte that is zero in all of 64 was not drawn.
    #[test]
    fn every_byte_of_a_new_nonce_is_random() {
        for (bytes, random) in [(12, Nonce::random as fn() -> _), (24, Nonce::random_for_xaes)] {
            let mut any = vec![0; bytes];
            for _ in 0..64 {
                any.iter_mut().zip(random().unwrap().as_bytes()).for_each(|(any, byte)| *any |= byte);
            }
            assert!(!any.contains(&0), "{any:?}");
        }
    }
}
