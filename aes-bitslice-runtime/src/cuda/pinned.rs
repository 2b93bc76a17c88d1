//! Host memory that the driver keeps where it is: copied from and to at the full speed of the bus, beside kernels.

use super::driver;
use crate::Error;
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, DriverError, PinnedHostSlice};
use std::sync::Arc;

/// Pinned (page-locked) host memory of `len` bytes, all zero. To allocate it takes the driver long: use it more than
/// once.
///
/// # Errors
/// [`Error::Cuda`] for no bytes, for more than an allocation may have (`isize::MAX`), and for what the driver reports,
/// which may have too little memory to pin.
pub fn pinned(context: &Arc<CudaContext>, len: usize) -> Result<PinnedHostSlice<u8>, Error> {
    let failed = |e| Error::Cuda { call: format!("cuMemHostAlloc of {len} bytes"), code: driver::name(e) };
    // `cudarc` panics for these.
    if !(1..isize::MAX as usize).contains(&len) {
        return Err(failed(DriverError(CUresult::CUDA_ERROR_INVALID_VALUE)));
    }
    // SAFETY: bytes that are written below before anybody reads them. Plain memory: the host may read it, too.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<u8>(len, 0) }.map_err(failed)?;
    let start = memory.as_mut_ptr().map_err(failed)?;
    // SAFETY: as many bytes were allocated from there on, and nobody else has them yet.
    unsafe { start.write_bytes(0, len) };
    Ok(memory)
}
