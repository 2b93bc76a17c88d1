//! A driver call: counted, refused if it is the one that fails, and executed.

use crate::fault::{About, Fault, Lasts, is_fatal};
use crate::state::{State, current, state};
use cudarc::driver::sys::CUresult;
use std::ffi::CStr;
use std::thread;
use std::time::Instant;

/// The name of a call, and what it is about.
pub(crate) struct Call {
    name: &'static CStr,
    about: About,
}

impl Call {
    pub(crate) fn about(name: &'static CStr, about: About) -> Self {
        Self { name, about }
    }
}

impl From<&'static CStr> for Call {
    fn from(name: &'static CStr) -> Self {
        Self::about(name, About::Nothing)
    }
}

/// A call that needs no context.
pub(crate) fn call(of: impl Into<Call>, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    call_of(of, current(), work)
}

/// A call about this context, which is lost if the call fails with a fatal error.
pub(crate) fn call_of(
    of: impl Into<Call>,
    context: usize,
    work: impl FnOnce(&mut State) -> Result<(), CUresult>,
) -> CUresult {
    let Call { name, about } = of.into();
    let (context, fault) = {
        let state = &mut *state();
        // A stream is waited for, and asked about, in any context; it is its own that may be lost.
        let of_stream = |stream| state.streams.get(&stream).map(|stream| stream.context);
        let context = if let About::Stream(stream) = about { of_stream(stream) } else { None }.unwrap_or(context);
        let faults = &mut state.faults;
        let now = faults.calls;
        faults.calls += 1;
        let is_later = |fault: &Fault| {
            let is_like_it = match fault.lasts {
                Lasts::None => false,
                Lasts::OfItsName => faults.failed == Some(name),
                Lasts::InItsContext => faults.failed_in == context,
            };
            is_like_it && fault.call < now
        };
        (context, faults.fault.filter(|fault| fault.call == now || is_later(fault)))
    };
    let mut fails_late = None;
    if let Some(Fault { code, is_late, takes, .. }) = fault {
        thread::sleep(takes);
        let mut state = state();
        if state.faults.failed.is_none() {
            (state.faults.failed, state.faults.failed_in) = (Some(name), context);
        }
        if is_late && name == c"cuLaunchKernelEx" {
            fails_late = Some(code);
        } else if code != CUresult::CUDA_SUCCESS {
            // Any call may return an error that the driver finds late.
            if is_fatal(code) {
                state.lose(context, code, "");
            }
            state.excuse(about);
            return code;
        }
    }
    let mut state = state();
    // Under the same lock as the work, so that it is this call's.
    state.faults.fails_late = fails_late;
    match work(&mut state) {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(code) => code,
    }
}

/// A call that needs a context.
pub(crate) fn call_in_context(of: impl Into<Call>, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    call(of, |state| match current() {
        0 => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        context if state.is_retained(context) => {
            state.not_lost(context)?;
            work(state)
        }
        _ => state.wrong("a context is used that was released"),
    })
}

/// A call that waits for the context: on a slow device until all launches are complete, while others may call.
pub(crate) fn call_that_waits(of: impl Into<Call>, work: impl FnOnce(&mut State) -> Result<(), CUresult>) -> CUresult {
    loop {
        let until = state().contexts.get(&current()).and_then(|context| context.busy_until);
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            Some(left) if !left.is_zero() => thread::sleep(left),
            _ => return call_in_context(of, work),
        }
    }
}
