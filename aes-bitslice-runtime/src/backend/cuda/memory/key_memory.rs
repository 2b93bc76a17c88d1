//! Key material in device memory, for kernels that read it there: round keys, and tables of a hash key.

use crate::backend::cuda::context::Context;
use crate::backend::device::round_keys::KeyMaterial;
use crate::base::error::Error;
use cudarc::driver::result;
use cudarc::driver::sys::CUdeviceptr;
use std::ptr;
use std::sync::Arc;

/// Key material in device memory: cleared and freed on drop, once everything on the device is done.
pub(crate) struct KeyMemory {
    context: Arc<Context>,
    buffer: CUdeviceptr,
    len: usize,
}

impl KeyMemory {
    /// A copy of the words on the device, whose context was entered on this thread.
    pub(crate) fn new(context: &Arc<Context>, words: &[u32]) -> Result<Self, Error> {
        let len = size_of_val(words);
        // SAFETY: the context is current on this thread, as the caller has entered it.
        let buffer = context.call("cuMemAlloc", unsafe { result::malloc_sync(len) })?;
        let memory = Self { context: context.clone(), buffer, len };
        // SAFETY: the buffer is as long as the words.
        context.call("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(buffer, words) })?;
        // SAFETY: every context has the default stream, which the copy is on, and which other streams do not wait for.
        context.call("cuStreamSynchronize", unsafe { result::stream::synchronize(ptr::null_mut()) })?;
        Ok(memory)
    }
}

impl KeyMaterial for KeyMemory {
    type Place = CUdeviceptr;

    fn place(&self) -> CUdeviceptr {
        self.buffer
    }
}

impl Drop for KeyMemory {
    fn drop(&mut self) {
        // Launches may be in flight on streams of callers, so wait. If waiting fails, they may still read the keys, and
        // a context that is lost has lost the memory too.
        if self.context.make_current().and_then(|()| result::ctx::synchronize()).is_ok() {
            // An error cannot be handled here.
            // SAFETY: allocated here, not used after this; clearing comes before freeing on the default stream.
            unsafe {
                let _ = result::memset_d8_sync(self.buffer, 0, self.len);
                let _ = result::stream::synchronize(ptr::null_mut());
                let _ = result::free_sync(self.buffer);
            }
        }
    }
}
