//! What a file is sealed with, and the keys that come of it.
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
use crate::stream::StreamKey;
use aes_bitslice_runtime::{Key, KeyBits};
use argon2::{Algorithm, Argon2, Params, Version};
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What a file is sealed with and opened with.
#[derive(Clone, Copy)]
pub enum Secret<'a> {
    /// A key of 256 bits.
    Key(&'a Key),
    /// A passphrase, of which Argon2id makes a key: slowly and with much memory, so that trying many is dear.
    Passphrase(&'a [u8]),
}

/// How dear it is to try a passphrase: the parameters of Argon2id (RFC 9106).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassphraseCost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes, which may be done at the same time.
    pub lanes: u32,
}

impl Default for PassphraseCost {
    /// RFC 9106, section 4, second recommended option: 64 MiB, 3 passes, 4 lanes.
    fn default() -> Self {
        Self { memory_kib: 64 << 10, passes: 3, lanes: 4 }
    }
}

impl PassphraseCost {
    /// Bounds on what a file may ask of the machine that opens it.
    fn params(self) -> Result<Params, Error> {
        let within = self.memory_kib <= 2 << 20 && self.passes <= 64 && self.lanes <= 64;
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(32)).ok().filter(|_| within);
        params.ok_or_else(|| {
            let Self { memory_kib, passes, lanes } = self;
            Error::PassphraseCost(format!("{memory_kib} KiB of memory, {passes} passes, {lanes} lanes"))
        })
    }
}

impl Secret<'_> {
    /// A new header for this secret, and the key of the stream behind it.
    pub(crate) fn header(self, cost: PassphraseCost) -> Result<(Header, StreamKey), Error> {
        let mut salt = [0; 32];
        getrandom::fill(&mut salt)?;
        let cost = matches!(self, Secret::Passphrase(_)).then_some(cost);
        let (commitment, key) = derive(&self.bytes(cost, &salt)?, &salt);
        Ok((Header { cost, salt, commitment }, key))
    }

    /// The key of the stream behind a header.
    pub(crate) fn stream_key(self, header: &Header) -> Result<StreamKey, Error> {
        let wrong = match (self, header.cost) {
            (Secret::Key(_), Some(_)) => return Err(Error::NeedsPassphrase),
            (Secret::Passphrase(_), None) => return Err(Error::NeedsKey),
            (Secret::Key(_), None) => Error::WrongKey,
            (Secret::Passphrase(_), Some(_)) => Error::WrongPassphrase,
        };
        let (commitment, key) = derive(&self.bytes(header.cost, &header.salt)?, &header.salt);
        if bool::from(commitment.ct_eq(&header.commitment)) { Ok(key) } else { Err(wrong) }
    }

    /// The 32 bytes that the keys come of.
    fn bytes(self, cost: Option<PassphraseCost>, salt: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Secret::Key(key) if key.bits() != KeyBits::Aes256 || key.is_xts() => {
                Err(Error::KeyLength(8 * key.expose().len()))
            }
            Secret::Key(key) => Ok(Zeroizing::new(key.expose().to_vec())),
            Secret::Passphrase([]) => Err(Error::EmptyPassphrase),
            Secret::Passphrase(passphrase) => {
                let params = cost.unwrap_or_default().params()?;
                let mut bytes = Zeroizing::new(vec![0; 32]);
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
                let stretched = argon2.hash_password_into(passphrase, salt, &mut bytes);
                stretched.map_err(|e| Error::PassphraseCost(e.to_string()))?;
                Ok(bytes)
            }
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
