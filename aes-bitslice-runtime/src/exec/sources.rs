//! Kernels that are compiled at run time: those with a key baked in, read from files, and any other printed kernel.
//! Nothing that contains a key is written to disk here, and copies in memory are wiped.

use crate::base::error::Error;
use crate::base::key::{Key, TWO_KEYS};
use aes_bitslice_core::aes::KeySchedule;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::digest;
use aes_bitslice_core::key_source::ExpandedKey;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::self_test;
use aes_bitslice_core::strategy::KeyStrategy;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// No source or manifest is larger; a larger file is something else.
const LARGEST_FILE: u64 = 16 << 20;

/// The manifest of a kernel with its key baked in.
pub(crate) fn manifest_of_baked(path: &Path) -> Result<Manifest, Error> {
    let manifest = manifest_of(path)?;
    if !manifest.secret {
        let what = "it is of a kernel without a key in it, which is given one at launch".into();
        return Err(Error::BadManifest { path: path.into(), what });
    }
    Ok(manifest)
}

pub(crate) fn manifest_of(path: &Path) -> Result<Manifest, Error> {
    let bad = |what: String| Error::BadManifest { path: path.into(), what };
    <Manifest>::parse(&read(path).map_err(bad)?).map_err(|e| bad(e.to_string()))
}

/// A kernel with its key baked in, from its files.
pub(crate) fn read_baked(path: &Path, dialect: Dialect) -> Result<Printed, Error> {
    with_source(path, manifest_of_baked(path)?, dialect)
}

/// Any printed kernel, from its files.
pub(crate) fn read_printed(path: &Path, dialect: Dialect) -> Result<Printed, Error> {
    with_source(path, manifest_of(path)?, dialect)
}

/// A manifest with its source, from the same folder, in the language of the engine.
fn with_source(path: &Path, manifest: Manifest, dialect: Dialect) -> Result<Printed, Error> {
    let bad = |what: String| Error::BadManifest { path: path.into(), what };
    if manifest.dialect != dialect {
        let (has, wants) = (manifest.dialect, dialect);
        return Err(bad(format!("it is of a kernel for {has}, and the engine is for {wants}: open one for {has}")));
    }
    let source =
        read(&path.with_file_name(&manifest.source)).map_err(|e| bad(format!("source `{}`: {e}", manifest.source)))?;
    manifest.check_source(&source).map_err(|e| bad(e.to_string()))?;
    Ok(Printed { source, manifest })
}

/// One line: whether a kernel's design is the fastest on a device that is fast in this layout, or else which is.
pub(crate) fn design(manifest: &Manifest, layout: Layout) -> String {
    let name = manifest.source.split('.').next().unwrap_or_default();
    let is_fastest = manifest.bitsliced.as_ref().is_some_and(|parts| {
        let searched = parts.lut3.is_some() && parts.sbox == "lut3";
        searched && parts.strategy == KeyStrategy::OneHotMux.name() && parts.layout == layout.name()
    });
    if is_fastest {
        return format!("{name} is of the design that is fastest on this device");
    }
    let mut command = "cargo xtask gen --key @FILE --preset fast".to_string();
    if layout != KeyStrategy::OneHotMux.layout() {
        command += &format!(" --layout {layout}");
    }
    if manifest.dialect != Dialect::Cuda {
        command += &format!(" --dialect {}", manifest.dialect);
    }
    format!("{name} is not of the design that is fastest on this device: `{command}` makes that one")
}

/// Refuses a kernel with a key other than this one baked in.
pub(crate) fn check_baked_key(manifest: &Manifest, key: &Key) -> Result<(), Error> {
    let mode = manifest.mode().map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    if is_known_answer(manifest, &self_test::expected(mode, &schedule(mode, key))) {
        Ok(())
    } else {
        Err(Error::NoSuchKernel { what: "it has another key baked in: generate one for this key".into() })
    }
}

/// The round keys for a mode's direction.
pub(crate) fn schedule(mode: Mode, key: &Key) -> KeySchedule {
    KeySchedule::new(key.first(), mode.direction()).expect("a key has one of the three lengths")
}

/// The words that a kernel is launched with for a key.
pub(crate) fn key_words(manifest: &Manifest, key: &Key) -> Result<Zeroizing<Vec<u32>>, Error> {
    let words = manifest.key_words(key.first()).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    Ok(words.expect("a key has one of the three lengths"))
}

/// The words of the tweak key that a kernel is launched with; `None` for a kernel without tweaks.
///
/// # Errors
/// [`Error::WrongKeys`] if the kernel has tweaks and the key is not an XTS key.
pub(crate) fn tweak_words(manifest: &Manifest, key: &Key) -> Result<Option<Zeroizing<Vec<u32>>>, Error> {
    let basis = manifest.tweak_key_basis().map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    let words = |basis| expanded(key).tweak_words(basis).ok_or(Error::WrongKeys { operation: "XTS", needs: TWO_KEYS });
    basis.map(words).transpose()
}

/// Refuses a kernel with tweaks if there is only one key.
pub(crate) fn has_one_key(manifest: &Manifest) -> Result<(), Error> {
    match manifest.tweak_basis {
        Some(_) => Err(Error::NoSuchKernel { what: format!("{} takes two keys, and is given one", manifest.kernel) }),
        None => Ok(()),
    }
}

/// The expanded key; for XTS, both keys.
pub(crate) fn expanded(key: &Key) -> ExpandedKey {
    let expanded = match key.second() {
        Some(tweak) => ExpandedKey::xts(key.first(), tweak),
        None => ExpandedKey::new(key.first()),
    };
    expanded.expect("a key has one of the three lengths")
}

/// Whether this is the answer that a kernel with its key baked in must give.
pub(crate) fn is_known_answer(manifest: &Manifest, answer: &[u8]) -> bool {
    manifest.known_answer_sha256.as_deref() == Some(digest::of_bytes(answer).as_str())
}

fn read(path: &Path) -> Result<Zeroizing<String>, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    if metadata.is_dir() {
        return Err("it is a folder, not a file".into());
    }
    // Room for all of it at once: growing would leave copies behind.
    let len = metadata.len();
    if len > LARGEST_FILE {
        return Err("it is too large".into());
    }
    let mut text = Zeroizing::new(String::with_capacity(len as usize + 1));
    file.take(LARGEST_FILE).read_to_string(&mut text).map_err(|e| match e.kind() {
        ErrorKind::InvalidData => "it is not text in UTF-8".into(),
        _ => e.to_string(),
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_manifest_of_a_baked_kernel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        let refused = || match manifest_of_baked(&path) {
            Err(Error::BadManifest { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert!(!refused().is_empty(), "a file that is not there");
        std::fs::write(&path, "{}").unwrap();
        assert!(!refused().is_empty());
        #[cfg(feature = "opencl")]
        {
            std::fs::write(&path, aes_bitslice_kernels::OPENCL_KERNELS[0].manifest).unwrap();
            assert!(refused().contains("without a key"));
        }
        for (len, too_large) in [(LARGEST_FILE, false), (LARGEST_FILE + 1, true)] {
            File::create(&path).unwrap().set_len(len).unwrap();
            assert_eq!(refused().contains("too large"), too_large, "{len} bytes");
        }
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(refused(), "it is not text in UTF-8");
        #[cfg(unix)]
        {
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
            assert_eq!(refused(), "it is a folder, not a file");
        }
    }

    /// The manifest of a stored kernel.
    #[cfg(feature = "opencl")]
    fn stored(name: &str) -> Manifest {
        let kernel = aes_bitslice_kernels::OPENCL_KERNELS.iter().find(|kernel| kernel.name == name).unwrap();
        <Manifest>::parse(kernel.manifest).unwrap()
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn the_fastest_design_has_the_searched_circuits_throughout() {
        let says = |sbox: &str, counted: bool| {
            let mut manifest = stored("aes-ctr-planes");
            let parts = manifest.function.bitsliced.as_mut().unwrap();
            (parts.strategy, parts.sbox) = (KeyStrategy::OneHotMux.name().into(), sbox.into());
            parts.lut3.take_if(|_| !counted);
            design(&manifest, Layout::Column).contains("is of the design")
        };
        assert_eq!([says("lut3", true), says("lut3", false), says("other", true)], [true, false, false]);
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn the_key_that_is_baked_in_is_known_by_its_answer() {
        let key = |byte| Key::new(&[byte; 24]).unwrap();
        let mut manifest = stored("aes-ecb-encrypt-planes");
        let answer = self_test::expected(Mode::EcbEncrypt, &schedule(Mode::EcbEncrypt, &key(7)));
        assert!(!is_known_answer(&manifest, &answer), "no key is baked in");
        manifest.function.known_answer_sha256 = Some(digest::of_bytes(&answer));
        assert!(is_known_answer(&manifest, &answer) && !is_known_answer(&manifest, &answer[1..]));
        check_baked_key(&manifest, &key(7)).unwrap();
        assert!(matches!(check_baked_key(&manifest, &key(8)), Err(Error::NoSuchKernel { .. })));
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn a_kernel_is_launched_with_words_of_the_key_that_it_takes() {
        let (ecb, xts) = (stored("aes-ecb-encrypt-planes"), stored("aes-xts-encrypt-planes"));
        let (one, other) = (Key::new(&[7; 16]).unwrap(), Key::new(&[8; 16]).unwrap());
        let two = |tweak: u8| Key::xts(&[[7; 16], [tweak; 16]].concat()).unwrap();
        assert!(has_one_key(&ecb).is_ok() && matches!(has_one_key(&xts), Err(Error::NoSuchKernel { .. })));
        let words = |key: &Key| key_words(&ecb, key).unwrap();
        assert!(words(&one) == words(&two(9)) && words(&one) != words(&other), "the first key");
        assert!(tweak_words(&ecb, &one).unwrap().is_none());
        assert!(matches!(tweak_words(&xts, &one), Err(Error::WrongKeys { needs: TWO_KEYS, .. })));
        let tweaks = |tweak| tweak_words(&xts, &two(tweak)).unwrap().expect("a kernel with tweaks");
        assert!(tweaks(8) == tweaks(8) && tweaks(8) != tweaks(9), "the second key");
    }

    #[cfg(feature = "opencl")]
    #[test]
    fn a_source_that_its_manifest_was_not_made_for_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.json");
        let stored = &aes_bitslice_kernels::OPENCL_KERNELS[0];
        let source = folder.path().join(<Manifest>::parse(stored.manifest).unwrap().source);
        std::fs::write(&path, stored.manifest).unwrap();
        let refused = |dialect| match read_printed(&path, dialect) {
            Err(Error::BadManifest { what, .. }) => what,
            other => panic!("{:?}", other.map(|_| ())),
        };
        std::fs::write(&source, stored.source).unwrap();
        assert!(*read_printed(&path, Dialect::OpenCl).unwrap().source == *stored.source);
        assert!(refused(Dialect::Cuda).contains("the engine is for"));
        std::fs::write(&source, stored.source.to_owned() + " ").unwrap();
        assert!(refused(Dialect::OpenCl).contains("is of another source"));
        std::fs::remove_file(&source).unwrap();
        assert!(refused(Dialect::OpenCl).contains("source `"));
    }
}
