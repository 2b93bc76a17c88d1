//! Kernels that are compiled at run time on a CUDA device.

use super::image::Image;
use super::kernel::Kernel;
use super::round_keys::RoundKeys;
use super::{Device, DeviceKey};
use crate::{Error, Key, sources};
use aes_bitslice_gen::emit::{Dialect, KeySource, Printed, cuda};
use aes_bitslice_gen::kernel::{BakedStrategy, Design, Mode, self_test};
use std::path::Path;
use std::sync::Arc;

impl Device {
    /// Loads a kernel from its manifest and the source beside it.
    pub(crate) fn load_baked(self: &Arc<Self>, path: &Path) -> Result<DeviceKey, Error> {
        self.enter()?;
        self.baked(&sources::read_baked(path, Dialect::Cuda)?)
    }

    /// Generates and compiles a kernel for a key.
    pub(crate) fn bake(
        self: &Arc<Self>,
        key: &Key,
        mode: Mode,
        strategy: BakedStrategy,
        sbox: &str,
    ) -> Result<DeviceKey, Error> {
        self.enter()?;
        self.baked(&cuda::print(&sources::baked(key, mode, strategy, sbox)?.into(), "Engine::bake"))
    }

    /// Generates and compiles any kernel, for a key; a kernel with a key baked in must have this one.
    pub(crate) fn cipher_of(self: &Arc<Self>, key: &Key, design: &Design) -> Result<DeviceKey, Error> {
        self.enter()?;
        let schedule = sources::round_keys(design, key)?;
        let printed = cuda::print(design, "Engine::cipher_of");
        let Printed { source, manifest } = &printed;
        if manifest.secret {
            return self.baked(&printed);
        }
        let kernel = Kernel::load(self, manifest, &Image::compile(self, manifest, source)?)?;
        let words = sources::key_words(manifest, key)?;
        let keys = match manifest.keys {
            KeySource::Memory => RoundKeys::in_memory(self, &words)?,
            _ => RoundKeys::Argument(words),
        };
        let expected = self_test::expected(design.mode(), &schedule);
        kernel.self_test(self, Some(&keys), |answer| answer == expected)?;
        Ok(DeviceKey::with_kernel(self.clone(), kernel, Some(keys)))
    }

    fn baked(self: &Arc<Self>, Printed { source, manifest }: &Printed) -> Result<DeviceKey, Error> {
        let image = Image::compile(self, manifest, source)?;
        let kernel = Kernel::load(self, manifest, &image)?;
        kernel.self_test(self, None, |answer| sources::is_known_answer(manifest, answer))?;
        Ok(DeviceKey::with_kernel(self.clone(), kernel, None))
    }
}
