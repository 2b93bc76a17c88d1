//! Device memory for callers without OpenCL buffers.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, call};
use crate::backend::opencl::memory::in_flight::InFlight;
use crate::backend::opencl::memory::slice::BufferSlice;
use crate::base::error::Error;
use opencl3::types::cl_mem;
use std::sync::Arc;

/// Device memory that belongs to an engine ([`Engine::opencl_memory`](crate::Engine::opencl_memory)). It is zero at first, and set to zero
/// again when dropped.
///
/// Copies, [`clear`](Self::clear) and drop wait for every earlier call that was given a [slice](Self::slice) of it, in any queue: after a
/// call, [`copy_to_host`](Self::copy_to_host) sees its output. If such a call failed on the device, the first of these operations that
/// waits for it returns its error, and copies nothing. A queue held up by an event that is never set holds them up too.
pub struct DeviceMemory {
    context: Arc<Context>,
    buffer: Buffer,
    len: usize,
    /// Calls that may still use it.
    calls: InFlight,
}

impl DeviceMemory {
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        // OpenCL has no buffers of zero bytes.
        let buffer = context.zeroed(context.queue(), len.max(1))?;
        Ok(Self::of_buffer(context, buffer, len))
    }

    /// A buffer of at least `len` bytes.
    pub(crate) fn of_buffer(context: &Arc<Context>, buffer: Buffer, len: usize) -> Self {
        Self { context: context.clone(), buffer, len, calls: InFlight::default() }
    }

    /// Its buffer.
    pub(crate) fn raw(&self) -> cl_mem {
        self.buffer.raw()
    }

    /// Records a launch that uses it.
    pub(crate) fn is_used_by(&self, launch: &Event) {
        self.calls.add(launch);
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from byte `at` on, for calls of [`BufferCipher`](crate::opencl::BufferCipher).
    pub fn slice(&self, at: usize, len: usize) -> BufferSlice<'_> {
        BufferSlice::of_engine(&self.buffer, &self.calls, at, len)
    }

    /// Copies `host` to byte `at` of this memory and on, after all calls that use this memory, and waits.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] beyond the end, and any error the driver reports, also for those calls.
    pub fn copy_from_host(&mut self, at: usize, host: &[u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        self.calls.wait()?;
        call("clEnqueueWriteBuffer", self.context.queue().write(&self.buffer, at, host))
    }

    /// Copies from byte `at` of this memory on to `host`, after all calls that use this memory, and waits.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] beyond the end, and any error the driver reports, also for those calls.
    pub fn copy_to_host(&self, at: usize, host: &mut [u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        self.calls.wait()?;
        call("clEnqueueReadBuffer", self.context.queue().read(&self.buffer, at, host))
    }

    /// Sets all bytes to zero, after all calls that use this memory, and waits.
    ///
    /// # Errors
    /// Any error the driver reports, also for those calls; even then the memory was cleared, if possible.
    pub fn clear(&mut self) -> Result<(), Error> {
        let waited = self.calls.wait();
        let cleared = call("clEnqueueFillBuffer", self.context.queue().clear(&self.buffer, self.len.max(1)));
        cleared.and_then(|cleared| Event::wait([&cleared])).and(waited)
    }

    fn check(&self, at: usize, bytes: usize) -> Result<(), Error> {
        if at.checked_add(bytes).is_some_and(|end| end <= self.len) {
            Ok(())
        } else {
            Err(Error::OutOfRange { at, bytes, len: self.len })
        }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::platforms::Wanted;

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn more_memory_than_there_is_is_refused_by_its_size() {
        let context = Context::open(Wanted::First).unwrap();
        let Err(Error::OutOfDeviceMemory { what }) = DeviceMemory::new(&context, 1 << 46) else { panic!("64 TiB") };
        assert_eq!(what, format!("a buffer of {} bytes", 1u64 << 46));
        assert!(DeviceMemory::new(&context, 0).unwrap().is_empty());
    }
}
