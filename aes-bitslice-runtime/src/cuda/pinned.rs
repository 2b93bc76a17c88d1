//! Host memory that the driver keeps where it is: copied from and to at the full speed of the bus, beside kernels.

use super::driver;
use crate::Error;
use cudarc::driver::{CudaContext, PinnedHostSlice};
use std::sync::Arc;

/// Pinned (page-locked) host memory of `len` bytes, which hold anything. To allocate it takes the driver long: use it
/// more than once.
///
/// # Errors
/// What the driver reports, which may have too little memory to pin.
pub fn pinned(context: &Arc<CudaContext>, len: usize) -> Result<PinnedHostSlice<u8>, Error> {
    // SAFETY: memory of the driver's, whose bytes are bytes whatever they hold. Plain memory: the host reads it, too.
    let allocated = unsafe { context.alloc_pinned_with_flags(len, 0) };
    allocated.map_err(|e| Error::Cuda { call: format!("cuMemHostAlloc of {len} bytes"), code: driver::name(e) })
}
