//! Device memory that is cleared before it is freed, and the streams it is used on.
//!
//! Up to four buffers of at most 64 MiB are kept from call to call, cleared, until the engine is dropped.

use super::Device;
use super::device::make_current;
use crate::Error;
use cudarc::driver::sys::{CUdeviceptr, CUresult, CUstream};
use cudarc::driver::{CudaContext, result};
use std::sync::{Arc, PoisonError};

/// A stream of ours with a buffer of device memory, for one call at a time.
pub(super) struct Workspace {
    context: Arc<CudaContext>,
    stream: CUstream,
    buffer: CUdeviceptr,
    len: usize,
}

// SAFETY: stream and buffer are handles, which any thread may use that has made the context its own.
unsafe impl Send for Workspace {}

/// How many workspaces are kept between calls.
const KEPT: usize = 4;

/// No buffer is made smaller than this for want of memory.
const SMALLEST: usize = 1 << 20;

impl Workspace {
    /// A workspace with a buffer of `wanted` bytes or, where the device has too little memory, fewer: half as many, or
    /// a quarter, but no less than one MiB.
    pub(super) fn take(device: &Device, wanted: usize) -> Result<Self, Error> {
        let too_small = {
            let mut kept = device.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(i) = kept.iter().position(|w| w.len >= wanted) {
                return Ok(kept.swap_remove(i));
            }
            kept.pop()
        };
        // One that is larger takes its place.
        drop(too_small);
        let mut len = wanted;
        let buffer = loop {
            // SAFETY: the context is current on this thread, as the caller has entered the device.
            match unsafe { result::malloc_sync(len) } {
                Ok(buffer) => break buffer,
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY && len > SMALLEST => len = (len / 2).max(SMALLEST),
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") });
                }
                Err(e) => return device.call("cuMemAlloc", Err(e)),
            }
        };
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = device.call("cuStreamCreate", stream).inspect_err(|_| {
            // SAFETY: allocated above, and nothing uses it. The stream's error is the one to report.
            let _ = unsafe { result::free_sync(buffer) };
        })?;
        Ok(Self { context: device.context().clone(), stream, buffer, len })
    }

    pub(super) fn stream(&self) -> CUstream {
        self.stream
    }

    pub(super) fn buffer(&self) -> CUdeviceptr {
        self.buffer
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Copies to the buffer, from byte `at` on; done when the stream has come to it.
    pub(super) fn copy_in(&self, device: &Device, at: usize, data: &[u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len);
        // SAFETY: the range lies in the buffer, as asserted. Pinned memory may be read after the return: whoever calls
        // waits before `data` is given up, in `copy_out` or, after an error, on drop.
        let copied = unsafe { result::memcpy_htod_async(self.buffer + at as u64, data, self.stream) };
        device.call("cuMemcpyHtoDAsync", copied)
    }

    /// Copies from the buffer, from byte `at` on, and waits for it.
    pub(super) fn copy_out(&self, device: &Device, at: usize, data: &mut [u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len);
        // SAFETY: the range lies in the buffer, as asserted; `data` outlives the copy, which is waited for.
        let copied = unsafe { result::memcpy_dtoh_async(data, self.buffer + at as u64, self.stream) };
        let waited = self.wait(device);
        device.call("cuMemcpyDtoHAsync", copied).and(waited)
    }

    /// Waits for everything on the stream.
    pub(super) fn wait(&self, device: &Device) -> Result<(), Error> {
        // SAFETY: the stream is ours and alive.
        device.call("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }

    /// Clears the first `used` bytes of the buffer and keeps the workspace for the next call.
    pub(super) fn give_back(self, device: &Device, used: usize) -> Result<(), Error> {
        // SAFETY: the range lies in the buffer.
        let cleared = unsafe { result::memset_d8_async(self.buffer, 0, used.min(self.len), self.stream) };
        device.call("cuMemsetD8Async", cleared)?;
        self.wait(device)?;
        let mut kept = device.workspaces.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(self);
        }
        Ok(())
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Nothing can be done here about an error; on a context that is lost, the memory is lost with it.
        let _ = make_current(&self.context);
        // SAFETY: both are ours, alive, and not used after this; clearing comes before freeing on the same stream.
        unsafe {
            let _ = result::memset_d8_async(self.buffer, 0, self.len, self.stream);
            let _ = result::stream::synchronize(self.stream);
            let _ = result::free_sync(self.buffer);
            let _ = result::stream::destroy(self.stream);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_buffer_comes_back_cleared() {
        let device = match Device::open(0) {
            Ok(device) => device,
            Err(e) => {
                // Past the harness, which would keep it to itself.
                let _ = writeln!(std::io::stderr(), "NO GPU OPENED: that buffers are cleared was not tested ({e})");
                return;
            }
        };
        device.enter().unwrap();
        let workspace = Workspace::take(&device, 4096).unwrap();
        workspace.copy_in(&device, 0, &[0xa5; 4096]).unwrap();
        let pointer = workspace.buffer();
        workspace.give_back(&device, 4096).unwrap();
        let workspace = Workspace::take(&device, 4096).unwrap();
        assert_eq!(workspace.buffer(), pointer, "the buffer that was kept");
        let mut found = [1; 4096];
        workspace.copy_out(&device, 0, &mut found).unwrap();
        assert_eq!(found, [0; 4096]);
    }
}
