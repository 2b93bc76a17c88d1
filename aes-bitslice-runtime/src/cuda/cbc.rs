//! CBC decryption of data in device memory: what blocks are chained to, also in place.

use super::Device;
use super::device::make_current;
use super::kernel::{Kernel, Span};
use super::round_keys::RoundKeys;
use crate::Error;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use cudarc::driver::{CudaContext, result};
use std::ptr;
use std::sync::Arc;

impl Kernel {
    /// CBC decryption over whole blocks, on a stream, without waiting.
    ///
    /// In place, what follows a share of the kernel's would overwrite the ciphertext before the next one: those blocks
    /// are copied first.
    ///
    /// # Safety
    /// As [`Kernel::ecb`].
    pub(super) unsafe fn cbc_decrypt(
        &self,
        device: &Device,
        stream: CUstream,
        span: Span,
        iv: u128,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let blocks = span.len / 16;
        if blocks == 0 {
            return Ok(());
        }
        let (shares, share) = self.shares(blocks);
        let copies = match span.input == span.output && shares > 1 {
            // SAFETY: the rows lie in the span, which the caller vouches for: the last begins before it ends.
            true => Some(unsafe { BlocksBetween::gather(device, stream, span, share, shares) }?),
            false => None,
        };
        let (mut previous, mut stride) = match &copies {
            Some(copies) => (copies.memory, 16),
            // The first thread block has the IV; wrapping, for it looks nothing up here.
            None => (span.input.wrapping_sub(16), share),
        };
        let (mut input, mut output, mut blocks_argument) = (span.input, span.output, blocks);
        let mut iv: [u32; 4] = std::array::from_fn(|i| (iv >> (96 - 32 * i)) as u32).map(u32::swap_bytes);
        let arguments = [
            ptr::from_mut(&mut input).cast(),
            ptr::from_mut(&mut output).cast(),
            ptr::from_mut(&mut blocks_argument).cast(),
            ptr::from_mut(&mut previous).cast(),
            ptr::from_mut(&mut stride).cast(),
            ptr::from_mut(&mut iv).cast(),
        ];
        // SAFETY: the arguments are those of the entry point; the caller vouches for the span.
        unsafe { self.launch(device, self.function_for(span), stream, blocks, 0, &arguments, keys) }
        // The copies are freed on the stream, behind the launch.
    }
}

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
struct BlocksBetween {
    context: Arc<CudaContext>,
    stream: CUstream,
    memory: CUdeviceptr,
}

impl BlocksBetween {
    /// # Safety
    /// The span lies in memory of the device that is live until the copy is done, and has as many shares,
    /// the last of which may be shorter.
    unsafe fn gather(device: &Device, stream: CUstream, span: Span, share: u64, shares: u64) -> Result<Self, Error> {
        let bytes = 16 * shares as usize;
        // SAFETY: the stream is live, as the caller vouches.
        let memory = unsafe { result::malloc_async(stream, bytes) };
        let memory = device.call("cuMemAllocAsync", memory)?;
        let copies = Self { context: device.context().clone(), stream, memory };
        // SAFETY: row b ends where share b + 1 begins, which is before the span ends; the copies have room for all.
        unsafe { gather(device, stream, span.input + share - 16, share, shares - 1, memory + 16) }?;
        Ok(copies)
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
