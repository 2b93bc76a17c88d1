//! Objects of the driver that the engine makes, each released when its owner is dropped, also on a context that is lost.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUevent_flags, CUresult, CUstream, CUstreamCaptureMode};
use cudarc::driver::{DriverError, result};
use std::sync::Arc;

/// A stream, which does not wait for the default stream. The driver lets the work on it finish, without a wait, when it is dropped.
pub(crate) struct Stream {
    context: Arc<Context>,
    pub(crate) raw: CUstream,
}

/// An event without a time.
pub(crate) struct Event {
    context: Arc<Context>,
    pub(crate) raw: CUevent,
}

/// Device memory. Nothing clears it when it is freed.
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(crate) pointer: CUdeviceptr,
}

// SAFETY: a handle, which any thread that has made the context current may use.
unsafe impl Send for Stream {}
// SAFETY: a handle, which any thread that has made the context current may use.
unsafe impl Send for Event {}

impl Stream {
    /// In a context that was entered on this thread.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let raw = result::stream::create(result::stream::StreamKind::NonBlocking);
        Ok(Self { raw: context.call("cuStreamCreate", raw)?, context: context.clone() })
    }

    /// Sets device memory to zero, and waits.
    ///
    /// # Safety
    /// There are `len` bytes, which nothing else uses.
    pub(crate) unsafe fn clear(&self, at: CUdeviceptr, len: usize) -> Result<(), Error> {
        // SAFETY: as the caller guarantees; the stream is live.
        let cleared = unsafe {
            result::memset_d8_async(at, 0, len, self.raw).and_then(|()| result::stream::synchronize(self.raw))
        };
        self.context.call("cuMemsetD8Async", cleared)
    }
}

impl Event {
    /// In a context that was entered on this thread.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let raw = result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Self { raw: context.call("cuEventCreate", raw)?, context: context.clone() })
    }

    /// Waits until the stream on which it was recorded last has reached it.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        // SAFETY: the event is live.
        self.context.call("cuEventSynchronize", unsafe { result::event::synchronize(self.raw) })
    }

    /// Whether that stream has reached it.
    pub(crate) fn is_done(&self) -> Result<bool, Error> {
        // Querying an event would invalidate a graph that is captured meanwhile, from another stream or by another thread, except in a
        // thread that declares that it has nothing to do with such captures.
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is to a live value, which receives the previous mode; the event is live.
        let asked = unsafe {
            let exchanged = sys::cuThreadExchangeStreamCaptureMode(&mut mode);
            self.context.call("cuThreadExchangeStreamCaptureMode", exchanged.result())?;
            let asked = sys::cuEventQuery(self.raw);
            let _ = sys::cuThreadExchangeStreamCaptureMode(&mut mode);
            asked
        };
        match asked {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            asked => self.context.call("cuEventQuery", asked.result()).map(|()| true),
        }
    }
}

impl Memory {
    /// `len` bytes, at least one, of any content, in a context that was entered on this thread.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        // SAFETY: the context is current on this thread, as the caller has entered it.
        match unsafe { result::malloc_sync(len) } {
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") })
            }
            allocated => Ok(Self { pointer: context.call("cuMemAlloc", allocated)?, context: context.clone() }),
        }
    }

    /// `len` bytes, at least one, all zero, in a context that was entered on this thread.
    pub(crate) fn zeroed(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        let memory = Self::new(context, len)?;
        // SAFETY: the length is the allocated length, and nobody uses the memory yet.
        unsafe { Stream::new(context)?.clear(memory.pointer, len) }.map(|()| memory)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.context.make_current();
        // SAFETY: created here, and not used after this.
        let _ = unsafe { result::stream::destroy(self.raw) };
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.context.make_current();
        // SAFETY: created here, and not used after this.
        let _ = unsafe { result::event::destroy(self.raw) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error cannot be handled here; on a context that is lost, the memory is lost with it.
        let _ = self.context.make_current();
        // SAFETY: allocated here, and not used after this.
        let _ = unsafe { result::free_sync(self.pointer) };
    }
}
