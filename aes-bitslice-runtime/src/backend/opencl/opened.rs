//! An open OpenCL device, as an engine holds it.

use crate::backend::device::one_kernel;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::device::Device;
use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::platforms::Wanted;
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

/// An open device. Cloning is cheap, and clones share the device.
#[derive(Clone)]
pub(crate) struct OpenClDevice(Arc<Device>);

impl OpenClDevice {
    pub(crate) fn open(wanted: Wanted) -> Result<Self, Error> {
        Device::open(wanted).map(Self)
    }

    /// The context that buffers and queues must belong to.
    pub(crate) fn context(&self) -> &Arc<Context> {
        self.0.context()
    }
}

impl Opened for OpenClDevice {
    type Key = DeviceKey;

    fn backend(&self) -> Backend {
        self.context().info().backend()
    }

    fn description(&self) -> String {
        let info = self.context().info();
        format!("{} (OpenCL {}.{}, {})", info.name, info.platform, info.device, info.driver)
    }

    fn supports(&self, kernels: KernelsNeeded) -> bool {
        let supports = |mode| self.0.supports(mode);
        kernels.exist() && !kernels.counters_are_secret && kernels.mode.is_none_or(supports)
    }

    fn is_preferred(&self, _mode: Mode, _key_bits: KeyBits, bytes: u64) -> bool {
        processor::gpu_is_faster_from().is_some_and(|from| bytes >= from)
    }

    fn calls_at_once(&self) -> usize {
        SUBMITTED_AT_ONCE
    }

    fn key(&self, key: &Key, settings: Settings) -> Result<DeviceKey, Error> {
        DeviceKey::with_stored(&self.0, key, settings)
    }

    fn compiles(&self) -> Option<(Dialect, Layout)> {
        Some((Dialect::OpenCl, self.context().layout()))
    }

    fn kernel(&self, printed: &Printed, key: Option<&Key>, settings: Settings) -> Result<DeviceKey, Error> {
        let compile = |manifest: &Manifest, source: &str| self.0.compile(manifest, source);
        let (kernel, keys) = one_kernel::compiled(self.0.slots(), printed, key, compile)?;
        Ok(DeviceKey::with_kernel(&self.0, kernel, keys, settings.transfers))
    }
}
