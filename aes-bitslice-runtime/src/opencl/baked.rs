//! Kernels that are compiled at run time for one key: with it baked in, and any other that the generator prints.

use super::kernel::Kernel;
use super::round_keys::RoundKeys;
use super::{Device, DeviceKey};
use crate::cuda::Transfers;
use crate::{Error, Key, sources};
use aes_bitslice_gen::emit::{Dialect, Printed, opencl};
use aes_bitslice_gen::kernel::{BakedStrategy, Design, KernelSpec, Mode, self_test};
use aes_bitslice_gen::layout::Layout;
use std::path::Path;
use std::sync::Arc;

impl DeviceKey {
    /// Loads a kernel from its manifest and the source beside it.
    pub(crate) fn load_baked(device: &Arc<Device>, path: &Path, transfers: Transfers) -> Result<Self, Error> {
        Self::baked(device, &sources::read_baked(path, Dialect::OpenCl)?, transfers)
    }

    /// Generates and compiles a kernel for a key, in the device's own layout where the strategy has it.
    pub(crate) fn bake(
        device: &Arc<Device>,
        key: &Key,
        mode: Mode,
        strategy: BakedStrategy,
        sbox: &str,
        transfers: Transfers,
    ) -> Result<Self, Error> {
        let spec = laid_out(sources::baked(key, mode, strategy, sbox)?, device.layout());
        Self::baked(device, &print(&spec.into(), "Engine::bake")?, transfers)
    }

    /// Generates and compiles any kernel, for a key; a kernel with a key baked in must have this one.
    pub(crate) fn of_design(
        device: &Arc<Device>,
        key: &Key,
        design: &Design,
        transfers: Transfers,
    ) -> Result<Self, Error> {
        let schedule = sources::round_keys(design, key)?;
        let printed = print(design, "Engine::cipher_of")?;
        let Printed { source, manifest } = &printed;
        if manifest.secret {
            return Self::baked(device, &printed, transfers);
        }
        let kernel = Kernel::compile(device, manifest, source)?;
        let keys = RoundKeys::new(device, manifest.keys, sources::key_words(manifest, key)?)?;
        let expected = self_test::expected(design.mode(), &schedule);
        kernel.self_test(device, keys.as_ref(), |answer| answer == expected)?;
        Ok(Self::with_kernel(device, kernel, keys, transfers))
    }

    fn baked(
        device: &Arc<Device>,
        Printed { source, manifest }: &Printed,
        transfers: Transfers,
    ) -> Result<Self, Error> {
        let kernel = Kernel::compile(device, manifest, source)?;
        kernel.self_test(device, None, |answer| sources::is_known_answer(manifest, answer))?;
        Ok(Self::with_kernel(device, kernel, None, transfers))
    }
}

/// The same in this layout, where the strategy has it.
fn laid_out(spec: KernelSpec, layout: Layout) -> KernelSpec {
    spec.clone().with_layout(layout).unwrap_or(spec)
}

fn print(design: &Design, command: &str) -> Result<Printed, Error> {
    opencl::print(design, command).map_err(|e| Error::NoSuchKernel { what: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_baked_in_the_layout_of_the_device() {
        let key = Key::new(&[7; 32]).unwrap();
        for (strategy, layout, expected) in [
            (BakedStrategy::OneHotMux, Layout::Column, Layout::Column),
            (BakedStrategy::OneHotMux, Layout::State, Layout::State),
            (BakedStrategy::Immediate, Layout::Column, Layout::State),
            (BakedStrategy::Immediate, Layout::State, Layout::State),
        ] {
            let spec = laid_out(sources::baked(&key, Mode::Ctr, strategy, "lut3").unwrap(), layout);
            assert_eq!(spec.layout, expected, "{strategy:?} {layout}");
            assert!(print(&spec.into(), "a test").is_ok());
        }
    }
}
