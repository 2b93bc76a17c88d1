//! What a call on device memory returns besides what it writes: it is there when the stream has come to it.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use crate::op::operation::Operation;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUevent, CUevent_flags, CUstream};
use std::sync::Arc;

/// Bytes of a hash.
const HASH: usize = 16;

/// What a call on device memory returns, such as a tag, when the caller's stream has come to it.
///
/// Dropping it waits for that point of the stream.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation> {
    operation: O,
    len: u64,
    memory: HashMemory,
}

impl<O: Operation> Pending<O> {
    pub(crate) fn new(operation: O, len: u64, memory: HashMemory) -> Self {
        Self { operation, len, memory }
    }

    /// Waits until the stream has come to it, and returns the value.
    ///
    /// # Errors
    /// What the operation returns as an error, and what the driver reports.
    pub fn wait(self) -> Result<O::Output, Error> {
        let parts = match self.len {
            0 => vec![],
            len => vec![self.operation.part(len, &self.memory.read()?)],
        };
        self.operation.finish(parts)
    }
}

/// 16 bytes of device memory for a hash, and the point of a stream from which on they are it.
pub(crate) struct HashMemory {
    context: Arc<Context>,
    pointer: CUdeviceptr,
    event: CUevent,
}

// SAFETY: handles, which any thread may use that has made the context its own.
unsafe impl Send for HashMemory {}

impl HashMemory {
    /// Zeros, on a stream.
    ///
    /// # Safety
    /// The stream is live and of the context, which was entered on this thread.
    pub(crate) unsafe fn new(context: &Arc<Context>, stream: CUstream) -> Result<Self, Error> {
        let event = result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let event = context.call("cuEventCreate", event)?;
        let mut memory = Self { context: context.clone(), pointer: 0, event };
        // SAFETY: the caller vouches for the stream.
        memory.pointer = context.call("cuMemAllocAsync", unsafe { result::malloc_async(stream, HASH) })?;
        // SAFETY: as long as was allocated.
        let cleared = unsafe { result::memset_d8_async(memory.pointer, 0, HASH, stream) };
        context.call("cuMemsetD8Async", cleared)?;
        // SAFETY: as above. For a failure before the launch, which nobody would wait for else.
        unsafe { memory.is_at(stream) }?;
        Ok(memory)
    }

    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.pointer
    }

    /// The hash is there when the stream has come to this point.
    ///
    /// # Safety
    /// The stream is live and of the context.
    pub(crate) unsafe fn is_at(&self, stream: CUstream) -> Result<(), Error> {
        // SAFETY: the caller vouches for the stream.
        let recorded = unsafe { result::event::record(self.event, stream) };
        self.context.call("cuEventRecord", recorded)
    }

    /// Waits for the hash.
    fn read(&self) -> Result<[u8; HASH], Error> {
        self.context.enter()?;
        // SAFETY: the event is live.
        self.context.call("cuEventSynchronize", unsafe { result::event::synchronize(self.event) })?;
        let mut hash = [0; HASH];
        // SAFETY: as long as was allocated.
        let copied = unsafe { result::memcpy_dtoh_sync(&mut hash, self.pointer) };
        self.context.call("cuMemcpyDtoH", copied)?;
        Ok(hash)
    }
}

impl Drop for HashMemory {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        // Nothing can be done here about an error; on a context that is lost, the memory is lost with it.
        // SAFETY: made here, alive, and not used after this; nothing writes to the memory after the event.
        unsafe {
            let _ = result::event::synchronize(self.event);
            if self.pointer != 0 {
                let _ = result::free_sync(self.pointer);
            }
            let _ = result::event::destroy(self.event);
        }
    }
}
