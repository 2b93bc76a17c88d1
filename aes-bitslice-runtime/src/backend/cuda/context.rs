//! A device's context, in which everything else of the device is created; the results of its driver calls; and whether an error has left it
//! unusable.

use crate::backend::cuda::driver::{self, DeviceInfo};
use crate::base::error::Error;
use cudarc::driver::sys::{CUevent, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaContext, DriverError, result};
use std::sync::{Arc, OnceLock};

/// The primary context of a device. Everything created in it keeps it, to be freed in it.
pub(crate) struct Context {
    context: Arc<CudaContext>,
    /// The first error after which the context cannot be used, or must not be.
    poison: OnceLock<String>,
}

impl Context {
    /// The context of a usable device.
    pub(crate) fn open(device: &DeviceInfo) -> Result<Self, Error> {
        let closed = |e| {
            let what = format!("{} does not open ({})", device.name, driver::name(e));
            driver::unavailable(what, "see whether another process holds it (`nvidia-smi`)")
        };
        let context = CudaContext::new(device.ordinal).map_err(closed)?;
        Ok(Self { context, poison: OnceLock::new() })
    }

    /// The context in the form that callers have, to which buffers and streams must belong.
    pub(crate) fn shared(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Refuses if an earlier error left the context unusable, else makes it this thread's.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        match self.poison.get() {
            Some(cause) => Err(Error::Poisoned { cause: cause.clone() }),
            None => self.call("cuCtxSetCurrent", self.make_current()),
        }
    }

    /// Makes the context this thread's, usable or not: for freeing. (`CudaContext::bind_to_thread` would first report, and forget, errors
    /// of others.)
    pub(crate) fn make_current(&self) -> Result<(), DriverError> {
        // SAFETY: the context is retained as long as this value lives.
        unsafe { result::ctx::set_current(self.context.cu_ctx()) }
    }

    /// The result of a driver call, with its error as this crate's; remembers an error that is fatal to the context.
    pub(crate) fn call<T>(&self, call: &str, result: Result<T, DriverError>) -> Result<T, Error> {
        result.map_err(|e| {
            if driver::is_sticky(e) {
                self.poison(format!("{call}: {}", driver::name(e)));
            }
            driver::error(call, e)
        })
    }

    /// Whether [`enter`](Self::enter) refuses.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Makes [`enter`](Self::enter) refuse from now on. It reports the first cause.
    pub(crate) fn poison(&self, cause: String) {
        let _ = self.poison.set(cause);
    }

    /// Records an event, for the host to wait for what is on a stream so far. If that fails, waits for the stream here: the event then need
    /// not be waited for, and waiting for it returns at once.
    ///
    /// # Safety
    /// Both are live and belong to this context, which was entered on this thread.
    pub(crate) unsafe fn record(&self, event: CUevent, stream: CUstream) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        let recorded = self.call("cuEventRecord", unsafe { result::event::record(event, stream) });
        // SAFETY: as the caller guarantees.
        recorded.or_else(|error| unsafe { self.wait_instead(stream, error) })
    }

    /// Waits for a stream, because of an error that left no other way. Returns the error if that fails, too.
    ///
    /// # Safety
    /// The stream is live and belongs to this context, which was entered on this thread.
    pub(crate) unsafe fn wait_instead(&self, stream: CUstream, error: Error) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        let waited = unsafe { result::stream::synchronize(stream) };
        self.call("cuStreamSynchronize", waited).map_err(|_| error)
    }

    /// Makes later work on one stream wait for what is on another.
    ///
    /// # Safety
    /// Both streams and the event are live and belong to this context.
    pub(crate) unsafe fn order(&self, before: CUstream, event: CUevent, after: CUstream) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe {
            self.call("cuEventRecord", result::event::record(event, before))?;
            let waits = result::stream::wait_event(after, event, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT);
            self.call("cuStreamWaitEvent", waits)
        }
    }
}
