//! Requests to Valgrind's memcheck, as `valgrind/memcheck.h` has them: instructions that do nothing elsewhere.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("Valgrind's requests are written here for x86-64 under Linux");

use std::arch::asm;
use std::hint::black_box;

const RUNNING_ON_VALGRIND: usize = 0x1001;
/// `('M' << 24) + ('C' << 16)`, and which.
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;
const GET_VBITS: usize = 0x4d43_0008;
const COUNT_ERRORS: usize = 0x1201;

fn request(request: usize, arguments: [usize; 3]) -> usize {
    let block = [request, arguments[0], arguments[1], arguments[2], 0, 0];
    let mut result = 0;
    // SAFETY: the rotations add up to 128 bits and the exchange is of a register with itself, so nothing changes except under Valgrind,
    // which reads the block and writes rdx.
    unsafe {
        asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") block.as_ptr(), inout("rdx") result, options(nostack)
        );
    }
    result
}

/// Whether this is running under Valgrind.
pub fn is_there() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 3]) != 0
}

/// The number of branches and addresses that depended on undefined bytes so far, each as often as it was executed.
pub fn findings() -> usize {
    request(COUNT_ERRORS, [0; 3])
}

/// From now on memcheck considers these bytes undefined.
pub fn make_undefined(bytes: &mut [u8]) {
    // The compiler must forget what it knew about them.
    let bytes = black_box(bytes);
    request(MAKE_MEM_UNDEFINED, [bytes.as_mut_ptr() as usize, bytes.len(), 0]);
}

/// From now on memcheck considers these bytes undefined. They are only borrowed: what memcheck knows of them changes, and they do not.
pub fn make_borrowed_undefined(bytes: &[u8]) {
    let bytes = black_box(bytes);
    request(MAKE_MEM_UNDEFINED, [bytes.as_ptr() as usize, bytes.len(), 0]);
}

/// From now on memcheck considers these bytes defined.
pub fn make_defined(bytes: &mut [u8]) {
    // The compiler must forget what it knew about them.
    let bytes = black_box(bytes);
    request(MAKE_MEM_DEFINED, [bytes.as_mut_ptr() as usize, bytes.len(), 0]);
}

/// Whether every byte has an undefined bit.
pub fn is_undefined(bytes: &[u8]) -> bool {
    undefined_bytes(bytes) == bytes.len()
}

/// How many bytes have one.
pub fn undefined_bytes(bytes: &[u8]) -> usize {
    let mut bits = vec![0u8; bytes.len()];
    let status = request(GET_VBITS, [bytes.as_ptr() as usize, bits.as_mut_ptr() as usize, bytes.len()]);
    assert_eq!(status, 1, "memcheck gave no bits");
    make_defined(&mut bits);
    bits.iter().filter(|bits| **bits != 0).count()
}
