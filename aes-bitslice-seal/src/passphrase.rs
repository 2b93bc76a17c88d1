//! How a passphrase becomes a key: by Argon2id (RFC 9106), slowly and with much memory, so that trying many is
//! expensive.

use crate::error::Error;
use aes_bitslice_core::memory::filled;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use zeroize::Zeroizing;

/// The cost of trying a passphrase: the parameters of Argon2id (RFC 9106).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassphraseCost {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes, which may be computed at the same time.
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

    /// The 32 bytes that a passphrase becomes.
    pub(crate) fn stretch(self, passphrase: &[u8], salt: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut bytes = Zeroizing::new(vec![0; 32]);
        let params = self.params()?;
        // Its last blocks reveal the key: it is wiped.
        let mut memory = Zeroizing::new(filled(Block::new(), params.block_count())?);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let stretched = argon2.hash_password_into_with_memory(passphrase, salt, &mut bytes, &mut memory[..]);
        stretched.map_err(|e| Error::PassphraseCost(e.to_string()))?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_is_one() {
        let within = |memory_kib, passes, lanes| PassphraseCost { memory_kib, passes, lanes }.params().is_ok();
        for most in [(2 << 20, 1, 1), (8, 64, 1), (512, 1, 64), (8, 1, 1), (2 << 20, 64, 64)] {
            assert!(within(most.0, most.1, most.2), "{most:?}");
        }
        for beyond in [((2 << 20) + 1, 1, 1), (8, 65, 1), (520, 1, 65), (7, 1, 1), (15, 1, 2), (8, 0, 1), (8, 1, 0)] {
            assert!(!within(beyond.0, beyond.1, beyond.2), "{beyond:?}");
        }
    }

    #[test]
    fn both_ends_of_the_bounds_are_told() {
        let too_little = PassphraseCost { memory_kib: 31, passes: 3, lanes: 4 }.params().unwrap_err().to_string();
        let bounds = "8 KiB of memory for each lane to 2 GiB, 1 to 64 passes, 1 to 64 lanes";
        assert!(
            too_little.contains("31 KiB of memory, 3 passes, 4 lanes") && too_little.ends_with(bounds),
            "{too_little}"
        );
    }
}
