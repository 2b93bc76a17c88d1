//! The secret that a file is sealed with, and the keys derived from it.
//!
//! ```text
//! secret      = the key, or Argon2id(passphrase, salt)                   32 bytes
//! PRK         = HKDF-Extract(salt, secret)                               SHA-256
//! commitment  = HKDF-Expand(PRK, "aes-bitslice sealed file 1: commitment", 32)
//! stream key  = HKDF-Expand(PRK, "aes-bitslice sealed file 1: stream key", 32)
//! ```
//!
//! Two secrets with the same commitment would be a collision of SHA-256: a file opens with one key only.

use crate::error::Error;
use crate::header::Header;
use crate::passphrase::PassphraseCost;
use crate::stream::StreamKey;
use aes_bitslice_runtime::{DERIVED, Key, KeyBits, scrubbed};
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The secret that a file is sealed and opened with.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// A key of 256 bits.
    Key(&'a Key),
    /// A passphrase, from which Argon2id makes a key: slowly and with much memory, so that trying many is expensive. A new one that
    /// is text is one line: it has no LF, CR or NUL.
    Passphrase(&'a [u8]),
}

impl Secret<'_> {
    /// A new header for this secret, and the key of the stream after it.
    pub(crate) fn header(self, cost: PassphraseCost) -> Result<(Header, StreamKey), Error> {
        // A file of the passphrase, of which the command line reads the first line, could not have it. For what was sealed with one, it opens.
        if let Secret::Passphrase(text) = self
            && std::str::from_utf8(text).is_ok_and(|text| text.contains(['\n', '\r', '\0']))
        {
            return Err(Error::PassphraseLines);
        }
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)?;
        let cost = matches!(self, Secret::Passphrase(_)).then_some(cost);
        let (commitment, key) = scrubbed::<DERIVED, _>(|| Ok::<_, Error>(derive(&self.bytes(cost, &salt)?, &salt)))?;
        Ok((Header { cost, salt, commitment }, key))
    }

    /// The key of the stream after a header.
    pub(crate) fn stream_key(self, header: &Header) -> Result<StreamKey, Error> {
        let wrong = match (self, header.cost) {
            (Secret::Key(_), Some(_)) => return Err(Error::NeedsPassphrase),
            (Secret::Passphrase(_), None) => return Err(Error::NeedsKey),
            (Secret::Key(_), None) => Error::WrongKey,
            (Secret::Passphrase(_), Some(_)) => Error::WrongPassphrase,
        };
        let (commitment, key) =
            scrubbed::<DERIVED, _>(|| Ok::<_, Error>(derive(&self.bytes(header.cost, &header.salt)?, &header.salt)))?;
        if bool::from(commitment.ct_eq(&header.commitment)) { Ok(key) } else { Err(wrong) }
    }

    /// The 32 bytes that the keys are derived from.
    fn bytes(self, cost: Option<PassphraseCost>, salt: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Secret::Key(key) if key.is_xts() => Err(Error::XtsKey),
            Secret::Key(key) if key.bits() != KeyBits::Aes256 => Err(Error::KeyLength(8 * key.expose().len())),
            Secret::Key(key) => Ok(Zeroizing::new(key.expose().to_vec())),
            Secret::Passphrase([]) => Err(Error::EmptyPassphrase),
            Secret::Passphrase(passphrase) => cost.unwrap_or_default().stretch(passphrase, salt),
        }
    }
}

fn derive(secret: &[u8], salt: &[u8; 32]) -> ([u8; 32], StreamKey) {
    let prk = Hkdf::<Sha256>::new(Some(salt), secret);
    let expand = |info: &str, out: &mut [u8]| prk.expand(info.as_bytes(), out).expect("one hash");
    let (mut commitment, mut key) = ([0; 32], Zeroizing::new(vec![0; 32]));
    expand("aes-bitslice sealed file 1: commitment", &mut commitment);
    expand("aes-bitslice sealed file 1: stream key", &mut key);
    (commitment, StreamKey::aes256_1mib(key))
}

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Secret::Key",
            Self::Passphrase(_) => "Secret::Passphrase",
        })
    }
}
