//! The stored GHASH kernels, and the kernel of GCM in one launch: which ones an architecture has (`sm_90`: 90).

use crate::backend::cuda::select::stored::KeyForm;
use crate::base::error::Error;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::HASHES;

/// A kernel, and its manifest.
pub(crate) type Stored = (&'static aes_bitslice_kernels::HashKernel, Manifest<Hash>);

/// The first stored kernel for an architecture with such a manifest, which is the fastest.
fn find(architecture: u32, is_wanted: impl Fn(&Manifest<Hash>) -> bool) -> Option<Stored> {
    HASHES.iter().find_map(|kernel| {
        let manifest = Manifest::<Hash>::parse(kernel.manifest).expect("the manifests of stored kernels are tested");
        let runs = manifest.compute_capability.is_some_and(|range| range.contains(architecture));
        (runs && is_wanted(&manifest)).then_some((kernel, manifest))
    })
}

/// The kernel that hashes alone.
///
/// # Errors
/// [`Error::NoSuchKernel`] if there is none.
pub(crate) fn alone(architecture: u32) -> Result<Stored, Error> {
    let none = || Error::NoSuchKernel { what: "there is none of GHASH for this device".into() };
    find(architecture, |manifest| manifest.key_basis.is_none()).ok_or_else(none)
}

/// The kernel for messages that have hash keys of their own.
///
/// # Errors
/// [`Error::NoSuchKernel`] if there is none.
pub(crate) fn of_jobs(architecture: u32) -> Result<Stored, Error> {
    let none = || Error::NoSuchKernel { what: "there is none of GHASH under many keys for this device".into() };
    find(architecture, |manifest| manifest.entries.contains_key(&Entry::HashJobs)).ok_or_else(none)
}

/// The kernel of GCM in one launch, and the form in which it takes keys; `None` if there is none.
pub(crate) fn of_gcm(architecture: u32) -> Option<(Stored, KeyForm)> {
    let stored = find(architecture, |manifest| manifest.key_basis.is_some())?;
    let form = stored.1.key_basis.and_then(KeyForm::of_counter_mode)?;
    Some((stored, form))
}

/// The length of the longest message for which GCM in one launch is faster than counter mode and the hash in two, in bytes, on a device
/// whose memory has this rate in bytes a second. The second launch reads the ciphertext again; but tensor cores beside the cipher lower the
/// clock (docs/performance.md), for longer where a block has more rounds. One launch clears a forged message slowly, which a limit bounds where
/// it costs next to nothing.
pub(crate) fn most_in_one_launch(memory_rate: u64, direction: Direction, key_bits: KeyBits) -> u64 {
    // Measured on an H200 (4.9 TB/s) and an H100 (3.4 TB/s).
    match (direction, key_bits) {
        _ if memory_rate < 4_000_000_000_000 => u64::MAX,
        (Direction::Decrypt, _) => 64 << 20,
        (Direction::Encrypt, KeyBits::Aes128) => 256 << 20,
        (Direction::Encrypt, KeyBits::Aes192 | KeyBits::Aes256) => 128 << 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decryption_and_long_keys_have_lower_limits_and_slow_memory_has_none() {
        let of = |rate, direction| KeyBits::ALL.map(|bits| most_in_one_launch(rate, direction, bits) >> 20);
        assert_eq!(of(4_915_000_000_000, Direction::Encrypt), [256, 128, 128]);
        assert_eq!(of(4_915_000_000_000, Direction::Decrypt), [64; 3]);
        assert_eq!(of(3_352_000_000_000, Direction::Decrypt), [u64::MAX >> 20; 3]);
    }
}
