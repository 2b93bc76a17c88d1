//! Memory of devices, pinned memory, and copies.

use super::give;
use crate::call::{Call, call_in_context, call_that_waits};
use crate::fault::About;
use crate::memory::{Kind, MEMORY, Memory};
use crate::state::{State, current, state};
use crate::work::Work;
use cudarc::driver::sys::{CUDA_MEMCPY2D, CUdeviceptr, CUmemorytype, CUpointer_attribute, CUresult, CUstream};
use std::ffi::{c_uint, c_void};
use std::mem::MaybeUninit;
use std::{ptr, slice};

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAlloc_v2(pointer: &mut MaybeUninit<CUdeviceptr>, bytes: usize) -> CUresult {
    call_in_context(c"cuMemAlloc", |state| give(pointer, state.allocate(Kind::Device, current(), bytes)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(pointer: CUdeviceptr) -> CUresult {
    call_that_waits(Call::about(c"cuMemFree", About::Memory(pointer)), |state| state.free(pointer, true))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetInfo_v2(free: &mut MaybeUninit<usize>, total: &mut MaybeUninit<usize>) -> CUresult {
    call_in_context(c"cuMemGetInfo", |state| {
        let of_device = |memory: &&Memory| memory.kind != Kind::Pinned && memory.context == current();
        let used: usize = state.memory.values().filter(of_device).map(|memory| memory.len).sum();
        give(free, MEMORY.saturating_sub(used))?;
        give(total, MEMORY)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAllocAsync(pointer: &mut MaybeUninit<CUdeviceptr>, bytes: usize, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemAllocAsync", |state| {
        let context = state.stream(stream as usize)?.context;
        give(pointer, state.allocate(Kind::Pool, context, bytes)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> CUresult {
    call_in_context(Call::about(c"cuMemFreeAsync", About::Memory(pointer)), |state| {
        if state.memory.get(&pointer).is_none_or(|memory| memory.kind != Kind::Pool) {
            return state.wrong("memory is freed on a stream that is of no pool");
        }
        state.put(stream as usize, Work::Free { start: pointer })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(pointer: &mut MaybeUninit<*mut c_void>, bytes: usize, _flags: c_uint) -> CUresult {
    call_in_context(c"cuMemHostAlloc", |state| {
        give(pointer, state.allocate(Kind::Pinned, current(), bytes)? as *mut c_void)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> CUresult {
    call_that_waits(Call::about(c"cuMemFreeHost", About::Memory(pointer as u64)), |state| {
        state.free(pointer as u64, false)
    })
}

/// Puts a copy from the host on a stream. If the memory is not pinned, the driver takes the bytes before it returns.
///
/// # Safety
/// The host's bytes exist: pinned ones until the copy completes, others until this returns.
unsafe fn copy_in(
    state: &mut State,
    to: CUdeviceptr,
    from: *const c_void,
    len: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    inside(state, to, len)?;
    let work = if state.is_pinned(from as u64, len) {
        Work::Copy { from: from as u64, to, len }
    } else {
        // SAFETY: the caller guarantees that the host's bytes exist until this returns.
        Work::Write { bytes: unsafe { slice::from_raw_parts(from.cast(), len) }.to_vec(), to }
    };
    state.put(stream as usize, work)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) -> CUresult {
    call_that_waits(c"cuMemcpyHtoD", |state| {
        let is_pinned = state.is_pinned(from as u64, bytes);
        // SAFETY: the caller's bytes.
        unsafe { copy_in(state, to, from, bytes, ptr::null_mut()) }?;
        // *API synchronization behavior*: from pinned memory the copy is complete when it returns; other bytes, which the driver has taken,
        // may still be on their way to the device.
        if is_pinned { state.synchronize(0) } else { Ok(()) }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the caller's bytes.
    call_in_context(c"cuMemcpyHtoDAsync", |state| unsafe { copy_in(state, to, from, bytes, stream) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    let copy_out = |state: &mut State| {
        inside(state, from, bytes)?;
        if state.is_pinned(to as u64, bytes) {
            return state.put(stream as usize, Work::Copy { from, to: to as u64, len: bytes });
        }
        // For memory that is not pinned it returns when the bytes are there.
        state.synchronize(stream as usize)?;
        let context = state.stream(stream as usize)?.context;
        state.access(context, from, bytes)?;
        // SAFETY: the caller's memory, and the device's, which exists.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to.cast(), bytes) };
        Ok(())
    };
    let is_pinned = state().is_pinned(to as u64, bytes);
    if is_pinned {
        call_in_context(c"cuMemcpyDtoHAsync", copy_out)
    } else {
        call_that_waits(c"cuMemcpyDtoHAsync", copy_out)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemcpyDtoDAsync", |state| {
        inside(state, to, bytes)?;
        inside(state, from, bytes)?;
        state.put(stream as usize, Work::Copy { from, to, len: bytes })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemcpy2DAsync", |state| {
        // SAFETY: the caller's description.
        let copy = unsafe { &*copy };
        let is_on_device = |kind| kind == CUmemorytype::CU_MEMORYTYPE_DEVICE;
        if !is_on_device(copy.srcMemoryType) || !is_on_device(copy.dstMemoryType) {
            return state.wrong("the stand-in copies rows on the device only");
        }
        let work = Work::Rows {
            from: (copy.srcDevice, copy.srcPitch),
            to: (copy.dstDevice, copy.dstPitch),
            len: copy.WidthInBytes,
            rows: copy.Height,
        };
        for (start, len) in work.touches() {
            inside(state, start, len)?;
        }
        state.put(stream as usize, work)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(to: CUdeviceptr, value: u8, bytes: usize) -> CUresult {
    // It may still be running when it returns.
    call_in_context(Call::about(c"cuMemsetD8", About::Memory(to)), |state| {
        inside(state, to, bytes)?;
        state.put(0, Work::Set { to, value, len: bytes })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: CUdeviceptr, value: u8, bytes: usize, stream: CUstream) -> CUresult {
    call_in_context(Call::about(c"cuMemsetD8Async", About::Memory(to)), |state| {
        inside(state, to, bytes)?;
        state.put(stream as usize, Work::Set { to, value, len: bytes })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(
    value: *mut c_void,
    attribute: CUpointer_attribute,
    pointer: CUdeviceptr,
) -> CUresult {
    call_in_context(c"cuPointerGetAttribute", |state| match attribute {
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
            if state.has(pointer, 1) && state.reaches(current(), pointer) =>
        {
            // SAFETY: the caller has room for it.
            unsafe { put(value, pointer) }
        }
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL if state.has(pointer, 1) => {
            let context = state.memory_at(pointer).map_or(0, |memory| memory.context);
            // SAFETY: the caller has room for it.
            unsafe { put(value, context as i32 - 1) }
        }
        _ => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttributes(
    count: c_uint,
    attributes: *mut CUpointer_attribute,
    values: *mut *mut c_void,
    pointer: CUdeviceptr,
) -> CUresult {
    use CUpointer_attribute as Attribute;
    call_in_context(c"cuPointerGetAttributes", |state| {
        // SAFETY: the caller's arrays.
        let (attributes, values) = unsafe {
            (slice::from_raw_parts(attributes, count as usize), slice::from_raw_parts(values, count as usize))
        };
        let found = state.memory_at(pointer).filter(|memory| memory.has(pointer, 1));
        for (attribute, value) in attributes.iter().zip(values) {
            let kind = |kind| match kind {
                Kind::Pinned => CUmemorytype::CU_MEMORYTYPE_HOST as u32,
                Kind::Device | Kind::Pool => CUmemorytype::CU_MEMORYTYPE_DEVICE as u32,
            };
            // SAFETY: the caller has room for what is asked for.
            unsafe {
                match attribute {
                    Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => {
                        put(*value, found.map_or(0, |of| kind(of.kind)))?;
                    }
                    Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => {
                        put(*value, found.map_or(0, |of| of.start))?;
                    }
                    Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE => put(*value, found.map_or(0, |of| of.len))?,
                    _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
                }
            }
        }
        Ok(())
    })
}

/// Refuses, and notes, a range that is not in memory.
fn inside(state: &mut State, start: CUdeviceptr, len: usize) -> Result<(), CUresult> {
    if state.has(start, len) { Ok(()) } else { state.wrong(format!("{len} bytes at {start:#x} are in no memory")) }
}

/// Gives the driver's caller a value at an address of no type.
///
/// # Safety
/// There is room for it.
unsafe fn put<T>(to: *mut c_void, value: T) -> Result<(), CUresult> {
    assert!(!to.is_null());
    // SAFETY: as the caller guarantees.
    unsafe { to.cast::<T>().write(value) };
    Ok(())
}
