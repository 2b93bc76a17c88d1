//! The kernel of GCM in one launch: counter mode's text with the hash's templates, and the manifest.

use super::bitsliced::modes;
use super::bitsliced::parts::{Geometry, Parts};
use super::{bitsliced, manifest};
use crate::ghash::gcm;
use crate::kernel::plan::Plan;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::{Hash, Manifest, Printed};
use zeroize::Zeroizing;

/// Prints it in CUDA C; `command` is the command line that regenerates it.
pub fn print(command: &str) -> Printed<Hash> {
    let spec = gcm::counter_mode();
    let of_counter_mode = modes::parts(&spec).expect("the stored kernel of counter mode");
    let Geometry { threads, .. } = of_counter_mode.geometry;
    let parts = Parts {
        name: gcm::NAME.into(),
        what: "AES on bit-planes, and GHASH (SP 800-38D) by tensor cores, wgmma on single bits. Constant-time",
        mode: modes::KEY_STREAM.into_iter().chain(gcm::TEMPLATES).collect(),
        batches: vec![],
        definitions: gcm::definitions(threads),
        ..of_counter_mode
    };
    let source = bitsliced::print::source(&Plan::new(&spec), &parts, Dialect::Cuda, command);
    let function = Hash {
        shape: gcm::shape(),
        message_shape: None,
        units_per_sm: gcm::units_per_sm(threads),
        compute_capability: Some(gcm::HASH.compute_capability()),
        key_basis: Some(spec.key_basis().rows()),
    };
    let manifest = Manifest {
        overlaps: parts.overlaps,
        threads,
        shared_bytes: gcm::shared_bytes(threads),
        ..manifest::of(gcm::NAME, Dialect::Cuda, &source, function)
    };
    Printed { source: Zeroizing::new(source), manifest }
}
