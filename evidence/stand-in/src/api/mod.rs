//! The functions of the driver. NVIDIA defines what a function does, and what it may be given: *CUDA Driver API*.

#![allow(clippy::missing_safety_doc, reason = "the driver's documentation says what each may be given")]
#![allow(missing_docs, reason = "the driver's documentation says what each does")]

pub mod device;
pub mod launch;
pub mod memory;
pub mod stream;

use crate::state::state;
use cudarc::driver::sys::CUresult;
use std::ffi::c_char;

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(_code: CUresult, text: *mut *const c_char) -> CUresult {
    let _state = state();
    // SAFETY: as the caller guarantees.
    match unsafe { put(text, c"an error of the stand-in".as_ptr()) } {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: as the caller guarantees.
    unsafe { cuGetErrorName(code, text) }
}

/// Gives the driver's caller a value.
///
/// # Safety
/// There is room for it.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), CUresult> {
    assert!(!to.is_null());
    // SAFETY: as the caller guarantees.
    unsafe { to.write(value) };
    Ok(())
}
