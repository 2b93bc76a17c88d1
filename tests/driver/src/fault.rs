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
    /// What it returns; `CUDA_SUCCESS` where it only takes long.
    pub(crate) code: CUresult,
    /// Whether a launch succeeds, and fails when it is done.
    pub(crate) is_late: bool,
    /// Whether all later calls of its name fail, too.
    pub(crate) is_lasting: bool,
    pub(crate) takes: Duration,
}

/// What was to be waited for, cleared, freed or entered by a call.
#[derive(Clone, Copy)]
pub(crate) enum About {
    Nothing,
    Context(usize),
    Stream(usize),
    Event(usize),
    /// Memory that this byte is in.
    Memory(u64),
}

/// What became of the fault that a test has asked for.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) fault: Option<Fault>,
    /// Calls since it was asked for.
    pub(crate) calls: u64,
    /// The call that failed, or took long.
    pub(crate) failed: Option<&'static CStr>,
    /// The context that it was made in.
    pub(crate) failed_in: usize,
    /// Where memory begins that may be freed in use, or with something in it, for what the call was about.
    pub(crate) excused: BTreeSet<u64>,
    /// What the call that is being made fails with when its work is done: for launches only.
    pub(crate) fails_late: Option<CUresult>,
}

/// Whether the context cannot be used behind it.
pub(crate) fn is_fatal(code: CUresult) -> bool {
    matches!(code, CUresult::CUDA_ERROR_LAUNCH_FAILED | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS)
}
