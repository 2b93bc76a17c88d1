//! Device memory for one launch, freed on its stream after it.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::Arc;

/// Memory of the device. On drop it is freed on the stream, after the work that is there; secrets are overwritten first.
pub(crate) struct OnStream {
    context: Arc<Context>,
    stream: CUstream,
    memory: CUdeviceptr,
    /// Bytes from the start that are secret.
    secret: usize,
}

impl OnStream {
    /// Memory of `len` bytes, for later work on the stream.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread. Nothing uses the memory except work that is on the
    /// stream when this value is dropped.
    pub(crate) unsafe fn new(context: &Arc<Context>, stream: CUstream, len: usize) -> Result<Self, Error> {
        // SAFETY: the stream is live, as the caller guarantees.
        let memory = context.call("cuMemAllocAsync", unsafe { result::malloc_async(stream, len) })?;
        Ok(Self { context: context.clone(), stream, memory, secret: 0 })
    }

    /// Memory with a copy of these secrets, followed by `zeros` zeros, for work on the stream. Waits for the copy, but not for work that is
    /// on the stream.
    ///
    /// # Safety
    /// As [`new`](Self::new).
    pub(crate) unsafe fn of_secrets(
        context: &Arc<Context>,
        stream: CUstream,
        secrets: &[u8],
        zeros: usize,
    ) -> Result<Self, Error> {
        let copies = Copies::new(context)?;
        // SAFETY: the stream is live, and everything on it is waited for; the lengths are the allocated length.
        unsafe {
            let mut memory = Self::new(context, copies.0, secrets.len() + zeros)?;
            memory.secret = secrets.len() + zeros;
            let cleared = result::memset_d8_async(memory.memory, 0, memory.secret, copies.0);
            context.call("cuMemsetD8Async", cleared)?;
            let copied = result::memcpy_htod_async(memory.memory, secrets, copies.0);
            context.call("cuMemcpyHtoDAsync", copied)?;
            context.call("cuStreamSynchronize", result::stream::synchronize(copies.0))?;
            memory.stream = stream;
            Ok(memory)
        }
    }

    /// The start of the memory.
    pub(crate) fn pointer(&self) -> CUdeviceptr {
        self.memory
    }
}

impl Drop for OnStream {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.context.make_current();
        // SAFETY: allocated on this stream, or before work on it, and used on it only, before this.
        unsafe {
            if self.secret > 0 {
                let _ = result::memset_d8_async(self.memory, 0, self.secret, self.stream);
            }
            let _ = result::free_async(self.memory, self.stream);
        }
    }
}

/// A stream of its own, which does not wait for others.
struct Copies(CUstream);

impl Copies {
    fn new(context: &Context) -> Result<Self, Error> {
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        context.call("cuStreamCreate", stream).map(Self)
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // An error cannot be handled here. What is still on the stream is completed first.
        // SAFETY: created here, not used after this.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}
