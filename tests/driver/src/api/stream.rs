//! Streams and events.

use super::put;
use crate::state::{call, call_in_context};
use crate::work::{Stream, Work};
use cudarc::driver::sys::{CUevent, CUresult, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};

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
