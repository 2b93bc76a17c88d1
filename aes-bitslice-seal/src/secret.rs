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
    /// A passphrase, from which Argon2id makes a key: slowly and with much memory, so that trying many is expensive. A new one is
    /// one line of text in UTF-8: without a byte order mark, LF, CR and NUL.
    Passphrase(&'a [u8]),
}

impl Secret<'_> {
    /// A new header for this secret, and the key of the stream after it.
    pub(crate) fn header(self, cost: PassphraseCost) -> Result<(Header, StreamKey), Error> {
        if let Secret::Passphrase(passphrase) = self {
            one_line(passphrase)?;
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

/// Refuses a new passphrase that the command line could not have from a file, of which it reads the first line. Others open what was sealed
/// with them.
fn one_line(passphrase: &[u8]) -> Result<(), Error> {
    Err(Error::PassphraseText(match std::str::from_utf8(passphrase) {
        Err(_) => "is not UTF-8: give text that is encoded so",
        Ok(text) if text.starts_with('\u{feff}') => "begins with a byte order mark: leave that out",
        Ok(text) if text.contains(['\n', '\r', '\0']) => "has a line end or a NUL byte: leave that out",
        Ok(_) => return Ok(()),
    }))
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
