//! Device memory that is allocated and freed on a stream, in the order of the work there, also in a graph.

use crate::backend::cuda::context::Context;
use crate::backend::device::driver::Driver;
use crate::base::error::Error;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

/// Memory for work on one stream. It is freed on drop, after what was put on the stream before.
pub(crate) struct StreamMemory {
    context: Arc<Context>,
    stream: CUstream,
    memory: CUdeviceptr,
}

impl StreamMemory {
    /// Memory of `bytes` bytes, at least one, of any content.
    ///
    /// # Safety
    /// The stream is live, until this is dropped, and belongs to the context, which was entered on this thread.
    pub(crate) unsafe fn new(context: &Arc<Context>, stream: CUstream, bytes: usize) -> Result<Self, Error> {
        // SAFETY: the stream is live, as the caller guarantees.
        let memory = unsafe { result::malloc_async(stream, bytes) };
        let memory = context.call("cuMemAllocAsync", memory)?;
        Ok(Self { context: context.clone(), stream, memory })
    }

    /// Does work with new memory, from its start on, then clears what is `secret` of it, also if the work fails, and frees it. What cannot be
    /// cleared does not go back to the pool of the stream, where another call would find it.
    ///
    /// # Safety
    /// As [`new`](Self::new); all the work is on the stream, and what is secret within the memory.
    pub(crate) unsafe fn run(
        context: &Arc<Context>,
        stream: CUstream,
        bytes: usize,
        secret: Range<usize>,
        work: impl FnOnce(CUdeviceptr) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        let memory = unsafe { Self::new(context, stream, bytes) }?;
        let worked = work(memory.pointer());
        // SAFETY: the range is within the memory, which is freed on the stream, after this.
        let clear = || unsafe { context.clear(&mut { stream }, memory.pointer() + secret.start as u64, secret.len()) };
        // What the driver lacked may be there again.
        let cleared = clear().or_else(|_| clear());
        if cleared.is_err() {
            mem::forget(memory);
        }
        worked.and(cleared)
    }

    /// The start of the memory.
    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.memory
    }
}

impl Drop for StreamMemory {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.context.make_current();
        // SAFETY: allocated on this stream, and used on it only, before this.
        let _ = unsafe { result::free_async(self.memory, self.stream) };
    }
}
