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
use std::mem::MaybeUninit;

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(_code: CUresult, text: &mut MaybeUninit<*const c_char>) -> CUresult {
    let _state = state();
    text.write(c"an error of the stand-in".as_ptr());
    CUresult::CUDA_SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(code: CUresult, text: &mut MaybeUninit<*const c_char>) -> CUresult {
    cuGetErrorName(code, text)
}

/// Gives the driver's caller a value.
fn give<T>(to: &mut MaybeUninit<T>, value: T) -> Result<(), CUresult> {
    to.write(value);
    Ok(())
}
