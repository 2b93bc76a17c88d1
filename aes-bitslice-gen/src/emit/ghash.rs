//! GHASH kernels: the assembled `.h` files of the folder `ghash`, and the manifest.

use super::{dialect, header, manifest};
use crate::ghash::Ghash;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::ghash::Arrangement;
use aes_bitslice_core::manifest::{Hash, Manifest, Printed};
use std::fmt::Write;
use zeroize::Zeroizing;

/// Prints a kernel; `command` is the command line that regenerates it. Returns `None` for a kernel in OpenCL C that needs instructions of
/// NVIDIA's GPUs.
pub fn print(kernel: Ghash, dialect: Dialect, command: &str) -> Option<Printed<Hash>> {
    if dialect == Dialect::OpenCl && kernel.0 != Arrangement::Element {
        return None;
    }
    let source = source(kernel, dialect, command);
    let is_cuda = dialect == Dialect::Cuda;
    let function = Hash {
        shape: kernel.shape(),
        message_shape: is_cuda.then(|| kernel.message_shape()),
        units_per_sm: kernel.units_per_sm(),
        compute_capability: is_cuda.then(|| kernel.compute_capability()),
        key_basis: None,
    };
    let manifest = Manifest {
        overlaps: kernel.0 == Arrangement::Wgmma,
        threads: kernel.threads(),
        shared_bytes: kernel.shared_bytes(),
        ..manifest::of(&kernel.name(), dialect, &source, function)
    };
    Some(Printed { source: Zeroizing::new(source), manifest })
}

fn source(kernel: Ghash, dialect: Dialect, command: &str) -> String {
    let shape = kernel.shape();
    let by = match kernel.0 {
        Arrangement::Wgmma => "by tensor cores, wgmma on single bits",
        Arrangement::Mma => "by tensor cores, mma on single bits",
        Arrangement::Element => "by multiplication of integers with holes",
    };
    let shared = match kernel.shared_bytes() {
        0 => String::new(),
        bytes => format!(", {bytes} bytes of shared memory"),
    };
    let heading = [
        format!("{}{command}", header::COMMAND),
        format!("Kernel: {}, GHASH (SP 800-38D) {by}. Constant-time.", kernel.name()),
        format!("Geometry: {} threads a block{shared}; tiles of {} blocks of 16 bytes.", kernel.threads(), shape.tile_blocks()),
        "Adds hash * factor + addend to the 16 bytes at out, atomically. Thread blocks: as many as tiles, but at most `units`, for which \
         the tables are."
            .into(),
    ];
    let mut body = String::from("\n");
    for (name, value) in kernel.definitions() {
        let _ = writeln!(body, "#define {name} {value}");
    }
    let entry = kernel.name().replace('-', "_");
    let page = dialect::page(dialect, "");
    // Many messages at a time, only in CUDA.
    let messages = kernel.message_templates().into_iter().filter(|part| dialect == Dialect::Cuda && !part.is_empty());
    for part in [page.as_str()].into_iter().chain(kernel.templates().iter().copied()).chain(messages) {
        body += "\n";
        body += &part.replace("@NAME@", &entry);
    }
    header::with_heading(heading.iter().map(String::as_str), &body)
}
