//! The stored GHASH kernels, and the kernel of GCM in one launch: which ones an architecture has, and their loading.

use crate::backend::cuda::commands::HashKernel;
use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::EntryPoints;
use crate::backend::cuda::select::stored::KeyForm;
use crate::base::error::Error;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::HASHES;
use std::sync::Arc;

/// Whether there is a kernel for an architecture (`sm_90`: 90).
pub(crate) fn is_there_for(architecture: u32) -> bool {
    stored(architecture, false).is_some()
}

type Stored = (&'static aes_bitslice_kernels::HashKernel, Manifest<Hash>);

/// The fastest kernel for an architecture that hashes alone, or one that also encrypts; and its manifest.
fn stored(architecture: u32, encrypts: bool) -> Option<Stored> {
    find(|manifest| runs(manifest, architecture) && manifest.key_basis.is_some() == encrypts)
}

fn runs(manifest: &Manifest<Hash>, architecture: u32) -> bool {
    manifest.compute_capability.is_some_and(|range| range.contains(architecture))
}

/// The first stored kernel with such a manifest.
fn find(is_wanted: impl Fn(&Manifest<Hash>) -> bool) -> Option<Stored> {
    HASHES.iter().find_map(|kernel| {
        let manifest = Manifest::<Hash>::parse(kernel.manifest).expect("the manifests of stored kernels are tested");
        is_wanted(&manifest).then_some((kernel, manifest))
    })
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

/// Loads the fastest kernel for a device. Its context was entered on this thread.
///
/// # Errors
/// [`Error::NoSuchKernel`] if there is none, and any error the driver reports.
pub(crate) fn load(context: &Arc<Context>, architecture: u32, multiprocessors: u32) -> Result<HashKernel, Error> {
    let none = || Error::NoSuchKernel { what: "there is none of GHASH for this device".into() };
    of(context, architecture, multiprocessors, stored(architecture, false).ok_or_else(none)?)
}

/// Loads the kernel for messages that have hash keys of their own. The device's context was entered on this thread.
///
/// # Errors
/// [`Error::NoSuchKernel`] if there is none, and any error the driver reports.
pub(crate) fn load_for_jobs(
    context: &Arc<Context>,
    architecture: u32,
    multiprocessors: u32,
) -> Result<HashKernel, Error> {
    let none = || Error::NoSuchKernel { what: "there is none of GHASH under many keys for this device".into() };
    let found = find(|manifest| runs(manifest, architecture) && manifest.entries.contains_key(&Entry::HashJobs));
    of(context, architecture, multiprocessors, found.ok_or_else(none)?)
}

/// Loads the kernel of GCM in one launch for a device, if there is one, and says in which form it takes keys. The device's context was
/// entered on this thread.
///
/// # Errors
/// Any error the driver reports.
pub(crate) fn load_gcm(
    context: &Arc<Context>,
    architecture: u32,
    multiprocessors: u32,
) -> Result<Option<(HashKernel, KeyForm)>, Error> {
    let Some(stored) = stored(architecture, true) else { return Ok(None) };
    let Some(form) = stored.1.key_basis.and_then(KeyForm::of_counter_mode) else { return Ok(None) };
    Ok(Some((of(context, architecture, multiprocessors, stored)?, form)))
}

fn of(
    context: &Arc<Context>,
    architecture: u32,
    multiprocessors: u32,
    (kernel, manifest): Stored,
) -> Result<HashKernel, Error> {
    let image = Image::of(architecture, kernel.name, kernel.cubins, kernel.ptx.unwrap_or_default())?;
    let entry_points = EntryPoints::load(context, &manifest, &image)?;
    Ok(HashKernel::new(context, multiprocessors, manifest, entry_points))
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
