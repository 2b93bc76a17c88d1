//! The functions of the driver. What a function does, and what it may be given, is NVIDIA's to say: *CUDA Driver API*.

#![allow(clippy::missing_safety_doc, reason = "the driver's documentation says what each may be given")]
#![allow(missing_docs, reason = "as above")]

use crate::memory::Kind;
use crate::state::{CURRENT, Function, State, call, call_in_context, state};
use crate::work::{Stream, Work};
use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute,
    CUlaunchConfig, CUmemorytype, CUmodule, CUpointer_attribute, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::{ptr, slice};

/// Bytes of memory that there are in all.
pub(crate) const MEMORY: usize = 1 << 30;
/// Shared memory that a function may have of which nothing was said, in bytes.
const SHARED_BYTES: u32 = 48 << 10;

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(_flags: c_uint) -> CUresult {
    call(c"cuInit", |_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    call(c"cuDriverGetVersion", |_| put(version, 13000))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    call(c"cuDeviceGetCount", |state| put(count, state.options.devices as c_int))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    call(c"cuDeviceGet", |state| match (ordinal as usize) < state.options.devices {
        true => put(device, ordinal),
        false => Err(CUresult::CUDA_ERROR_INVALID_DEVICE),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, _device: CUdevice) -> CUresult {
    call(c"cuDeviceGetName", |_| {
        let text = c"Stand-in".to_bytes_with_nul();
        assert!(text.len() <= room as usize);
        // SAFETY: the caller has this much room.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: CUdevice) -> CUresult {
    call(c"cuDeviceTotalMem", |_| put(bytes, MEMORY))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: CUdevice_attribute,
    _device: CUdevice,
) -> CUresult {
    use CUdevice_attribute as Attribute;
    call(c"cuDeviceGetAttribute", |state| {
        let architecture = state.options.architecture;
        let found = match attribute {
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => architecture / 10,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => architecture % 10,
            Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 2,
            Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE => 1_000_000,
            Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
            // CUDA C++ Programming Guide, technical specifications by compute capability.
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => match architecture {
                75 => 64 << 10,
                80 => 163 << 10,
                _ => 227 << 10,
            },
            other => return state.wrong(format!("the stand-in does not know {other:?}")),
        };
        put(value, found)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceCanAccessPeer(can: *mut c_int, _device: CUdevice, _peer: CUdevice) -> CUresult {
    call(c"cuDeviceCanAccessPeer", |_| put(can, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxEnablePeerAccess(_peer: CUcontext, _flags: c_uint) -> CUresult {
    call_in_context(c"cuCtxEnablePeerAccess", |_| Ok(()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CUresult {
    call(c"cuDevicePrimaryCtxRetain", |state| {
        state.not_lost()?;
        *state.contexts.entry(device).or_default() += 1;
        put(context, (device as usize + 1) as CUcontext)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    call(c"cuDevicePrimaryCtxRelease", |state| {
        match state.contexts.get_mut(&device) {
            Some(retained) if *retained > 0 => *retained -= 1,
            _ => return state.wrong("a context is released that nobody has"),
        }
        if state.contexts.values().all(|retained| *retained == 0) {
            state.end();
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    call(c"cuCtxSetCurrent", |state| {
        let device = (context as usize).wrapping_sub(1) as CUdevice;
        if state.contexts.get(&device).is_none_or(|retained| *retained == 0) {
            return state.wrong("a context is used that was released");
        }
        CURRENT.set(context as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult {
    call(c"cuCtxGetCurrent", |_| put(context, CURRENT.get() as CUcontext))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> CUresult {
    call_in_context(c"cuCtxSynchronize", State::run_all)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize) -> CUresult {
    call_in_context(c"cuMemAlloc", |state| put(pointer, state.allocate(Kind::Device, bytes)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFree_v2(pointer: CUdeviceptr) -> CUresult {
    call_in_context(c"cuMemFree", |state| state.free(pointer, true))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(pointer: *mut CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemAllocAsync", |state| {
        state.stream(stream as usize)?;
        put(pointer, state.allocate(Kind::Pool, bytes)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemFreeAsync", |state| {
        if state.memory.get(&pointer).is_none_or(|memory| memory.kind != Kind::Pool) {
            return state.wrong("memory is freed on a stream that is of no pool");
        }
        state.put(stream as usize, Work::Free { start: pointer })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: c_uint) -> CUresult {
    call_in_context(c"cuMemHostAlloc", |state| put(pointer, state.allocate(Kind::Pinned, bytes)? as *mut c_void))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemFreeHost(pointer: *mut c_void) -> CUresult {
    call_in_context(c"cuMemFreeHost", |state| state.free(pointer as u64, false))
}

/// Puts a copy from the host on a stream. Where the memory is not pinned the driver takes the bytes before it returns.
fn copy_in(
    state: &mut State,
    to: CUdeviceptr,
    from: *const c_void,
    len: usize,
    stream: CUstream,
) -> Result<(), CUresult> {
    inside(state, to, len)?;
    let work = match state.is_pinned(from as u64, len) {
        true => Work::Copy { from: from as u64, to, len },
        // SAFETY: the caller's bytes, which are there when the driver is called.
        false => Work::Write { bytes: unsafe { slice::from_raw_parts(from.cast(), len) }.to_vec(), to },
    };
    state.put(stream as usize, work)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) -> CUresult {
    // Bytes that are not pinned may be on their way when it returns.
    call_in_context(c"cuMemcpyHtoD", |state| copy_in(state, to, from, bytes, ptr::null_mut()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    call_in_context(c"cuMemcpyHtoDAsync", |state| copy_in(state, to, from, bytes, stream))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CUresult {
    call_in_context(c"cuMemcpyDtoHAsync", |state| {
        inside(state, from, bytes)?;
        if state.is_pinned(to as u64, bytes) {
            return state.put(stream as usize, Work::Copy { from, to: to as u64, len: bytes });
        }
        // To memory that is not pinned it returns when the bytes are there.
        state.synchronize(stream as usize)?;
        inside(state, from, bytes)?;
        // SAFETY: the caller's memory, and the device's, which is there.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to.cast(), bytes) };
        Ok(())
    })
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
    // It may be at work when it returns.
    call_in_context(c"cuMemsetD8", |state| {
        inside(state, to, bytes)?;
        state.put(0, Work::Set { to, value, len: bytes })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(to: CUdeviceptr, value: u8, bytes: usize, stream: CUstream) -> CUresult {
    call_in_context(c"cuMemsetD8Async", |state| {
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
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER if state.has(pointer, 1) => put(value.cast(), pointer),
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
            match attribute {
                Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => put(value.cast(), found.map_or(0, |of| kind(of.kind)))?,
                Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => put(value.cast(), found.map_or(0, |of| of.start))?,
                Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE => put(value.cast(), found.map_or(0, |of| of.len))?,
                _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut CUstream, _flags: c_uint) -> CUresult {
    call_in_context(c"cuStreamCreate", |state| {
        let handle = state.handle();
        state.streams.insert(handle, Stream::default());
        put(stream, handle as CUstream)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> CUresult {
    call_in_context(c"cuStreamDestroy", |state| {
        if stream.is_null() {
            return state.wrong("the default stream is destroyed");
        }
        state.stream(stream as usize)?.is_destroyed = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    call_in_context(c"cuStreamSynchronize", |state| state.synchronize(stream as usize))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: CUstream) -> CUresult {
    call_in_context(c"cuStreamQuery", |state| {
        let point = state.point(stream as usize)?;
        state.asked(point)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: c_uint) -> CUresult {
    call_in_context(c"cuStreamWaitEvent", |state| match state.events.get(&(event as usize)).copied() {
        Some(Some(point)) => state.put(stream as usize, Work::Wait(point)),
        Some(None) => state.stream(stream as usize).map(drop),
        None => state.wrong("an event is waited for that is none"),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) -> CUresult {
    call_in_context(c"cuStreamIsCapturing", |state| {
        state.stream(stream as usize)?;
        put(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut CUstreamCaptureMode) -> CUresult {
    thread_local! {
        static MODE: Cell<CUstreamCaptureMode> =
            const { Cell::new(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) };
    }
    // SAFETY: the caller's value, which is read and written.
    call(c"cuThreadExchangeStreamCaptureMode", |_| put(mode, MODE.replace(unsafe { *mode })))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchHostFunc(
    stream: CUstream,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> CUresult {
    call_in_context(c"cuLaunchHostFunc", |state| {
        let function = function.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        state.put(stream as usize, Work::Call { function, data })
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut CUevent, _flags: c_uint) -> CUresult {
    call_in_context(c"cuEventCreate", |state| {
        let handle = state.handle();
        state.events.insert(handle, None);
        put(event, handle as CUevent)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    call_in_context(c"cuEventRecord", |state| {
        let point = state.point(stream as usize)?;
        match state.events.get_mut(&(event as usize)) {
            Some(recorded) => *recorded = Some(point),
            None => return state.wrong("an event is recorded that is none"),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: CUevent) -> CUresult {
    call_in_context(c"cuEventSynchronize", |state| match state.events.get(&(event as usize)).copied() {
        Some(point) => point.map_or(Ok(()), |point| state.run_to(point)),
        None => state.wrong("an event is waited for that is none"),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: CUevent) -> CUresult {
    call_in_context(c"cuEventQuery", |state| match state.events.get(&(event as usize)).copied() {
        Some(point) => point.map_or(Ok(()), |point| state.asked(point)),
        None => state.wrong("an event is asked for that is none"),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    call_in_context(c"cuEventDestroy", |state| match state.events.remove(&(event as usize)) {
        Some(_) => Ok(()),
        None => state.wrong("an event is destroyed that is none"),
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult {
    call_in_context(c"cuModuleLoadData", |state| {
        // SAFETY: the caller's image.
        let loaded = unsafe { state.kernels.load(image) }?;
        let handle = state.handle();
        state.modules.insert(handle, loaded);
        put(module, handle as CUmodule)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: CUmodule) -> CUresult {
    call_in_context(c"cuModuleUnload", |state| {
        // As the driver does: its functions may be at work.
        state.run_all()?;
        state.functions.retain(|_, function| function.module != module as usize);
        match state.modules.remove(&(module as usize)) {
            Some(_) => Ok(()),
            None => state.wrong("a module is unloaded that is none"),
        }
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    call_in_context(c"cuModuleGetFunction", |state| {
        let module = module as usize;
        let Some(&kernel) = state.modules.get(&module) else { return state.wrong("a module is used that is none") };
        // SAFETY: the caller's text.
        let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
        let entry = kernel.entry(name).ok_or(CUresult::CUDA_ERROR_NOT_FOUND)?;
        let handle = state.handle();
        state.functions.insert(handle, Function { kernel, entry, module, shared_bytes: SHARED_BYTES });
        put(function, handle as CUfunction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) -> CUresult {
    call_in_context(c"cuFuncSetAttribute", |state| {
        let Some(of) = state.functions.get_mut(&(function as usize)) else {
            return state.wrong("a function is used that is none");
        };
        if attribute == CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES {
            of.shared_bytes = value as u32;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    arguments: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> CUresult {
    call_in_context(c"cuLaunchKernelEx", |state| {
        let fails = state.fails_late.take();
        // SAFETY: the caller's description.
        let config = unsafe { &*config };
        let Some(&Function { kernel, entry, shared_bytes, .. }) = state.functions.get(&(function as usize)) else {
            return state.wrong("a function is launched that is none");
        };
        if config.sharedMemBytes > shared_bytes || config.gridDimX == 0 || (config.gridDimY, config.gridDimZ) != (1, 1)
        {
            return state.wrong(format!("{} is launched as it cannot be", kernel.name()));
        }
        // SAFETY: the caller's arguments.
        let arguments = unsafe { kernel.arguments(entry, arguments.cast::<*const c_void>()) };
        let outside = kernel.addresses(entry, &arguments).find(|&(_, address)| !state.has(address, 0));
        if let Some((name, address)) = outside {
            let what = format!("{} is launched with `{name}` at {address:#x}, which is in no memory", kernel.name());
            return state.wrong(what);
        }
        let stream = config.hStream as usize;
        state.put(stream, Work::Launch { kernel, entry, grid: (config.gridDimX, config.blockDimX), arguments })?;
        fails.map_or(Ok(()), |code| state.put(stream, Work::Fail(code)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(_code: CUresult, text: *mut *const c_char) -> CUresult {
    let _state = state();
    match put(text, c"an error of the stand-in".as_ptr()) {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: as the caller guarantees.
    unsafe { cuGetErrorName(code, text) }
}

/// Gives the caller a value.
fn put<T>(to: *mut T, value: T) -> Result<(), CUresult> {
    assert!(!to.is_null());
    // SAFETY: the caller of the driver has room for it there.
    unsafe { to.write(value) };
    Ok(())
}

/// Refuses, and notes, what is not in memory.
fn inside(state: &mut State, start: CUdeviceptr, len: usize) -> Result<(), CUresult> {
    match state.has(start, len) {
        true => Ok(()),
        false => state.wrong(format!("{len} bytes at {start:#x} are in no memory")),
    }
}
