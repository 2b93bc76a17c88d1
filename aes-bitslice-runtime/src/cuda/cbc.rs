//! CBC decryption of data in device memory: what blocks are chained to in place, where what follows a share of the kernel's
//! would overwrite the ciphertext before the next one.

use super::Device;
use super::device::make_current;
use super::kernel::Span;
use crate::Error;
use crate::launches::Between;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use cudarc::driver::{CudaContext, result};
use std::ptr;
use std::sync::Arc;

/// Copies so many blocks of 16 bytes, each `apart` bytes (fewer than 2^31) behind the one before, side by side to `to`.
///
/// # Safety
/// All of them and the room for them lie in memory that the device reaches, and that is live until the copy is done; the stream is
/// live.
pub(super) unsafe fn gather(
    device: &Device,
    stream: CUstream,
    first: CUdeviceptr,
    apart: u64,
    blocks: u64,
    to: CUdeviceptr,
) -> Result<(), Error> {
    if blocks == 0 {
        return Ok(());
    }
    let rows = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: first,
        srcArray: ptr::null_mut(),
        srcPitch: apart as usize,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: ptr::null_mut(),
        dstPitch: 16,
        WidthInBytes: 16,
        Height: blocks as usize,
    };
    // SAFETY: as the caller vouches.
    device.call("cuMemcpy2DAsync", unsafe { sys::cuMemcpy2DAsync_v2(&rows, stream) }.result())
}

/// Copies of the ciphertext blocks before the shares of the thread blocks, that of thread block b at 16 b; there is none
/// before the first. Freed on the stream.
pub(super) struct BlocksBetween {
    context: Arc<CudaContext>,
    stream: CUstream,
    memory: CUdeviceptr,
}

impl BlocksBetween {
    /// # Safety
    /// The span lies in memory of the device that is live until the copy is done, and has as many shares,
    /// the last of which may be shorter.
    pub(super) unsafe fn gather(
        device: &Device,
        stream: CUstream,
        span: Span,
        Between { shares, share }: Between,
    ) -> Result<Self, Error> {
        let bytes = 16 * shares as usize;
        // SAFETY: the stream is live, as the caller vouches.
        let memory = unsafe { result::malloc_async(stream, bytes) };
        let memory = device.call("cuMemAllocAsync", memory)?;
        let copies = Self { context: device.context().clone(), stream, memory };
        // SAFETY: row b ends where share b + 1 begins, which is before the span ends; the copies have room for all.
        unsafe { gather(device, stream, span.input + share - 16, share, shares - 1, memory + 16) }?;
        Ok(copies)
    }

    pub(super) fn pointer(&self) -> CUdeviceptr {
        self.memory
    }
}

impl Drop for BlocksBetween {
    fn drop(&mut self) {
        // Nothing can be done here about an error; what was ciphertext need not be cleared.
        let _ = make_current(&self.context);
        // SAFETY: allocated on this stream, and used on it only, before this.
        let _ = unsafe { result::free_async(self.memory, self.stream) };
    }
}
