//! Calls that only an OpenCL engine supports: its context, memory and queues in it, and calls on buffers.

use crate::api::cipher::{Cipher, KeyOn};
use crate::api::engine::{Engine, Kind};
use crate::backend::opencl::buffers::BufferCipher;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::memory::device_memory::DeviceMemory;
use crate::backend::opencl::memory::timed_queue::TimedQueue;
use crate::base::error::Error;
use opencl3::{context, device};
use std::sync::Arc;

impl Engine {
    /// The OpenCL context to which queues and buffers for [`Cipher::opencl`] belong. It is the engine's own, and contains only its device.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines.
    pub fn opencl_context(&self) -> Result<&context::Context, Error> {
        Ok(self.opencl("an OpenCL context")?.shared())
    }

    /// Allocates `len` bytes of zeroed device memory for [`Cipher::opencl`].
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines, [`Error::OutOfDeviceMemory`], and errors from the driver.
    pub fn opencl_memory(&self, len: usize) -> Result<DeviceMemory, Error> {
        DeviceMemory::new(self.opencl("OpenCL memory")?, len)
    }

    /// Creates a queue for [`Cipher::opencl`], whose commands the device times.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines, and errors from the driver.
    pub fn opencl_queue(&self) -> Result<TimedQueue, Error> {
        TimedQueue::new(self.opencl("an OpenCL queue")?)
    }

    /// The OpenCL device.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] on other engines.
    pub fn opencl_device(&self) -> Result<device::Device, Error> {
        Ok(device::Device::new(self.opencl("an OpenCL device")?.device()))
    }

    /// The device's context, for calls that only an OpenCL engine supports.
    fn opencl(&self, what: &'static str) -> Result<&Arc<Context>, Error> {
        match self.kind() {
            Kind::OpenCl(device) => Ok(&device.context),
            _ => Err(Error::NotOpenCl { what, backend: self.backend().to_string() }),
        }
    }
}

impl Cipher {
    /// Calls on OpenCL buffers.
    ///
    /// # Errors
    /// [`Error::NotOpenCl`] if the engine has no OpenCL device, [`Error::NeedsKey`] on a cipher without a key.
    pub fn opencl(&self) -> Result<BufferCipher<'_>, Error> {
        let what = "a call on OpenCL buffers";
        self.engine().opencl(what)?;
        match self.key() {
            KeyOn::OpenCl(key) => Ok(BufferCipher::new(key, self.cpu().map(|cpu| &**cpu))),
            _ => Err(Error::NeedsKey { what }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::device::Device;
    use crate::backend::opencl::platforms::Wanted;
    use crate::base::backend::Backend;
    use crate::base::key::Key;
    use crate::exec::choice::Kernels;

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn table_kernels_are_refused_only_where_opencl_was_asked_for() {
        let device = Device::open(Wanted::First).unwrap();
        let key = Key::new(&[1; 16]).unwrap();
        for kernels in Kernels::ALL {
            let cipher = |why: Option<&str>| {
                let engine = Engine::new(Kind::OpenCl(device.clone()), why.map(Into::into)).unwrap();
                engine.with_kernels(kernels).cipher(&key)
            };
            assert!(cipher(Some("auto")).is_ok(), "{kernels}");
            let refused = matches!(cipher(None), Err(Error::NoSuchKernel { .. }));
            assert_eq!(refused, matches!(kernels, Kernels::Tbox | Kernels::CoResident), "{kernels}");
        }
    }

    #[test]
    fn what_only_opencl_answers_is_refused_elsewhere() {
        for backend in [Backend::Cpu, Backend::CpuBitsliced] {
            let engine = Engine::open(backend).unwrap();
            assert!(matches!(engine.opencl_context(), Err(Error::NotOpenCl { .. })));
            let cipher = engine.cipher(&Key::new(&[1; 16]).unwrap()).unwrap();
            assert!(matches!(cipher.opencl(), Err(Error::NotOpenCl { .. })));
        }
    }
}
