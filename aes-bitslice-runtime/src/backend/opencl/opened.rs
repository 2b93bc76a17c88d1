//! An open OpenCL device, as an engine holds it.

use crate::backend::device::one_kernel;
use crate::backend::opencl::device::Device;
use crate::backend::opencl::device_key::DeviceKey;
use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::exec::backend::{Opened, Settings};
use crate::exec::processor;
use crate::op::kernels::KernelsNeeded;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::{Manifest, Printed};
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// The number of submitted calls that run at the same time.
const SUBMITTED_AT_ONCE: usize = 4;

impl Opened for Arc<Device> {
    type Key = DeviceKey;

    fn backend(&self) -> Backend {
        self.context.info().backend()
    }

    fn description(&self) -> String {
        let info = self.context.info();
        format!("{} (OpenCL {}.{}, {})", info.name, info.platform, info.device, info.driver)
    }

    fn supports(&self, kernels: KernelsNeeded) -> bool {
        let has = |mode| self.has(mode);
        kernels.exist() && !kernels.counters_are_secret && kernels.mode.is_none_or(has)
    }

    fn is_preferred(&self, _mode: Mode, _key_bits: KeyBits, bytes: u64) -> bool {
        processor::gpu_is_faster_from().is_some_and(|from| bytes >= from)
    }

    fn calls_at_once(&self) -> usize {
        SUBMITTED_AT_ONCE
    }

    fn key(&self, key: &Key, settings: Settings) -> Result<DeviceKey, Error> {
        DeviceKey::with_stored(self, key, settings)
    }

    fn compiles(&self) -> Option<(Dialect, Layout)> {
        Some((Dialect::OpenCl, self.context.layout()))
    }

    fn kernel(&self, printed: &Printed, key: Option<&Key>, settings: Settings) -> Result<DeviceKey, Error> {
        let compile = |manifest: &Manifest, source: &str| self.compile(manifest, source);
        let (kernel, keys) = one_kernel::compiled(&self.slots, printed, key, compile)?;
        Ok(DeviceKey::with_kernel(self, kernel, keys, settings.transfers))
    }
}
