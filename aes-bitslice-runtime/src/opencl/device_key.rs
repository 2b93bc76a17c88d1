//! A key on a device: its kernels, and the round keys to launch them with.

use super::Device;
use super::handles::Event;
use super::kernel::{Kernel, Span};
use super::round_keys::RoundKeys;
use crate::cuda::{Choice, Kernels, Transfers};
use crate::work::Work;
use crate::{Error, Key};
use aes_bitslice_gen::kernel::Mode;
use opencl3::types::cl_command_queue;
use std::sync::Arc;

/// A key on a device.
pub(crate) struct DeviceKey {
    device: Arc<Device>,
    code: Code,
    transfers: Transfers,
}

enum Code {
    /// The stored kernels; each is launched with its round keys.
    Stored(Vec<(Mode, Option<RoundKeys>)>),
    /// One kernel, which is the key or is launched with it.
    One(Arc<Kernel>, Option<RoundKeys>),
}

impl DeviceKey {
    /// A key for the stored kernels, which are all bitsliced.
    pub(crate) fn with_stored(
        device: &Arc<Device>,
        key: &Key,
        kernels: Kernels,
        transfers: Transfers,
    ) -> Result<Self, Error> {
        if !kernels.allow(Choice::BITSLICED) {
            let what = format!("`{kernels}` is not there for OpenCL, which has bitsliced kernels only: use `auto`");
            return Err(Error::NoSuchKernel { what });
        }
        let keys = Mode::ALL.into_iter().map(|mode| Ok((mode, device.round_keys(mode, key)?)));
        let code = Code::Stored(keys.collect::<Result<_, Error>>()?);
        Ok(Self { device: device.clone(), code, transfers })
    }

    /// A key for one kernel: baked in, or to be launched with it.
    pub(super) fn with_kernel(
        device: &Arc<Device>,
        kernel: Kernel,
        keys: Option<RoundKeys>,
        transfers: Transfers,
    ) -> Self {
        Self { device: device.clone(), code: Code::One(Arc::new(kernel), keys), transfers }
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    /// How data in host memory goes to the device.
    pub(super) fn transfers(&self) -> Transfers {
        self.transfers
    }

    /// Compiles and tests the kernel for a mode, unless that was done before.
    pub(super) fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.kernel(mode).map(|_| ())
    }

    /// The kernel for a mode, and the round keys to launch it with.
    fn kernel(&self, mode: Mode) -> Result<(Arc<Kernel>, Option<&RoundKeys>), Error> {
        match &self.code {
            Code::Stored(keys) => {
                let keys = keys.iter().find(|(of, _)| *of == mode).and_then(|(_, keys)| keys.as_ref());
                Ok((self.device.stored(mode)?, keys))
            }
            Code::One(kernel, keys) if kernel.mode() == mode => Ok((kernel.clone(), keys.as_ref())),
            Code::One(kernel, _) => {
                Err(Error::NotInKernel { wanted: mode.to_string(), has: kernel.mode().to_string() })
            }
        }
    }

    /// Puts the work into a queue, without waiting; what tells when its commands are done is added to `events`.
    ///
    /// # Safety
    /// The span lies in buffers of the device's context, and the queue is of it too; all are valid.
    pub(super) unsafe fn launch(
        &self,
        queue: cl_command_queue,
        span: Span,
        work: Work,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let (kernel, keys) = self.kernel(work.mode())?;
        // SAFETY: as the caller vouches.
        unsafe { kernel.run(&self.device, queue, span, work, keys, events) }
    }
}
