//! Streams and events.

use super::give;
use crate::call::{Call, call, call_in_context, call_that_waits};
use crate::fault::About;
use crate::state::{Event, State, current};
use crate::work::{Stream, Work};
use cudarc::driver::sys::{CUevent, CUresult, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::mem::MaybeUninit;

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: &mut MaybeUninit<CUstream>, _flags: c_uint) -> CUresult {
    call_in_context(c"cuStreamCreate", |state| {
        let handle = state.handle();
        state.streams.insert(handle, Stream::new(current()));
        give(stream, handle as CUstream)
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
    call_that_waits(Call::about(c"cuStreamSynchronize", About::Stream(stream as usize)), |state| {
        state.synchronize(stream as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: CUstream) -> CUresult {
    call_in_context(Call::about(c"cuStreamQuery", About::Stream(stream as usize)), |state| {
        let point = state.point(stream as usize)?;
        state.asked(point)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: c_uint) -> CUresult {
    // Stream and event may belong to different contexts.
    call_in_context(c"cuStreamWaitEvent", |state| match state.event(event, "waited for")?.point {
        Some(point) => state.put(stream as usize, Work::Wait(point)),
        None => state.stream(stream as usize).map(drop),
    })
}

/// No two streams of the process have one number; that of the default stream is 0.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetId(stream: CUstream, id: &mut MaybeUninit<u64>) -> CUresult {
    call_in_context(c"cuStreamGetId", |state| {
        state.stream(stream as usize)?;
        give(id, stream as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: CUstream, status: &mut MaybeUninit<CUstreamCaptureStatus>) -> CUresult {
    call_in_context(c"cuStreamIsCapturing", |state| {
        state.stream(stream as usize)?;
        give(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: &mut CUstreamCaptureMode) -> CUresult {
    thread_local! {
        static MODE: Cell<CUstreamCaptureMode> =
            const { Cell::new(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL) };
    }
    call(c"cuThreadExchangeStreamCaptureMode", |_| {
        *mode = MODE.replace(*mode);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(
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
pub extern "C" fn cuEventCreate(event: &mut MaybeUninit<CUevent>, _flags: c_uint) -> CUresult {
    call_in_context(c"cuEventCreate", |state| {
        let handle = state.handle();
        state.events.insert(handle, Event { context: current(), point: None });
        give(event, handle as CUevent)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    call_in_context(c"cuEventRecord", |state| {
        let context = state.stream(stream as usize)?.context;
        if state.event(event, "recorded")?.context != context {
            return state.wrong("an event is recorded on a stream of another context");
        }
        let point = Some(state.point(stream as usize)?);
        state.events.insert(event as usize, Event { context, point });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: CUevent) -> CUresult {
    call_that_waits(Call::about(c"cuEventSynchronize", About::Event(event as usize)), |state| {
        let point = state.event(event, "waited for")?.point;
        point.map_or(Ok(()), |point| state.run_to(point))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: CUevent) -> CUresult {
    call_in_context(Call::about(c"cuEventQuery", About::Event(event as usize)), |state| {
        let point = state.event(event, "asked for")?.point;
        point.map_or(Ok(()), |point| state.asked(point))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    call_in_context(c"cuEventDestroy", |state| {
        state.event(event, "destroyed")?;
        state.events.remove(&(event as usize));
        Ok(())
    })
}

impl State {
    /// An event that a caller names.
    fn event(&mut self, event: CUevent, what: &str) -> Result<Event, CUresult> {
        match self.events.get(&(event as usize)).copied() {
            Some(event) => self.not_lost(event.context).map(|()| event),
            None => self.wrong(format!("an event is {what} that is none")),
        }
    }
}
