//! Versions, messages, threads, random bytes.

use crate::border::{call, message};
use crate::memory::Data;
use crate::status::{AES_BITSLICE_FAILED, Failure};
use aes_bitslice_runtime::{Buffers, set_threads};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The version of the binary interface. Every change that breaks programs compiled before it raises this number.
pub const AES_BITSLICE_ABI_VERSION: u32 = 1;

/// The version as a zero-terminated string.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zeros"),
};

/// The version of the library, such as "0.1.0". It lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The version of the library's binary interface. A program that loads the library itself compares it with AES_BITSLICE_ABI_VERSION; a
/// program linked with the library cannot get another version.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_abi_version() -> u32 {
    AES_BITSLICE_ABI_VERSION
}

/// One sentence about the last call on this thread that failed: what went wrong and what to do about it. Empty if none has failed. It may
/// be read until the next call on this thread. Empty once the thread's own values are gone, as in what `atexit` calls after main: the codes
/// of failures are the same there.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_last_error() -> *const c_char {
    message()
}

/// Sets how many threads share the work of a large call on the CPU, for the whole process: `threads` is 1 to 1024. Call it before the first
/// engine is opened: later, another number than the one in use is refused. Otherwise it is the number in the environment variable
/// AES_BITSLICE_THREADS, or if that is not set or empty, that of the cores that the process may use. With 1, calls run on the threads that
/// make them.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_set_threads(threads: usize) -> c_int {
    call(|| Ok(set_threads(threads)?))
}

/// Fills `output` with `len` bytes from the operating system's random number generator: for keys, nonces, IVs and counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_random(output: *mut c_void, len: usize) -> c_int {
    call(|| {
        let data = Data::writes(output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            data.give(|data| match data {
                Buffers::InPlace(bytes) | Buffers::Write(bytes) => getrandom::fill(bytes).map_err(|error| {
                    bytes.fill(0);
                    Failure::new(AES_BITSLICE_FAILED, format!("the system's random number generator failed: {error}"))
                }),
                Buffers::Read(_) | Buffers::To { .. } => unreachable!("an output only"),
            })
        }
    })
}
