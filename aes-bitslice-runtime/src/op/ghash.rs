//! GHASH, the hash of Galois/counter mode (SP 800-38D, section 6.4), under the hash key that GCM derives from the
//! cipher's key.
//!
//! It only reads. The result for a part of a message is a [`PartialHash`]; those of all parts combine by position into
//! the hash of the whole, in whatever order they were computed ([`Cipher::combine`](crate::Cipher::combine)).

use crate::base::error::Error;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::hash_key::HashKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::operation::{Hashed, Keys, Operation, Steps, whole_blocks};
use crate::op::partial_hash::PartialHash;
use aes_bitslice_core::mode::Mode;

/// GHASH of whole blocks of 16 bytes, at a given position in their message.
///
/// The hash key is H = the encryption of a block of zeros. GHASH alone is not a MAC: GCM adds an encrypted counter
/// block to it ([`Gmac`](crate::Gmac)).
#[derive(Clone, Debug, Default)]
pub struct Ghash {
    /// The block of the message with which the data begins.
    block: u64,
    key: Option<HashKey>,
}

impl Ghash {
    /// GHASH of a message from its beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// GHASH of a part of a message that begins with block number `block`, counted from 0.
    pub fn from_block(block: u64) -> Self {
        Self { block, key: None }
    }

    fn key(&self) -> &HashKey {
        self.key.as_ref().expect("derived before the data is cut")
    }
}

impl Operation for Ghash {
    const NAME: &'static str = "GHASH";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OneOnCpu;
}

impl Steps for Ghash {
    type Part = PartialHash;
    type Output = PartialHash;

    fn mode(&self) -> Option<Mode> {
        None
    }

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)?;
        match self.block.checked_mul(16).and_then(|first| first.checked_add(bytes)) {
            Some(_) => Ok(()),
            None => Err(Error::PartsDoNotAdjoin { what: "no message has 2^64 bytes".into() }),
        }
    }

    fn derive(&mut self, cipher: &impl CpuCipher) {
        self.key = Some(cipher.hash_key());
    }

    fn after(&self, bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { block: self.block + bytes / 16, ..self.clone() }
    }

    fn hashed(&self) -> Option<Hashed> {
        Some(Hashed::Input)
    }

    fn hash_key(&self) -> &HashKey {
        self.key()
    }

    fn part(&self, bytes: u64, hash: &[u8; 16]) -> PartialHash {
        PartialHash { offset: 16 * self.block, bytes, hash: *hash }
    }

    fn on_cpu(&self, _cipher: &impl CpuCipher, data: Buffers<'_>) -> PartialHash {
        let bytes = data.input();
        PartialHash { offset: 16 * self.block, bytes: bytes.len() as u64, hash: self.key().hash(bytes) }
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<PartialHash, Error> {
        self.key().combine(16 * self.block, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_beyond_all_messages_is_refused() {
        assert!(Ghash::from_block(u64::MAX / 16 - 1).check(16).is_ok());
        assert!(matches!(Ghash::from_block(u64::MAX / 16).check(32), Err(Error::PartsDoNotAdjoin { .. })));
        assert!(matches!(Ghash::from_block(u64::MAX).check(0), Err(Error::PartsDoNotAdjoin { .. })));
    }
}
