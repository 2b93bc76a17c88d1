//! Kernels that are compiled at run time: with their key baked in, read from files or printed for it, and any other that the
//! generator prints. Nothing that holds a key is written to disk here, and what is held in memory is wiped.

use crate::{Error, Key};
use aes_bitslice_gen::aes::KeySchedule;
use aes_bitslice_gen::emit::{Dialect, Manifest, Printed, header};
use aes_bitslice_gen::kernel::{BakedStrategy, Design, KernelSpec, Mode};
use aes_bitslice_gen::sbox::Sbox;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use zeroize::Zeroizing;

/// No source or manifest is larger; what is, is something else.
const LARGEST_FILE: u64 = 16 << 20;

/// The manifest of a kernel with its key baked in.
pub(crate) fn manifest_of_baked(path: &Path) -> Result<Manifest, Error> {
    let bad = |what: String| Error::BadManifest { path: path.into(), what };
    let manifest = Manifest::parse(&read(path).map_err(bad)?).map_err(|e| bad(e.to_string()))?;
    if !manifest.secret {
        return Err(bad("is of a kernel without a key: give it one with `Engine::cipher`".into()));
    }
    Ok(manifest)
}

/// A kernel with its key baked in: its manifest, and the source beside it in the language of the engine.
pub(crate) fn read_baked(path: &Path, dialect: Dialect) -> Result<Printed, Error> {
    let bad = |what: String| Error::BadManifest { path: path.into(), what };
    let manifest = manifest_of_baked(path)?;
    if manifest.dialect != dialect {
        let (has, wants) = (manifest.dialect, dialect);
        return Err(bad(format!("is of a kernel for {has}, and the engine is for {wants}: open one for {has}")));
    }
    let source = read(&path.with_file_name(&manifest.source)).map_err(|e| bad(format!("{}: {e}", manifest.source)))?;
    if header::digest(&source) != manifest.source_sha256 {
        return Err(bad(format!("{} is not the source it was made for: generate both anew", manifest.source)));
    }
    Ok(Printed { source, manifest })
}

/// A kernel with this key baked in, to be printed.
pub(crate) fn baked(key: &Key, mode: Mode, strategy: BakedStrategy, sbox: &str) -> Result<KernelSpec, Error> {
    let sbox = Sbox::named(sbox).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    Ok(KernelSpec::baked(mode, sbox, strategy, key.expose()).expect("a key has one of the three lengths"))
}

/// The round keys of a kernel's direction; a kernel with a key baked in must have this one.
pub(crate) fn round_keys(design: &Design, key: &Key) -> Result<KeySchedule, Error> {
    let direction = design.mode().direction();
    let schedule = KeySchedule::new(key.expose(), direction).expect("a key has one of the three lengths");
    match design.baked() {
        Some(baked) if baked.round_keys() != schedule.round_keys() => {
            Err(Error::NoSuchKernel { what: "it has another key baked in: generate one for this key".into() })
        }
        _ => Ok(schedule),
    }
}

/// The words that a kernel is launched with for a key.
pub(crate) fn key_words(manifest: &Manifest, key: &Key) -> Result<Zeroizing<Vec<u32>>, Error> {
    let words = manifest.key_words(key.expose()).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    Ok(words.expect("a key has one of the three lengths"))
}

/// Whether this is the answer that a kernel with its key baked in must give.
pub(crate) fn is_known_answer(manifest: &Manifest, answer: &[u8]) -> bool {
    manifest.known_answer_sha256.as_deref() == Some(header::digest_bytes(answer).as_str())
}

fn read(path: &Path) -> Result<Zeroizing<String>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    // Room for all of it at once: growing would leave copies behind.
    let len = file.metadata().map_err(|e| e.to_string())?.len();
    if len > LARGEST_FILE {
        return Err("is too large".into());
    }
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 1));
    file.take(LARGEST_FILE).read_to_string(&mut text).map_err(|e| e.to_string())?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;
    use aes_bitslice_gen::emit::{cuda, opencl};

    #[test]
    fn kernels_are_read_for_engines_of_their_own_language() {
        let key = Key::new(&[7; 16]).unwrap();
        let design = baked(&key, Mode::Ctr, BakedStrategy::OneHotMux, "lut3").unwrap().into();
        for (printed, own, other) in [
            (cuda::print(&design, "a test"), Dialect::Cuda, Dialect::OpenCl),
            (opencl::print(&design, "a test").unwrap(), Dialect::OpenCl, Dialect::Cuda),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("kernel.json");
            std::fs::write(folder.path().join(&printed.manifest.source), &*printed.source).unwrap();
            std::fs::write(&path, printed.manifest.to_json()).unwrap();
            assert!(read_baked(&path, own).unwrap().source == printed.source);
            let backend = Backend::of_baked(&path).unwrap();
            assert_eq!((backend.is_cuda(), backend.is_opencl()), (own == Dialect::Cuda, own == Dialect::OpenCl));
            let Err(Error::BadManifest { what, .. }) = read_baked(&path, other) else { panic!("{own} for {other}") };
            assert!(what.contains(&format!("for {own}")) && what.contains(&format!("for {other}")), "{what}");
        }
    }

    #[test]
    fn what_is_no_manifest_of_a_baked_kernel_has_no_backend() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        let refused = || match Backend::of_baked(&path) {
            Err(Error::BadManifest { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert!(!refused().is_empty(), "a file that is not there");
        std::fs::write(&path, "{}").unwrap();
        assert!(!refused().is_empty());
        std::fs::write(&path, aes_bitslice_kernels::OPENCL_KERNELS[0].manifest).unwrap();
        assert!(refused().contains("without a key"));
        File::create(&path).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        assert!(refused().contains("too large"));
    }
}
