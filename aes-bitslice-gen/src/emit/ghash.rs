//! GHASH kernels: the assembled `.h` files of the folder `ghash`, and the manifest.

use super::{dialect, header};
use crate::ghash::Ghash;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::ghash::Arrangement;
use aes_bitslice_core::hash_manifest::{HashManifest, HashOfMessages, PrintedHash};
use aes_bitslice_core::signature::EntryPoint;
use std::fmt::Write;

/// Prints a kernel; `command` is the command line that regenerates it. Returns `None` for a kernel in OpenCL C that needs instructions of
/// NVIDIA's GPUs.
pub fn print(kernel: Ghash, dialect: Dialect, command: &str) -> Option<PrintedHash> {
    if dialect == Dialect::OpenCl && kernel.0 != Arrangement::Element {
        return None;
    }
    let source = source(kernel, dialect, command);
    let (name, shape) = (kernel.name(), kernel.shape());
    let entry = name.replace('-', "_");
    let read = |entry: &str| EntryPoint::read(&source, entry).unwrap_or_else(|error| panic!("{name}: {error}"));
    let manifest = HashManifest {
        hash_format: HashManifest::FORMAT,
        generated_by: command.into(),
        dialect,
        kernel: name.clone(),
        source: format!("{name}.{}", dialect.extension()),
        source_sha256: digest::of_text(&source),
        shape,
        entry: read(&entry),
        entry_bytes: read(&format!("{entry}_bytes")),
        entry_clear: read(&format!("{entry}_clear")),
        messages: (dialect == Dialect::Cuda).then(|| HashOfMessages {
            shape: kernel.message_shape(),
            entry: read(&format!("{entry}_messages")),
            entry_clear: read(&format!("{entry}_messages_clear")),
        }),
        overlaps: kernel.0 == Arrangement::Wgmma,
        threads: kernel.threads(),
        shared_bytes: kernel.shared_bytes(),
        units_per_sm: kernel.units_per_sm(),
        compute_capability: (dialect == Dialect::Cuda).then(|| kernel.compute_capability()),
    };
    Some(PrintedHash { source, manifest })
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
    let messages = kernel.message_templates().into_iter().filter(|_| dialect == Dialect::Cuda);
    for part in [page.as_str()].into_iter().chain(kernel.templates().iter().copied()).chain(messages) {
        body += "\n";
        body += &part.replace("@NAME@", &entry);
    }
    header::with_heading(heading.iter().map(String::as_str), &body)
}
