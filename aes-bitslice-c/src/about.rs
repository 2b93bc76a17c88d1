//! Versions, messages, random bytes.

use crate::border::{call, message};
use crate::memory::Data;
use crate::status::{AES_BITSLICE_FAILED, Failure};
use aes_bitslice_runtime::Buffers;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The version of the binary interface. It is raised by every change after which programs that were compiled before no longer work.
pub const AES_BITSLICE_ABI_VERSION: u32 = 1;

/// The version, for zero-terminated strings.
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zeros"),
};

/// The version of the library, such as "0.1.0". It lives as long as the process.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The version of the library's binary interface. A program that loads the library by itself compares it with
/// AES_BITSLICE_ABI_VERSION; one that is linked with it cannot get another.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_abi_version() -> u32 {
    AES_BITSLICE_ABI_VERSION
}

/// What went wrong and what to do about it, in one sentence: of the last call on this thread that failed. Empty if none has. It
/// may be read until the next call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn aes_bitslice_last_error() -> *const c_char {
    message()
}

/// Fills `output` with `len` bytes of the operating system's random number generator: for keys, nonces, IVs and counters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_random(output: *mut c_void, len: usize) -> c_int {
    call(|| {
        let data = Data::writes(output, len)?;
        // SAFETY: what the head of the header asks of callers.
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
