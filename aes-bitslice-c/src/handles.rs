//! Keys, engines and ciphers: made here, used by every call, freed by the caller.

use crate::border::{call, free};
use crate::context::kept;
use crate::memory::{Data, place, reference, text, values};
use crate::status::Failure;
use aes_bitslice_runtime::{Backend, Cipher, Engine, Key, Operation};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

/// An AES key, or the two of XTS. It is wiped when it is freed, and never printed.
pub struct KeyHandle(pub(crate) Key);

/// A device, or the CPU, that was opened.
pub struct EngineHandle {
    pub(crate) engine: Engine,
    description: CString,
}

impl EngineHandle {
    /// Does `work` with the engine, after which this thread's CUDA context is what it was.
    pub(crate) fn kept<T>(&self, work: impl FnOnce(&Engine) -> T) -> T {
        kept(self.engine.backend().is_cuda(), || work(&self.engine))
    }
}

/// A key on an engine: what operations are called on. Any number of threads may use one at the same time.
pub struct CipherHandle(pub(crate) Cipher);

impl CipherHandle {
    /// Does an operation on host memory.
    ///
    /// # Safety
    /// As [`Data::give`].
    pub(crate) unsafe fn run<O: Operation>(&self, operation: O, data: Data) -> Result<O::Output, Failure> {
        self.kept(|| {
            // SAFETY: as the caller guarantees.
            unsafe { data.give(|data| Ok(self.0.run(operation, data)?)) }
        })
    }

    /// Does `work`, after which this thread's CUDA context is what it was.
    pub(crate) fn kept<T>(&self, work: impl FnOnce() -> T) -> T {
        kept(self.0.engine().backend().is_cuda(), work)
    }
}

/// A key of `len` bytes: 16, 24 or 32, in the byte order of FIPS 197. `bytes` is copied: wipe it when it is no longer needed.
///
/// Writes the key to `key`, to be freed by aes_bitslice_key_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_new(bytes: *const u8, len: usize, key: *mut *mut KeyHandle) -> c_int {
    // SAFETY: what the head of the header asks of callers.
    unsafe { key_of(bytes, len, key, Key::new) }
}

/// A key of XTS of `len` bytes, 32 or 64: the key of the data, then that of the tweaks (IEEE 1619, section 5.1). Two halves that are
/// equal are refused. `bytes` is copied: wipe it when it is no longer needed.
///
/// Writes the key to `key`, to be freed by aes_bitslice_key_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_new_xts(bytes: *const u8, len: usize, key: *mut *mut KeyHandle) -> c_int {
    // SAFETY: what the head of the header asks of callers.
    unsafe { key_of(bytes, len, key, Key::xts) }
}

unsafe fn key_of(
    bytes: *const u8,
    len: usize,
    key: *mut *mut KeyHandle,
    make: impl FnOnce(&[u8]) -> Result<Key, aes_bitslice_runtime::Error>,
) -> c_int {
    call(|| {
        let key = place(key, "key")?;
        // SAFETY: as the caller guarantees.
        let made = make(unsafe { values(bytes, len, "bytes") }?)?;
        // SAFETY: the caller's place for a pointer.
        unsafe { key.write(Box::into_raw(Box::new(KeyHandle(made)))) };
        Ok(())
    })
}

/// Wipes and frees a key; does nothing for NULL. Ciphers that were made of it stay usable: they have a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_free(key: *mut KeyHandle) {
    // SAFETY: what the head of the header asks of callers.
    unsafe { free_handle(key, false) }
}

/// Opens an engine by its name: "auto" (the first NVIDIA GPU, or the CPU), "cpu", "cpu-bitsliced", "cuda" or "cuda:N" (the NVIDIA GPU
/// with this number, from 0), "cuda:all", "opencl", "opencl:P.D". With "auto", data in host memory goes to whichever of GPU and CPU is
/// faster for it.
///
/// Writes the engine to `engine`, to be freed by aes_bitslice_engine_free. Fails with AES_BITSLICE_UNAVAILABLE where the device or
/// its driver is missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_open(backend: *const c_char, engine: *mut *mut EngineHandle) -> c_int {
    call(|| {
        let place = place(engine, "engine")?;
        // SAFETY: what the head of the header asks of callers.
        let name = unsafe { text(backend, "backend") }?.to_string_lossy();
        let backend: Backend = name.parse()?;
        let engine = kept(backend == Backend::Auto || backend.is_cuda(), || Engine::open(backend))?;
        let description = engine.description().bytes().filter(|&byte| byte != 0).collect::<Vec<u8>>();
        let description = CString::new(description).expect("no zeros are left");
        // SAFETY: the caller's place for a pointer.
        unsafe { place.write(Box::into_raw(Box::new(EngineHandle { engine, description }))) };
        Ok(())
    })
}

/// One line about the engine: the device, and for "auto" why it is this one. It lives as long as the engine. NULL, and a message,
/// where `engine` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_description(engine: *const EngineHandle) -> *const c_char {
    let mut description = ptr::null();
    call(|| {
        // SAFETY: what the head of the header asks of callers.
        description = unsafe { reference(engine, "engine") }?.description.as_ptr();
        Ok(())
    });
    description
}

/// Frees an engine; does nothing for NULL. Ciphers that were made on it stay usable: they keep the device open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_free(engine: *mut EngineHandle) {
    // SAFETY: what the head of the header asks of callers.
    unsafe {
        let is_cuda = engine.as_ref().is_some_and(|engine| engine.engine.backend().is_cuda());
        free_handle(engine, is_cuda);
    }
}

/// Brings a key to an engine: expands it, and copies it to the device. Key and engine may be freed afterwards.
///
/// Writes the cipher to `cipher`, to be freed by aes_bitslice_cipher_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cipher_new(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    cipher: *mut *mut CipherHandle,
) -> c_int {
    call(|| {
        let place = place(cipher, "cipher")?;
        // SAFETY: what the head of the header asks of callers.
        let (engine, key) = unsafe { (&reference(engine, "engine")?.engine, &reference(key, "key")?.0) };
        let cipher = kept(engine.backend().is_cuda(), || engine.cipher(key))?;
        // SAFETY: the caller's place for a pointer.
        unsafe { place.write(Box::into_raw(Box::new(CipherHandle(cipher)))) };
        Ok(())
    })
}

/// Wipes and frees a cipher; does nothing for NULL. Work that it has put on streams is not disturbed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cipher_free(cipher: *mut CipherHandle) {
    // SAFETY: what the head of the header asks of callers.
    unsafe {
        let is_cuda = cipher.as_ref().is_some_and(|cipher| cipher.0.engine().backend().is_cuda());
        free_handle(cipher, is_cuda);
    }
}

/// Drops what a handle points to; does nothing for NULL.
///
/// # Safety
/// It is NULL, or a handle that was given out, is not used by anybody, and not freed yet.
pub(crate) unsafe fn free_handle<T>(handle: *mut T, is_cuda: bool) {
    if !handle.is_null() {
        // SAFETY: as the caller guarantees.
        free(|| kept(is_cuda, || drop(unsafe { Box::from_raw(handle) })));
    }
}
