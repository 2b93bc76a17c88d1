//! Blocks of device memory that are copied side by side before they are overwritten: the blocks that an operation in
//! place is chained to, where one share of a kernel's work could overwrite the ciphertext before the next share.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::memory::stream_memory::StreamMemory;
use crate::base::error::Error;
use crate::op::launch::Gather;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use std::ptr;
use std::sync::Arc;

/// Copies `rows` times `bytes` bytes, 16 at most: from each place, `apart` bytes (fewer than 2^31) after the previous one, to each block from `to` on, whose other
/// bytes stay.
///
/// # Safety
/// All of them and the room for them are in memory that the device can access, and that is live until the copy is done;
/// the stream is live.
pub(crate) unsafe fn copy_rows(
    context: &Context,
    stream: CUstream,
    (first, apart): (CUdeviceptr, u64),
    bytes: usize,
    rows: u64,
    to: CUdeviceptr,
) -> Result<(), Error> {
    if rows == 0 {
        return Ok(());
    }
    let copy = sys::CUDA_MEMCPY2D {
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
        WidthInBytes: bytes,
        Height: rows as usize,
    };
    // SAFETY: as the caller guarantees.
    context.call("cuMemcpy2DAsync", unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream) }.result())
}

/// Copies blocks of the data that begins at `input` side by side to new memory, on the stream: block b, from 1 on, is at 16 b. They are
/// ciphertext, which is not cleared.
///
/// # Safety
/// The blocks are within memory of the device that is live until the copy is done; the stream is live.
pub(crate) unsafe fn gathered(
    context: &Arc<Context>,
    stream: CUstream,
    input: CUdeviceptr,
    blocks: &Gather,
) -> Result<StreamMemory, Error> {
    // SAFETY: as the caller guarantees; there is room for all of them after the first 16 bytes.
    unsafe {
        let memory = StreamMemory::new(context, stream, blocks.bytes() as usize)?;
        copy_rows(context, stream, (input + blocks.first, blocks.apart), 16, blocks.blocks, memory.pointer() + 16)?;
        Ok(memory)
    }
}
