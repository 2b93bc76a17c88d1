//! Functions for the test, which finds them by name in the loaded library.

use crate::fault::{ERRORS, Fault, Faults, Lasts, is_fatal};
use crate::state::{Options, context_of, state};
use cudarc::driver::sys::CUresult;
use std::ffi::{CStr, c_char};
use std::ptr;
use std::time::Duration;

/// Chooses the machine, before anything is asked for: how many devices, of which compute capability (as in `sm_80`: 80), whether work runs
/// at once (1) or when something waits for it (0), and how many consecutive devices can have access to each other's memory: of 4 devices
/// all (4), each and its neighbour (2), or none (1).
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_configure(devices: u32, architecture: u32, at_once: u32, peers: u32) {
    state().options = Options {
        devices: devices as usize,
        architecture: architecture as i32,
        at_once: at_once != 0,
        peers: peers as usize,
        slow: None,
        fast: None,
    };
}

/// Makes every launch on a device take this long from now on; 0 turns this off.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_is_slow(device: u32, milliseconds: u32) {
    let takes = Duration::from_millis(milliseconds.into());
    state().options.slow = (!takes.is_zero()).then_some((device as usize, takes));
}

/// Makes a device report, when it is opened, that it is so fast that others are negligible.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_is_fast(device: u32) {
    state().options.fast = Some(device as usize);
}

/// The number of launches on a device since the process began.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_launches(device: u32) -> u64 {
    state().contexts.get(&context_of(device as i32)).map_or(0, |context| context.launches)
}

/// The device in whose context the call was made that failed, or took long, as [`stand_in_failed`] reports it; -1 if it was made in none.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_failed_on() -> i32 {
    state().faults.failed_in as i32 - 1
}

/// The number of the nth error of the driver, counted from 0, and whether all calls in the context fail after it, as the bit 31; 0 beyond
/// the last.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_error(n: usize) -> u32 {
    ERRORS.get(n).map_or(0, |&code| code as u32 | u32::from(is_fatal(code)) << 31)
}

/// Makes the call of this number, from now on and from 0, return `code`, an error of the driver, such as 2 for too little memory, or 719 for
/// a launch that failed, after which all calls in the context fail; or 0, and nothing except that it takes this long. If it is a launch,
/// `late`, and the error fatal, it succeeds, and the work fails when it completes. If `lasting` is 1, later calls of its name fail, too; if it is
/// 2, all later calls in the same context. A number beyond all calls only counts them.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_fails(call: u64, code: u32, late: u32, lasting: u32, milliseconds: u32) {
    let known = [&CUresult::CUDA_SUCCESS].into_iter().chain(ERRORS);
    let code = *known.into_iter().find(|known| **known as u32 == code).expect("an error of the driver");
    let takes = Duration::from_millis(milliseconds.into());
    let lasts = [Lasts::None, Lasts::OfItsName, Lasts::InItsContext][lasting as usize];
    let fault = Fault { call, code, is_late: late != 0 && is_fatal(code), lasts, takes };
    state().faults = Faults { fault: Some(fault), ..Faults::default() };
}

/// The number of calls since.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_calls() -> u64 {
    state().faults.calls
}

/// The name of the call that failed, or took long; NULL if there was none. None fails from now on.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_failed() -> *const c_char {
    let faults = &mut state().faults;
    faults.fault = None;
    faults.excused.clear();
    faults.failed.take().map_or(ptr::null(), CStr::as_ptr)
}

/// The number of objects that were created and not freed: memory, streams, events and modules, of all contexts.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_held() -> u64 {
    let state = state();
    let streams = state.streams.values().filter(|stream| !stream.is_destroyed).count();
    (state.memory.len() + streams + state.events.len() + state.modules.len()) as u64
}

/// Writes, in lines, the notes (`which` is 0) or what was left when its context was released (1), and forgets what it wrote; or (2) what
/// memory holds, device memory and pinned memory, when everything on all streams is done: of each that has other bytes than zeros and those
/// that were never written, its kind, its length and a digest of these bytes; or (3) the same of memory that went back to a pool, which it
/// forgets.
///
/// # Safety
/// `to` has room for `room` bytes, one or more: a text that ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn stand_in_notes(which: u32, to: *mut c_char, room: usize) {
    let mut state = state();
    let notes = match which {
        0 => std::mem::take(&mut state.notes),
        1 => std::mem::take(&mut state.left),
        2 => state.contents(),
        _ => std::mem::take(&mut state.to_pools).into_iter().collect(),
    };
    let text = notes.join("\n");
    let len = text.len().min(room - 1);
    // SAFETY: as the caller guarantees.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr(), to.cast(), len);
        to.add(len).write(0);
    }
}

/// Forgets everything, including lost contexts: as a new process begins.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_begins_anew() {
    let mut state = state();
    let contexts: Vec<usize> = state.contexts.keys().copied().collect();
    contexts.into_iter().for_each(|context| state.end(context));
    state.faults = Faults::default();
    state.contexts.clear();
    state.notes.clear();
    state.left.clear();
    state.to_pools.clear();
}
