//! Loads printed kernels on an engine: they are compiled there and then, and may have a key baked in.

use crate::api::cipher::Cipher;
use crate::api::engine::{Engine, Kind, each};
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::exec::backend::Opened;
use crate::exec::sources;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Printed;
use std::path::Path;
use std::sync::Arc;

impl Engine {
    /// Loads a kernel with its key baked in, as written by `cargo xtask gen --key`, of any preset; `manifest` is its JSON
    /// file. On NVIDIA GPUs `--preset fast` is the fastest: [`design_of_baked`](Self::design_of_baked) says which is here.
    ///
    /// Manifest and source are code that runs on the device: load only trusted ones.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::BadManifest`], also for a kernel in the language of another engine;
    /// [`Error::CompileFailed`], [`Error::NvrtcUnavailable`] and [`Error::CompilerCache`], because the source is
    /// compiled here and now; [`Error::SelfTestFailed`], and errors from the device.
    pub fn load_baked(&self, manifest: &Path) -> Result<Cipher, Error> {
        let (dialect, _) = self.compiles("a baked kernel")?;
        self.of_one_kernel(&sources::read_baked(manifest, dialect)?, None)
    }

    /// One line about a kernel with its key baked in, for users: whether its design is the one that is fastest on this
    /// engine's device, and if not, which command makes that one. Nothing is compiled or timed.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU, and [`Error::BadManifest`].
    pub fn design_of_baked(&self, manifest: &Path) -> Result<String, Error> {
        let (_, layout) = self.compiles("a baked kernel")?;
        Ok(sources::design(&sources::manifest_of_baked(manifest)?, layout))
    }

    /// Loads any printed kernel from its files, and a key for it: [`cipher_of`](Self::cipher_of) of what `cargo xtask gen
    /// --preset hajihassani-2019-fetched` writes, for example.
    ///
    /// Manifest and source are code that runs on the device: load only trusted ones.
    ///
    /// # Errors
    /// [`Error::BadManifest`] for files that cannot be read or are no kernel; [`Error::NoDevice`] on a CPU; [`Error::NvrtcUnavailable`],
    /// [`Error::CompilerCache`], [`Error::CompileFailed`], [`Error::NoSuchKernel`] for a kernel with another key baked in, or in another
    /// language than the engine's, [`Error::WrongKeys`] for an XTS key, [`Error::SelfTestFailed`], and errors from the device.
    pub fn load_kernel(&self, manifest: &Path, key: &Key) -> Result<Cipher, Error> {
        let (dialect, _) = self.compiles("a printed kernel")?;
        self.cipher_of(key, &sources::read_printed(manifest, dialect)?)
    }

    /// The backend for a kernel with its key baked in, according to its manifest: the first CUDA device, or
    /// [`Backend::OpenClFirst`]. [`load_baked`](Self::load_baked) accepts the kernel there.
    ///
    /// # Errors
    /// [`Error::BadManifest`] for a file that cannot be read, is not a manifest, or belongs to a kernel without a key.
    pub fn backend_of_baked(manifest: &Path) -> Result<Backend, Error> {
        Ok(backend_of(sources::manifest_of_baked(manifest)?.dialect))
    }

    /// The backend for any printed kernel, according to its manifest: the first CUDA device, or [`Backend::OpenClFirst`].
    /// [`load_kernel`](Self::load_kernel) accepts the kernel there.
    ///
    /// # Errors
    /// [`Error::BadManifest`] for a file that cannot be read or is not a manifest.
    pub fn backend_of_kernel(manifest: &Path) -> Result<Backend, Error> {
        Ok(backend_of(sources::manifest_of(manifest)?.dialect))
    }

    /// Returns a cipher for any printed kernel and a key for it. The kernel is compiled here and now with NVRTC or the
    /// OpenCL driver, and runs its own mode only: for experiments and measurements.
    ///
    /// Dropping its last clone waits. On CUDA it waits for all work of the devices, which may still need the code that
    /// is unloaded. On OpenCL it waits for what was launched with it, and only if its round keys are in device memory,
    /// as with the strategy `planes-in-memory`: these are cleared.
    ///
    /// # Errors
    /// [`Error::NoDevice`] on a CPU; [`Error::NvrtcUnavailable`], [`Error::CompilerCache`], [`Error::CompileFailed`],
    /// [`Error::NoSuchKernel`] for a kernel with another key baked in, or in another language than the engine's,
    /// [`Error::WrongKeys`] for an XTS key, [`Error::SelfTestFailed`], and errors from the device.
    pub fn cipher_of(&self, key: &Key, kernel: &Printed) -> Result<Cipher, Error> {
        let key = key.only("a cipher of one kernel")?;
        let (dialect, _) = self.compiles("a printed kernel")?;
        let manifest = &kernel.manifest;
        if manifest.dialect != dialect {
            let what = format!("it is printed for {}, and the engine compiles {dialect}", manifest.dialect);
            return Err(Error::NoSuchKernel { what });
        }
        let checked = manifest.check().and_then(|()| manifest.check_source(&kernel.source));
        checked.map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
        scrubbed::<EXPANSION, _>(|| {
            if manifest.secret {
                sources::check_baked_key(manifest, key).and_then(|()| self.of_one_kernel(kernel, None))
            } else {
                self.of_one_kernel(kernel, Some(key))
            }
        })
    }

    /// The kernel language that the device compiles, and the layout in which it is fast.
    pub(crate) fn compiles(&self, what: &'static str) -> Result<(Dialect, Layout), Error> {
        let compiles = each!(self.kind(), device => device.compiles());
        compiles.ok_or_else(|| Error::NoDevice { what, backend: self.backend().to_string() })
    }

    /// A single-kernel cipher.
    pub(crate) fn of_one_kernel(&self, kernel: &Printed, key: Option<&Key>) -> Result<Cipher, Error> {
        let on_backend = each!(self.kind(), device => Arc::new(device.kernel(kernel, key, self.settings())?).into());
        Ok(Cipher::new(self.clone(), on_backend, None))
    }
}

/// The backend that a kernel in this language is for.
fn backend_of(dialect: Dialect) -> Backend {
    match dialect {
        Dialect::Cuda => Backend::Cuda { ordinal: 0 },
        Dialect::OpenCl => Backend::OpenClFirst,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_device_answers_is_refused_elsewhere() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let engine = Engine::open(backend).unwrap();
            let none = Path::new("none.json");
            assert!(matches!(engine.load_baked(none), Err(Error::NoDevice { .. })));
            assert!(matches!(engine.design_of_baked(none), Err(Error::NoDevice { .. })));
            assert!(matches!(engine.load_kernel(none, &Key::new(&[1; 16]).unwrap()), Err(Error::NoDevice { .. })));
            #[cfg(feature = "cuda")]
            {
                let cipher = engine.cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
                assert!(matches!(cipher.device(), Err(Error::NotCuda { .. })));
            }
        }
    }
}
