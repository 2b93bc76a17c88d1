//! The files of a kernel with a key baked in.

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

/// The files that are the key: manifest and source; if the manifest cannot be read, the existing sources beside it.
pub fn files(manifest: &Path) -> Vec<PathBuf> {
    let sources = match read(manifest) {
        Some(parsed) => vec![manifest.with_file_name(parsed.source)],
        None => {
            let sources = Dialect::ALL.map(|dialect| manifest.with_extension(dialect.extension()));
            sources.into_iter().filter(|source| source.exists()).collect()
        }
    };
    [vec![manifest.to_path_buf()], sources].concat()
}

/// The length of the key, if that can be read.
pub fn key_bits(manifest: &Path) -> Option<KeyBits> {
    let bits = read(manifest)?.key_bits?;
    KeyBits::ALL.into_iter().find(|known| known.bits() == bits)
}

/// The mode of the kernel, if that can be read and the kernel has a key.
pub fn mode(manifest: &Path) -> Option<Mode> {
    read(manifest).filter(|manifest| manifest.secret)?.mode().ok()
}

/// Reads nothing but a file: anything else can be read only once, and is left to the engine that loads it.
fn read(manifest: &Path) -> Option<Manifest> {
    let is_one = |metadata: &fs::Metadata| metadata.is_file() && metadata.len() <= LARGEST;
    let len = fs::metadata(manifest).ok().filter(is_one)?.len();
    // It is the key. Room for all of it at once: growing would leave copies behind.
    let mut json = Zeroizing::new(String::with_capacity(len as usize + 1));
    File::open(manifest).ok()?.take(len).read_to_string(&mut json).ok()?;
    Manifest::parse(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::key::{KeyArgs, KeyFormat, KeySource};
    use crate::error::Exit;
    use crate::method::Method;
    use crate::modes::{ctr::CTR, ecb::ECB};
    use crate::secret::Secret;
    use aes_bitslice_core::key_source;
    use aes_bitslice_core::manifest::Grid;
    use aes_bitslice_core::signature::EntryPoint;
    use std::collections::BTreeMap;

    #[test]
    fn what_a_manifest_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("renamed.json");
        let in_folder = |names: [&str; 2]| names.map(|name| folder.path().join(name)).to_vec();
        assert_eq!(files(&path), std::slice::from_ref(&path));
        in_folder(["renamed.cu", "renamed.cl"]).iter().for_each(|source| fs::write(source, "").unwrap());
        assert_eq!(files(&path)[1..], in_folder(["renamed.cu", "renamed.cl"]));
        fs::write(&path, manifest("kernel").to_json()).unwrap();
        assert_eq!(files(&path), in_folder(["renamed.json", "kernel.cl"]));
        assert_eq!((mode(&path), key_bits(&path)), (Some(Mode::Ctr), Some(KeyBits::Aes128)));
    }

    /// On any machine: whether there is a device for the kernel does not matter then.
    #[test]
    fn a_kernel_for_another_mode_is_refused_before_a_device_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        fs::write(&path, manifest("kernel").to_json()).unwrap();
        let source = KeySource { key_file: None, key_env: None, baked: Some(path) };
        let args = KeyArgs { source, key_format: KeyFormat::Hex };
        assert!(Secret::read(&Method::encryption(&CTR), &args, true).is_ok());
        let Err(refused) = Secret::read(&Method::encryption(&ECB), &args, true) else { panic!("it is for CTR") };
        assert_eq!(refused.exit(), Exit::Key);
        assert_eq!(
            refused.message(),
            "the kernel of --baked is for ctr only: for ecb-encrypt, give another kernel, or the key with --key-file"
        );
    }

    /// The manifest of a kernel with this name, in OpenCL C and with a key baked in.
    fn manifest(kernel: &str) -> Manifest {
        let entry = |name: &str| EntryPoint { name: name.into(), parameters: Vec::new() };
        Manifest {
            format: Manifest::FORMAT,
            generated_by: "a test".into(),
            dialect: Dialect::OpenCl,
            kernel: kernel.into(),
            source: format!("{kernel}.cl"),
            source_sha256: String::new(),
            secret: true,
            mode: Mode::Ctr.name().into(),
            key_bits: Some(128),
            keys: key_source::KeySource::Baked,
            basis: [1, 2, 4, 8, 16, 32, 64, 128],
            key_basis: None,
            tweak_basis: None,
            tweak_key_basis: None,
            entry: entry(kernel),
            entry_bytes: entry(&format!("{kernel}_bytes")),
            entry_messages: None,
            entry_cmac: None,
            many_keys: None,
            threads: 128,
            blocks_per_sm: 0,
            tile_blocks: 64,
            shared_bytes: 0,
            grid: Grid::Covers,
            aligned_counters: false,
            overlaps: false,
            bitsliced: None,
            known_answer_sha256: Some(String::new()),
            registers: BTreeMap::new(),
        }
    }
}
