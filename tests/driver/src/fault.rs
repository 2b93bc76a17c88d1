//! The call that fails, or takes long, and what it was about.

use cudarc::driver::sys::CUresult;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::time::Duration;

/// The call that fails, or takes long.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// Its number: 0 is the next.
    pub(crate) call: u64,
    /// Its result; `CUDA_SUCCESS` if it only takes long.
    pub(crate) code: CUresult,
    /// Whether a launch succeeds, and fails when it completes.
    pub(crate) is_late: bool,
    /// Which later calls fail, too.
    pub(crate) lasts: Lasts,
    pub(crate) takes: Duration,
}

/// Which later calls fail, too.
#[derive(Clone, Copy)]
pub(crate) enum Lasts {
    None,
    /// Those of the same name.
    OfItsName,
    /// Those in the same context.
    InItsContext,
}

/// What a call was meant to wait for, clear, free or enter.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Nothing,
    Context(usize),
    Stream(usize),
    Event(usize),
    /// The memory that contains this byte.
    Memory(u64),
}

/// The outcome of the fault that a test has asked for.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) fault: Option<Fault>,
    /// Calls since then.
    pub(crate) calls: u64,
    /// The first call that failed, or took long.
    pub(crate) failed: Option<&'static CStr>,
    /// The context that it was made in.
    pub(crate) failed_in: usize,
    /// The starts of memory that may be freed in use, or with something in it, because of what the call was about.
    pub(crate) excused: BTreeSet<u64>,
    /// The error of the current call when its work completes: for launches only.
    pub(crate) fails_late: Option<CUresult>,
}

/// Whether it makes the context unusable.
pub(crate) fn is_fatal(code: CUresult) -> bool {
    matches!(code, CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
}
