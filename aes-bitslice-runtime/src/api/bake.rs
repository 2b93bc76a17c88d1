//! Kernels with a key baked in, printed at run time.

use crate::api::cipher::Cipher;
use crate::api::engine::Engine;
use crate::base::error::Error;
use crate::base::key::Key;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::{Design, KernelSpec};
use aes_bitslice_gen::sbox::Sbox;

impl Engine {
    /// Generates a kernel with this key baked in, and compiles it here and now with NVRTC or the OpenCL driver: in the
    /// layout in which the device is fast. With the S-box `lut3` that is the design of
    /// `cargo xtask gen --key @FILE --preset fast`.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::NvrtcUnavailable`], [`Error::CompilerCache`], [`Error::CompileFailed`],
    /// [`Error::NoSuchKernel`] for an unknown S-box name, [`Error::WrongKeys`] for an XTS key,
    /// [`Error::SelfTestFailed`], and errors from the device.
    pub fn bake(&self, key: &Key, mode: Mode, sbox: &str) -> Result<Cipher, Error> {
        let key = key.only("a baked kernel")?;
        let (dialect, layout) = self.compiles("a baked kernel")?;
        let spec = baked(key, mode, sbox, layout)?;
        self.of_one_kernel(&print(&spec.into(), dialect, "Engine::bake")?, None)
    }
}

/// A kernel with this key baked in, in this layout if there is one.
fn baked(key: &Key, mode: Mode, sbox: &str, layout: Layout) -> Result<KernelSpec, Error> {
    let sbox = Sbox::named(sbox).map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
    let spec = KernelSpec::baked(mode, sbox, key.first()).expect("a key has one of the three lengths");
    Ok(spec.clone().with_layout(layout).unwrap_or(spec))
}

fn print(design: &Design, dialect: Dialect, command: &str) -> Result<Printed, Error> {
    let printed = match dialect {
        Dialect::Cuda => cuda::print(design, command),
        Dialect::OpenCl => opencl::print(design, command),
    };
    printed.map_err(|e| Error::NoSuchKernel { what: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::sources::{self, read_baked, read_printed};
    use aes_bitslice_gen::kernel::Preset;

    #[test]
    fn keys_are_baked_in_the_layout_of_the_device() {
        let key = Key::new(&[7; 32]).unwrap();
        for layout in Layout::ALL {
            let spec = baked(&key, Mode::Ctr, "lut3", layout).unwrap();
            assert_eq!(spec.layout, layout);
            assert!(print(&spec.into(), Dialect::OpenCl, "a test").is_ok());
        }
        let unknown = baked(&key, Mode::Ctr, "none", Layout::State);
        assert!(matches!(unknown, Err(Error::NoSuchKernel { .. })));
    }

    /// Files of two presets in one folder, and what is said of each.
    #[test]
    fn of_two_kernels_the_faster_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let of = |preset: Preset| {
            let spec = preset.spec(Mode::Ctr, &[7; 16]).unwrap();
            let stem = preset.file_stem(Mode::Ctr, spec.key_bits());
            let mut printed = print(&spec.into(), Dialect::Cuda, "a test").unwrap();
            printed.manifest.source = format!("{stem}.cu");
            std::fs::write(folder.path().join(&printed.manifest.source), &*printed.source).unwrap();
            let path = folder.path().join(format!("{stem}.json"));
            std::fs::write(&path, printed.manifest.to_json()).unwrap();
            path
        };
        let [published, fast] = [Preset::default(), Preset::Fast].map(of);
        let says = |path, layout| sources::design(&read_baked(path, Dialect::Cuda).unwrap().manifest, layout);
        let is_fastest = "aes-128-ctr-fast is of the design that is fastest on this device";
        assert_eq!(says(&fast, Layout::Column), is_fastest);
        let gen_fast =
            "is not of the design that is fastest on this device: `cargo xtask gen --key @FILE --preset fast`";
        assert_eq!(says(&published, Layout::Column), format!("aes-128-ctr-hajihassani-2019 {gen_fast} makes that one"));
        for kernel in [&published, &fast] {
            assert!(
                says(kernel, Layout::State)
                    .ends_with("`cargo xtask gen --key @FILE --preset fast --layout state` makes that one")
            );
        }
        let mut of_opencl = read_baked(&published, Dialect::Cuda).unwrap().manifest;
        of_opencl.dialect = Dialect::OpenCl;
        assert!(sources::design(&of_opencl, Layout::Column).contains("--preset fast --dialect opencl`"));
        // A kernel for keys at launch is read, but not as one with a key.
        let fetched = of(Preset::Hajihassani2019Fetched);
        assert!(!read_printed(&fetched, Dialect::Cuda).unwrap().manifest.secret);
        let Err(Error::BadManifest { what, .. }) = read_baked(&fetched, Dialect::Cuda) else { panic!("read") };
        assert!(what.contains("without a key"), "{what}");
    }

    #[test]
    fn kernels_are_read_for_engines_of_their_own_language() {
        let key = Key::new(&[7; 16]).unwrap();
        let design = baked(&key, Mode::Ctr, "lut3", Layout::Column).unwrap().into();
        for (own, other) in [(Dialect::Cuda, Dialect::OpenCl), (Dialect::OpenCl, Dialect::Cuda)] {
            let printed = print(&design, own, "a test").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("kernel.json");
            std::fs::write(folder.path().join(&printed.manifest.source), &*printed.source).unwrap();
            std::fs::write(&path, printed.manifest.to_json()).unwrap();
            assert!(read_baked(&path, own).unwrap().source == printed.source);
            let backend = Engine::backend_of_baked(&path).unwrap();
            assert_eq!((backend.is_cuda(), backend.is_opencl()), (own == Dialect::Cuda, own == Dialect::OpenCl));
            let Err(Error::BadManifest { what, .. }) = read_baked(&path, other) else { panic!("{own} for {other}") };
            assert!(what.contains(&format!("for {own}")) && what.contains(&format!("for {other}")), "{what}");
        }
    }
}
