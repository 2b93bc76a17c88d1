//! GHASH, the hash of Galois/counter mode (SP 800-38D, section 6.4), under the hash key that GCM derives from the
//! cipher's key.
//!
//! It only reads. The result for a part of a message is a [`PartialHash`]; those of all parts combine by position into
//! the hash of the whole, in whatever order they were computed ([`Cipher::combine`](crate::Cipher::combine)).

use crate::base::error::Error;
use crate::cpu::hash_key::HashKey;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::{Hashed, KernelsNeeded};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, needed, one_pass, whole_blocks};
use crate::op::partial_hash::PartialHash;
use aes_bitslice_core::aes::KeyBits;

/// GHASH of whole blocks of 16 bytes, at a given position in their message.
///
/// The hash key is H = the encryption of a block of zeros. GHASH alone is not a MAC: GCM adds an encrypted counter
/// block to it ([`Gmac`](crate::Gmac)).
#[derive(Clone, Debug, Default)]
pub struct Ghash {
    /// The block of the message with which the data begins.
    block: u64,
}

impl Ghash {
    /// GHASH of a message from its beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// GHASH of a part of a message that begins with block number `block`, counted from 0.
    pub fn from_block(block: u64) -> Self {
        Self { block }
    }
}

impl Operation for Ghash {
    type Output = PartialHash;
    const NAME: &'static str = "GHASH";
    const ACCESS: Access = Access::Reads;
    const KEYS: Keys = Keys::OnCpu(&KeyBits::ALL);

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)?;
        match self.block.checked_mul(16).and_then(|first| first.checked_add(bytes)) {
            Some(_) => Ok(()),
            None => Err(Error::PartsDoNotAdjoin { what: "no message has 2^64 bytes".into() }),
        }
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::hashing(Hashed::Input)
    }

    one_pass!();
}

impl Pass for Ghash {
    type Ready = Hash;

    fn ready(self, key: Option<&CpuKey>) -> Result<Hash, Error> {
        Ok(Hash { key: needed::<Self>(key)?.hash_key(), offset: 16 * self.block })
    }
}

/// A hash under a key that was derived, of data from a given byte of its message on.
#[derive(Clone, Debug)]
pub struct Hash {
    pub(crate) key: HashKey,
    pub(crate) offset: u64,
}

impl Ready for Hash {
    type Part = PartialHash;
    type Output = PartialHash;

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(|hash, bytes| Self { offset: hash.offset + bytes, ..hash.clone() })
    }

    fn hash_key(&self) -> Option<&HashKey> {
        Some(&self.key)
    }

    fn on_cpu(&self, _cipher: &CpuKey, data: Buffers<'_>) -> PartialHash {
        self.part(data.len() as u64, &self.key.hash(data.input()))
    }

    fn part(&self, bytes: u64, results: &[u8]) -> PartialHash {
        PartialHash::of(self.offset, bytes, results)
    }

    fn finish(&self, parts: Vec<PartialHash>) -> Result<PartialHash, Error> {
        self.key.combine(self.offset, parts)
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
