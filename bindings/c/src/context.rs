//! A thread's current CUDA context, which the engine changes although callers do not expect it to: a caller's `cudaSetDevice` still holds
//! after a call.

use aes_bitslice_runtime::cuda::cudarc::driver::result::ctx;
use aes_bitslice_runtime::cuda::cudarc::driver::sys::{CUcontext, cuCtxSetCurrent, is_culib_present};
use std::ptr;

/// Does `work`, which may change the context if `is_cuda`, and restores this thread's context.
pub(crate) fn kept<T>(is_cuda: bool, work: impl FnOnce() -> T) -> T {
    // SAFETY: only looks whether the library opens; without it, calls to it would panic.
    let _kept = (is_cuda && unsafe { is_culib_present() }).then(Kept::new);
    work()
}

struct Kept(CUcontext);

impl Kept {
    /// The context of this thread; none if there is none yet or the driver was not started.
    fn new() -> Self {
        Self(ctx::get_current().ok().flatten().unwrap_or(ptr::null_mut()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the context was current before, and nothing here has destroyed it. An error here also occurs at the caller's next call.
        let _ = unsafe { cuCtxSetCurrent(self.0) };
    }
}
