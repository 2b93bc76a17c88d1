//! Batches of GCM whose messages are each under a key of their own, which take an engine, not a cipher: in host memory, and in GPU memory on
//! the caller's stream.

use crate::border::call;
use crate::handles::EngineHandle;
use crate::memory::{Data, reference, values};
use crate::operation::Operation;
use crate::pending::PendingHandle;
use crate::run::{Given, InHostMemory, OnStream};
use crate::status::Failure;
use aes_bitslice_runtime::{Error, JobKeys, KeyBits};
use std::ffi::{c_int, c_void};

/// The keys of the messages of a batch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// `count` contiguous keys of `key_len` bytes, in host memory. They must not overlap the output.
    pub keys: *const u8,
    /// Bytes of each key: 16, 24 or 32.
    pub key_len: usize,
    /// The number of keys.
    pub count: usize,
    /// For each message the number of its key, from 0; NULL if message n has key n, and there are as many keys as messages.
    pub numbers: *const u32,
}

impl Keys {
    /// In the library's type, for this number of messages.
    ///
    /// # Safety
    /// What the fields refer to lives and does not change for `'a`.
    unsafe fn of<'a>(&self, messages: usize) -> Result<JobKeys<'a>, Failure> {
        let bits = KeyBits::from_bytes(self.key_len).ok_or(Error::KeyLength { bytes: self.key_len })?;
        // SAFETY: as the caller guarantees.
        unsafe {
            let keys = values(self.keys, self.bytes(), "keys")?;
            match self.numbers.is_null() {
                true => Ok(JobKeys::each(bits, keys)),
                false => Ok(JobKeys::numbered(bits, keys, values(self.numbers, messages, "numbers")?)),
            }
        }
    }

    /// Refuses keys within an output in host memory.
    fn check_apart(&self, given: Given) -> Result<(), Failure> {
        Data::writes(given.output, given.len)?.places_apart(self.keys.cast_mut(), self.bytes(), "keys").map(drop)
    }

    /// Bytes of all keys.
    fn bytes(&self) -> usize {
        self.key_len.saturating_mul(self.count)
    }
}

/// As aes_bitslice_run, for AES_BITSLICE_GCM_ENCRYPT_BATCH and AES_BITSLICE_GCM_DECRYPT_BATCH, with each message under its own key, on the CPU
/// cores whatever the engine. Nonces have 12 bytes, and no two messages under one key may have the same. A call to encrypt is refused if two
/// messages have the same key number and the same nonce. The keys themselves are not compared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_under_keys(
    engine: *const EngineHandle,
    keys: *const Keys,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    result: *mut c_void,
    result_len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (engine, keys) = (reference(engine, "engine")?, reference(keys, "keys")?);
            let (operation, given) = (reference(operation, "operation")?, Given { input, output, len });
            keys.check_apart(given)?;
            let cipher = &engine.under_own_keys();
            let work = InHostMemory { cipher, given, result, result_len };
            operation.give_gcm_batch(Some(&keys.of(operation.count)?), work)
        }
    })
}

/// aes_bitslice_run_under_keys on data in GPU memory, on a stream, as aes_bitslice_run_on_stream. The keys are in host memory; for keys in GPU
/// memory, make a layout. Freeing `pending` wipes the library's copy of the keys. aes_bitslice_prepare_many_keys loads the kernels.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_under_keys_on_stream(
    engine: *const EngineHandle,
    keys: *const Keys,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (engine, keys) = (reference(engine, "engine")?, reference(keys, "keys")?);
            let (operation, given) = (reference(operation, "operation")?, Given { input, output, len });
            let cipher = &engine.under_own_keys();
            operation.give_gcm_batch(Some(&keys.of(operation.count)?), OnStream { cipher, given, stream, pending })
        }
    })
}
