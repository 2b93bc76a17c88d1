//! Operations without a tag, on host memory. Each returns when it is done.

use crate::border::call;
use crate::handles::CipherHandle;
use crate::memory::{Data, block, reference};
use crate::status::Failure;
use aes_bitslice_runtime::{CbcDecrypt, CbcEncrypt, Counter, CounterMode, Ctr, Direction, Ecb, Keystream, Xts};
use std::ffi::{c_int, c_void};

/// The direction of decryption: ciphertext to plaintext.
pub const AES_BITSLICE_DECRYPT: c_int = 0;
/// The direction of encryption: plaintext to ciphertext.
pub const AES_BITSLICE_ENCRYPT: c_int = 1;

/// The direction that the caller names.
pub(crate) fn direction(direction: c_int) -> Result<Direction, Failure> {
    match direction {
        AES_BITSLICE_DECRYPT => Ok(Direction::Decrypt),
        AES_BITSLICE_ENCRYPT => Ok(Direction::Encrypt),
        other => Err(Failure::invalid(format!(
            "`direction` is {other}: give AES_BITSLICE_ENCRYPT (1) or AES_BITSLICE_DECRYPT (0)"
        ))),
    }
}

/// An initial counter block, all of whose bits count.
///
/// # Safety
/// It is NULL, or points to 16 bytes.
pub(crate) unsafe fn counter(counter: *const u8) -> Result<Counter, Failure> {
    // SAFETY: as the caller guarantees.
    Ok(Counter::new(CounterMode::Ctr128BE, unsafe { block(counter, "counter") }?))
}

/// XTS of data units. The number of the first unit is little-endian.
///
/// # Safety
/// `first_unit` is NULL, or points to 16 bytes.
pub(crate) unsafe fn xts(direction: c_int, unit_bytes: u64, first_unit: *const u8) -> Result<Xts, Failure> {
    // SAFETY: as the caller guarantees.
    let first_unit = u128::from_le_bytes(unsafe { block(first_unit, "first_unit") }?);
    Ok(Xts::new(self::direction(direction)?, unit_bytes, first_unit)?)
}

/// CTR (SP 800-38A, section 6.5) of `len` bytes, any number. Encryption and decryption are the same.
///
/// `counter` is the initial counter block of the message, 16 bytes; all 128 bits count, big-endian, as in OpenSSL. `offset` is where in the
/// message `input` begins, in bytes: any part of a message can be processed alone. Never use a key twice with overlapping counter blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_ctr(
    cipher: *const CipherHandle,
    counter: *const u8,
    offset: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.run(Ctr::new(&self::counter(counter)?, offset), data) }
    })
}

/// Writes the key stream of CTR: `len` bytes, any number, from byte `offset` of the stream that begins with the encrypted block `counter`
/// (16 bytes). It equals the output of aes_bitslice_ctr for zeros: never use both under one key with overlapping counter blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_keystream(
    cipher: *const CipherHandle,
    counter: *const u8,
    offset: u64,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        let data = Data::writes(output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.run(Keystream::new(&self::counter(counter)?, offset), data) }
    })
}

/// ECB (SP 800-38A, section 6.1) of `len` bytes, a multiple of 16, in a `direction`. It reveals which blocks are equal: do not encrypt
/// messages with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_ecb(
    cipher: *const CipherHandle,
    direction: c_int,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.run(Ecb::new(self::direction(direction)?), data) }
    })
}

/// CBC (SP 800-38A, section 6.2) of `len` bytes, a multiple of 16, in a `direction`; there is no padding. Encryption is serial, on one CPU
/// core whatever the engine.
///
/// `iv` is the initialisation vector, 16 bytes: random for a new message; for a further part of a message, the last ciphertext block before
/// it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cbc(
    cipher: *const CipherHandle,
    direction: c_int,
    iv: *const u8,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header, here and below.
        let (cipher, iv) = unsafe { (reference(cipher, "cipher")?, block(iv, "iv")?) };
        // SAFETY: as above.
        unsafe {
            match self::direction(direction)? {
                Direction::Encrypt => cipher.run(CbcEncrypt::new(&iv), data),
                Direction::Decrypt => cipher.run(CbcDecrypt::new(&iv), data),
            }
        }
    })
}

/// XTS (IEEE 1619; SP 800-38E) of `len` bytes in a `direction`, with a key from aes_bitslice_key_new_xts: consecutive data units of
/// `unit_bytes` bytes, 16 to 16 777 216; the last may be shorter, down to 16 bytes. Every engine processes units of whole blocks, the CPU
/// all others.
///
/// `first_unit` is the number of the first data unit, 16 bytes, little-endian; unit numbers are consecutive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_xts(
    cipher: *const CipherHandle,
    direction: c_int,
    unit_bytes: u64,
    first_unit: *const u8,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = xts(direction, unit_bytes, first_unit)?;
            reference(cipher, "cipher")?.run(operation, data)
        }
    })
}
