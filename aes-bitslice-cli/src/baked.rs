//! The files of a kernel, which are a key if one is baked in.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use zeroize::Zeroizing;

/// No manifest is larger.
const LARGEST: u64 = 1 << 20;

/// The manifests that the options name.
#[derive(Clone, Copy, Default)]
pub struct KernelFiles<'a> {
    /// Of a kernel with its key in it.
    pub baked: Option<&'a Path>,
    /// Of a kernel that takes its key at launch.
    pub generated: Option<&'a Path>,
}

/// What is known of a kernel before an engine loads it.
pub struct Baked {
    /// The files that are the key: manifest and source; if the manifest cannot be read, the existing sources beside it.
    pub files: Vec<PathBuf>,
    /// The mode, if that can be read and the kernel has a key.
    pub mode: Option<Mode>,
    /// The length of its key, if that can be read and the kernel has a key.
    pub key_bits: Option<KeyBits>,
}

impl Baked {
    /// The kernel of this manifest.
    pub fn read(manifest: &Path) -> Self {
        let parsed = read(manifest);
        let sources = match &parsed {
            Some(parsed) => vec![manifest.with_file_name(&parsed.source)],
            None => {
                let sources = Dialect::ALL.map(|dialect| manifest.with_extension(dialect.extension()));
                sources.into_iter().filter(|source| source.exists()).collect()
            }
        };
        let with_key = parsed.filter(|manifest| manifest.secret);
        let bits = with_key.as_ref().and_then(|manifest| manifest.key_bits);
        Self {
            files: [vec![manifest.to_path_buf()], sources].concat(),
            mode: with_key.and_then(|manifest| manifest.mode().ok()),
            key_bits: KeyBits::ALL.into_iter().find(|known| Some(known.bits()) == bits),
        }
    }
}

/// The mode of any kernel, if that can be read.
pub fn mode(manifest: &Path) -> Option<Mode> {
    read(manifest)?.mode().ok()
}

/// Reads nothing but a file: anything else can be read only once, and is left to the engine that loads it.
fn read(manifest: &Path) -> Option<Manifest> {
    let is_one = |metadata: &fs::Metadata| metadata.is_file() && metadata.len() <= LARGEST;
    let len = fs::metadata(manifest).ok().filter(is_one)?.len();
    // It is the key. Room for all of it at once: growing would leave copies behind.
    let mut json = Zeroizing::new(String::with_capacity(len as usize + 1));
    File::open(manifest).ok()?.take(len).read_to_string(&mut json).ok()?;
    <Manifest>::parse(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::entry::Entry;
    use aes_bitslice_core::grid::Grid;
    use aes_bitslice_core::key_source::KeySource;
    use aes_bitslice_core::manifest::{Cipher, FORMAT};
    use aes_bitslice_core::signature::EntryPoint;
    use std::collections::BTreeMap;

    #[test]
    fn what_a_manifest_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("renamed.json");
        let in_folder = |names: [&str; 2]| names.map(|name| folder.path().join(name)).to_vec();
        let files = || Baked::read(&path).files;
        assert_eq!(files(), std::slice::from_ref(&path));
        in_folder(["renamed.cu", "renamed.cl"]).iter().for_each(|source| fs::write(source, "").unwrap());
        assert_eq!(files()[1..], in_folder(["renamed.cu", "renamed.cl"]));
        fs::write(&path, manifest("kernel").to_json()).unwrap();
        let Baked { files, mode, key_bits } = Baked::read(&path);
        assert_eq!(files, in_folder(["renamed.json", "kernel.cl"]));
        assert_eq!((mode, key_bits), (Some(Mode::Ctr), Some(KeyBits::Aes128)));
        // Larger than any manifest is.
        fs::write(&path, manifest("kernel").to_json() + &" ".repeat(1 << 20)).unwrap();
        assert_eq!(Baked::read(&path).mode, None);
    }

    /// The manifest of a kernel with this name, in OpenCL C and with a key baked in.
    fn manifest(kernel: &str) -> Manifest {
        let point = |entry: Entry| EntryPoint { name: entry.name_in(kernel), parameters: Vec::new() };
        let function = Cipher {
            mode: Mode::Ctr.name().into(),
            key_bits: Some(128),
            keys: KeySource::Baked,
            basis: [1, 2, 4, 8, 16, 32, 64, 128],
            key_basis: None,
            tweak_basis: None,
            tweak_key_basis: None,
            own_key_threads: None,
            tile_blocks: 64,
            grid: Grid::Covers,
            aligned_counters: false,
            bitsliced: None,
            known_answer_sha256: Some(String::new()),
        };
        Manifest {
            format: FORMAT,
            generated_by: "a test".into(),
            dialect: Dialect::OpenCl,
            kernel: kernel.into(),
            source: format!("{kernel}.cl"),
            source_sha256: String::new(),
            secret: true,
            function,
            entries: [Entry::Blocks, Entry::Bytes].map(|entry| (entry, point(entry))).into(),
            threads: 128,
            blocks_per_sm: 0,
            shared_bytes: 0,
            overlaps: false,
            registers: BTreeMap::new(),
        }
    }
}
