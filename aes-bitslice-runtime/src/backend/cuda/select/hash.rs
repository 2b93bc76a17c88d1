//! The stored GHASH kernels: which one an architecture has, and its loading.

use crate::backend::cuda::commands::HashKernel;
use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::EntryPoints;
use crate::base::error::Error;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::HASHES;
use std::sync::Arc;

/// Whether there is a kernel for an architecture (`sm_90`: 90).
pub(crate) fn is_there_for(architecture: u32) -> bool {
    stored(architecture).is_some()
}

/// The fastest kernel for an architecture, and its manifest.
fn stored(architecture: u32) -> Option<(&'static aes_bitslice_kernels::HashKernel, Manifest<Hash>)> {
    HASHES.iter().find_map(|kernel| {
        let manifest = Manifest::<Hash>::parse(kernel.manifest).expect("the manifests of stored kernels are tested");
        let runs = manifest.compute_capability.is_some_and(|range| range.contains(architecture));
        runs.then_some((kernel, manifest))
    })
}

/// Loads the fastest kernel for a device. Its context was entered on this thread.
///
/// # Errors
/// [`Error::NoSuchKernel`] if there is none, and any error the driver reports.
pub(crate) fn load(context: &Arc<Context>, architecture: u32, multiprocessors: u32) -> Result<HashKernel, Error> {
    let none = || Error::NoSuchKernel { what: "there is none of GHASH for this device".into() };
    let (kernel, manifest) = stored(architecture).ok_or_else(none)?;
    let image = Image::of(architecture, kernel.name, kernel.cubins, kernel.ptx.unwrap_or_default())?;
    let entry_points = EntryPoints::load(context, &manifest, &image)?;
    Ok(HashKernel::new(context, multiprocessors, manifest, entry_points))
}
