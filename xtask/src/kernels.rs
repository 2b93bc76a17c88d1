//! The stored kernels as they would be generated now, and the names of their files.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::Arrangement;
use aes_bitslice_core::manifest::{Hash, Manifest, Printed};
use aes_bitslice_core::signature::EntryPoint;
use aes_bitslice_gen::emit::{cuda, gcm, ghash, opencl};
use aes_bitslice_gen::ghash::Ghash;
use aes_bitslice_gen::kernel::Design;
use aes_bitslice_gen::stored;
use aes_bitslice_nvrtc::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The command line that remakes them.
pub const COMMAND: &str = "cargo xtask gen";
/// The virtual architecture of the PTX.
pub const PTX: u32 = 75;
/// The architectures with machine code.
pub const CUBINS: [u32; 1] = [90];
/// The file that records what was compiled from what.
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

    pub fn printed(&self) -> Printed {
        Printed { source: Zeroizing::new(self.source.clone()), manifest: self.manifest.clone() }
    }

    pub fn source_file(&self) -> &str {
        &self.manifest.source
    }
}

/// The folder of generated folders.
pub fn folder(root: &Path) -> PathBuf {
    root.join("kernels-generated").join("src")
}

/// The kernels to store for CUDA.
pub fn cuda() -> Vec<StoredKernel> {
    let kernel = |design: Design| {
        let printed = cuda::print(&design, COMMAND).expect("a kernel that there is");
        StoredKernel::new(design, printed)
    };
    stored::cuda().into_iter().map(kernel).collect()
}

/// The kernels to store for OpenCL.
pub fn opencl() -> Vec<StoredKernel> {
    let kernel = |spec| {
        let design = Design::Bitsliced(spec);
        let printed = opencl::print(&design, COMMAND).expect("a kernel that there is");
        StoredKernel::new(design, printed)
    };
    stored::opencl().into_iter().map(kernel).collect()
}

/// The kernels of papers, with a published key, which are stored as sources only.
pub fn published() -> Vec<StoredKernel> {
    let kernel = |(name, design): (String, Design)| {
        let command = format!("cargo xtask gen --key {} --mode {}", published_key(), design.mode());
        let mut printed = cuda::print(&design, &command).expect("a kernel that there is");
        printed.manifest.source = format!("{name}.{}", Dialect::Cuda.extension());
        StoredKernel { name, ..StoredKernel::new(design, printed) }
    };
    stored::published().into_iter().map(kernel).collect()
}

fn published_key() -> String {
    stored::PUBLISHED_KEY.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A stored GHASH kernel as it would be generated now.
pub struct StoredHash {
    pub name: String,
    pub source: String,
    pub manifest: Manifest<Hash>,
}

impl StoredHash {
    pub fn printed(&self) -> Printed<Hash> {
        Printed { source: Zeroizing::new(self.source.clone()), manifest: self.manifest.clone() }
    }
}

impl From<Printed<Hash>> for StoredHash {
    fn from(Printed { source, manifest }: Printed<Hash>) -> Self {
        Self { name: manifest.kernel.clone(), source: source.to_string(), manifest }
    }
}

fn hashes(kernels: Vec<Ghash>, dialect: Dialect) -> Vec<StoredHash> {
    let print = |kernel| ghash::print(kernel, dialect, COMMAND).expect("a kernel that there is").into();
    kernels.into_iter().map(print).collect()
}

/// The GHASH kernels to store for CUDA, and the kernel of GCM in one launch.
pub fn cuda_hashes() -> Vec<StoredHash> {
    let mut all = hashes(stored::cuda_hashes(), Dialect::Cuda);
    all.push(gcm::print(COMMAND).into());
    all
}

/// The GHASH kernels to store for OpenCL.
pub fn opencl_hashes() -> Vec<StoredHash> {
    hashes(stored::opencl_hashes(), Dialect::OpenCl)
}

/// A kernel of any kind to compile.
pub struct ToCompile {
    pub name: String,
    /// The source's file.
    pub file: String,
    pub source: String,
    /// Lookup tables that the whole cipher evaluates on 32 blocks, by key length in bits.
    pub lut3: BTreeMap<usize, u64>,
    /// The images to store.
    pub targets: Vec<Target>,
    /// The compute capabilities that it compiles for.
    pub capable: fn(u32) -> bool,
    /// The entry points, if it is called constant-time.
    pub constant_time: Option<BTreeMap<Entry, EntryPoint>>,
}

impl From<&StoredKernel> for ToCompile {
    fn from(kernel: &StoredKernel) -> Self {
        let lut3 = kernel.manifest.bitsliced.iter().filter_map(|b| b.lut3.as_ref()).flat_map(|lut3| &lut3.cipher);
        Self {
            name: kernel.name.clone(),
            file: kernel.source_file().into(),
            source: kernel.source.clone(),
            lut3: lut3.map(|(&bits, &tables)| (bits, tables as u64)).collect(),
            targets: [Target::Ptx(PTX)].into_iter().chain(CUBINS.map(Target::Cubin)).collect(),
            capable: |_| true,
            constant_time: kernel.manifest.bitsliced.is_some().then(|| kernel.manifest.entries.clone()),
        }
    }
}

impl From<&StoredHash> for ToCompile {
    fn from(hash: &StoredHash) -> Self {
        // Machine code if it is the preferred kernel on an architecture with machine code.
        let (targets, capable): (_, fn(u32) -> bool) = match hash.manifest.shape.arrangement {
            Arrangement::Wgmma => (vec![Target::SpecificCubin(90)], |_| false),
            Arrangement::Mma => (vec![Target::Ptx(80)], |arch| (80..100).contains(&arch)),
            Arrangement::Element => (vec![Target::Ptx(PTX)], |_| true),
        };
        let (name, file, source) = (hash.name.clone(), hash.manifest.source.clone(), hash.source.clone());
        let mut entries = hash.manifest.entries.clone();
        // Of what describes work, nothing is secret.
        entries.retain(|entry, _| !entry.describes());
        Self { name, file, source, lut3: BTreeMap::new(), targets, capable, constant_time: Some(entries) }
    }
}

impl ToCompile {
    /// The names of the files that are compiled from it.
    pub fn images(&self) -> impl Iterator<Item = String> {
        self.targets.iter().map(|&target| image_file(&self.name, target))
    }
}

/// The file of a compiled kernel.
pub fn image_file(kernel: &str, target: Target) -> String {
    let extension = if matches!(target, Target::Ptx(_) | Target::SpecificPtx(_)) { "ptx" } else { "cubin" };
    format!("{kernel}.{}.{extension}", target.name())
}

/// Everything to compile.
pub fn to_compile(kernels: &[StoredKernel], hashes: &[StoredHash]) -> Vec<ToCompile> {
    kernels.iter().map(ToCompile::from).chain(hashes.iter().map(ToCompile::from)).collect()
}

/// The names of all files that compiling these makes.
pub fn images(compiled: &[ToCompile]) -> BTreeSet<String> {
    compiled.iter().flat_map(ToCompile::images).chain([RECORD.to_string()]).collect()
}
