//! The files of a kernel with a key baked in.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use aes_bitslice_gen::emit::{Dialect, Manifest};

/// No manifest is larger.
const LARGEST: u64 = 1 << 20;

/// The files that are the key: manifest and source.
pub fn files(manifest: &Path) -> Vec<PathBuf> {
    let beside = match read(manifest) {
        Some(parsed) => vec![manifest.with_file_name(parsed.source)],
        None => Dialect::ALL.map(|dialect| manifest.with_extension(dialect.extension())).into(),
    };
    [vec![manifest.to_path_buf()], beside].concat()
}

/// Nothing but a file: what else there is can be read once, and is for whoever loads it.
fn read(manifest: &Path) -> Option<Manifest> {
    fs::metadata(manifest).ok().filter(|metadata| metadata.is_file())?;
    let mut json = String::new();
    File::open(manifest).ok()?.take(LARGEST).read_to_string(&mut json).ok()?;
    Manifest::parse(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_gen::emit::opencl;
    use aes_bitslice_gen::kernel::{BakedStrategy, KernelSpec, Mode};
    use aes_bitslice_gen::sbox::LUT3;

    #[test]
    fn what_a_manifest_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("renamed.json");
        let beside = |names: [&str; 2]| names.map(|name| folder.path().join(name)).to_vec();
        assert_eq!(files(&path)[1..], beside(["renamed.cu", "renamed.cl"]));
        let spec = KernelSpec::baked(Mode::Ctr, &LUT3, BakedStrategy::OneHotMux, &[7; 16]).unwrap();
        let manifest = opencl::print(&spec.into(), "a test").unwrap().manifest;
        std::fs::write(&path, manifest.to_json()).unwrap();
        assert_eq!(files(&path), beside(["renamed.json", "aes-128-ctr-one-hot-mux.cl"]));
    }
}
