//! A thread's current CUDA context, which the engine changes and a caller does not expect to change: `cudaSetDevice` of the caller's
//! holds after a call as before it.

use aes_bitslice_runtime::cuda::cudarc::driver::result::ctx;
use aes_bitslice_runtime::cuda::cudarc::driver::sys::{CUcontext, cuCtxSetCurrent, is_culib_present};
use std::ptr;

/// Does `work`, which may change the context if `is_cuda`, and makes this thread's context what it was.
pub(crate) fn kept<T>(is_cuda: bool, work: impl FnOnce() -> T) -> T {
    // SAFETY: only looks whether the library opens; the calls of it panic without.
    let _kept = (is_cuda && unsafe { is_culib_present() }).then(Kept::new);
    work()
}

struct Kept(CUcontext);

impl Kept {
    /// The context of this thread; none, where there is none yet or the driver was not started.
    fn new() -> Self {
        Self(ctx::get_current().ok().flatten().unwrap_or(ptr::null_mut()))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the context was current before, and nothing here has destroyed it. What fails here fails at the caller's next call, too.
        let _ = unsafe { cuCtxSetCurrent(self.0) };
    }
}
