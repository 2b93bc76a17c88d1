//! The stored kernels as they would be generated now, and the names of their files.

use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{Design, Preset};
use aes_bitslice_gen::stored;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The command line that remakes them.
pub const COMMAND: &str = "cargo xtask gen";
/// The virtual architecture of the PTX.
pub const PTX: u32 = 75;
/// The architectures with machine code.
pub const CUBINS: [u32; 1] = [90];
/// The file that says what was compiled from what.
pub const RECORD: &str = "compiled.json";

/// A stored kernel as it would be generated now.
pub struct StoredKernel {
    pub name: String,
    pub design: Design,
    pub source: String,
    pub manifest: Manifest,
}

impl StoredKernel {
    pub fn new(design: Design, Printed { source, manifest }: Printed) -> Self {
        Self { name: design.name(), design, source: source.to_string(), manifest }
    }

    pub fn source_file(&self) -> &str {
        &self.manifest.source
    }
}

/// The folder of generated folders.
pub fn folder(root: &Path) -> PathBuf {
    root.join("kernels-generated").join("src")
}

/// The kernels that are to be stored for CUDA.
pub fn cuda() -> Vec<StoredKernel> {
    let kernel = |design: Design| {
        let printed = cuda::print(&design, COMMAND).expect("a kernel that there is");
        StoredKernel::new(design, printed)
    };
    stored::cuda().into_iter().map(kernel).collect()
}

/// Those for OpenCL.
pub fn opencl() -> Vec<StoredKernel> {
    let kernel = |spec| {
        let design = Design::Bitsliced(spec);
        let printed = opencl::print(&design, COMMAND).expect("a kernel that there is");
        StoredKernel::new(design, printed)
    };
    stored::opencl().into_iter().map(kernel).collect()
}

/// Those of papers, with a key that everybody knows, which are stored as sources only.
pub fn published() -> Vec<StoredKernel> {
    let kernel = |design: Design| {
        let mode = design.mode();
        let command =
            format!("cargo xtask gen --key {} --mode {mode} --preset {}", published_key(), Preset::Hajihassani2019);
        let printed = cuda::print(&design, &command).expect("a kernel that there is");
        StoredKernel::new(design, printed)
    };
    stored::published().into_iter().map(kernel).collect()
}

fn published_key() -> String {
    stored::PUBLISHED_KEY.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn ptx_file(kernel: &str) -> String {
    format!("{kernel}.compute_{PTX}.ptx")
}

pub fn cubin_file(kernel: &str, arch: u32) -> String {
    format!("{kernel}.sm_{arch}.cubin")
}

/// The names of all files that are compiled from these kernels.
pub fn images(kernels: &[StoredKernel]) -> BTreeSet<String> {
    let images = |k: &StoredKernel| {
        let cubins = CUBINS.map(|arch| cubin_file(&k.name, arch));
        cubins.into_iter().chain([ptx_file(&k.name)])
    };
    kernels.iter().flat_map(images).chain([RECORD.to_string()]).collect()
}
