//! Keys, engines and ciphers: made here, used by every call, freed by the caller.

use crate::border::{call, free};
use crate::context::kept;
use crate::memory::{Data, place, reference, text, values};
use crate::status::Failure;
use aes_bitslice_runtime::{Backend, Cipher, Engine, Key, KeyBits, Operation};
use std::ffi::{CString, c_char, c_int};
use std::ptr;

/// An AES key, or the two keys of XTS. It is wiped when it is freed, and never printed.
pub struct KeyHandle(pub(crate) Key);

/// An opened device, or the CPU.
pub struct EngineHandle {
    pub(crate) engine: Engine,
    description: CString,
}

impl EngineHandle {
    /// Does `work` with the engine, then restores this thread's CUDA context.
    pub(crate) fn kept<T>(&self, work: impl FnOnce(&Engine) -> T) -> T {
        kept(self.engine.backend().is_cuda(), || work(&self.engine))
    }

    /// A cipher for calls that have keys of their own.
    pub(crate) fn under_own_keys(&self) -> CipherHandle {
        CipherHandle(self.engine.under_own_keys())
    }
}

/// A key loaded on an engine; operations are called on it. Any number of threads may use it at the same time.
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

    /// Does `work`, then restores this thread's CUDA context.
    pub(crate) fn kept<T>(&self, work: impl FnOnce() -> T) -> T {
        kept(self.0.engine().backend().is_cuda(), work)
    }
}

/// A key of `len` bytes: 16, 24 or 32, in the byte order of FIPS 197. `bytes` is copied: wipe it when it is no longer needed.
///
/// Writes the key to `key`; free it with aes_bitslice_key_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_new(bytes: *const u8, len: usize, key: *mut *mut KeyHandle) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { key_of(bytes, len, key, "bytes", |bytes| Ok(Key::new(bytes)?)) }
}

/// An XTS key of `len` bytes, 32 or 64: the data key, then the tweak key (IEEE 1619, section 5.1). A key with equal
/// halves decrypts; it encrypts nothing. `bytes` is copied: wipe it when it is no longer needed.
///
/// Writes the key to `key`; free it with aes_bitslice_key_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_new_xts(bytes: *const u8, len: usize, key: *mut *mut KeyHandle) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { key_of(bytes, len, key, "bytes", |bytes| Ok(Key::xts(bytes)?)) }
}

/// A key of `bits` bits (128, 192 or 256), derived with HKDF-SHA256 (RFC 5869) from a secret of 16 random bytes or more, which is no
/// passphrase. `info` says what the key is for: another one gives a key that tells nothing about this one. `salt` is public. Both may have
/// 0 bytes. `secret` is not wiped.
///
/// Writes the key to `key`; free it with aes_bitslice_key_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_derive(
    secret: *const u8,
    secret_len: usize,
    salt: *const u8,
    salt_len: usize,
    info: *const u8,
    info_len: usize,
    bits: usize,
    key: *mut *mut KeyHandle,
) -> c_int {
    let derive = |secret: &[u8]| {
        // SAFETY: required of callers at the top of the header.
        let (salt, info) = unsafe { (values(salt, salt_len, "salt")?, values(info, info_len, "info")?) };
        let known = KeyBits::ALL.into_iter().find(|known| known.bits() == bits);
        let known = known.ok_or_else(|| Failure::invalid(format!("`bits` is {bits}: give 128, 192 or 256")))?;
        Ok(Key::derive(secret, salt, info, known)?)
    };
    // SAFETY: required of callers at the top of the header.
    unsafe { key_of(secret, secret_len, key, "secret", derive) }
}

unsafe fn key_of(
    bytes: *const u8,
    len: usize,
    key: *mut *mut KeyHandle,
    name: &str,
    make: impl FnOnce(&[u8]) -> Result<Key, Failure>,
) -> c_int {
    call(|| {
        let key = place(key, "key")?;
        // SAFETY: as the caller guarantees.
        let made = make(unsafe { values(bytes, len, name) }?)?;
        // SAFETY: the caller's place for a pointer.
        unsafe { key.write(Box::into_raw(Box::new(KeyHandle(made)))) };
        Ok(())
    })
}

/// Wipes and frees a key; does nothing for NULL. Ciphers made from it stay usable: they have a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_key_free(key: *mut KeyHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe { free_handle(key, false) }
}

/// Opens an engine by its name: "auto" (the first NVIDIA GPU, or the CPU), "cpu", "cpu-bitsliced", "cuda" or "cuda:N" (the NVIDIA GPU with
/// this number, from 0), "cuda:all", "opencl", "opencl:P.D". With "auto", data in host memory goes to the GPU or the CPU, whichever is
/// faster for it.
///
/// Writes the engine to `engine`; free it with aes_bitslice_engine_free. Fails with AES_BITSLICE_UNAVAILABLE if the device or its driver is
/// missing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_open(backend: *const c_char, engine: *mut *mut EngineHandle) -> c_int {
    call(|| {
        let place = place(engine, "engine")?;
        // SAFETY: required of callers at the top of the header.
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

/// One line about the engine: the device, and for "auto" why it was chosen. It lives as long as the engine. If `engine` is NULL, returns
/// NULL and leaves a message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_description(engine: *const EngineHandle) -> *const c_char {
    let mut description = ptr::null();
    call(|| {
        // SAFETY: required of callers at the top of the header.
        description = unsafe { reference(engine, "engine") }?.description.as_ptr();
        Ok(())
    });
    description
}

/// Frees an engine; does nothing for NULL. Ciphers and layouts made on it stay usable: they keep the device open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_engine_free(engine: *mut EngineHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe {
        let is_cuda = engine.as_ref().is_some_and(|engine| engine.engine.backend().is_cuda());
        free_handle(engine, is_cuda);
    }
}

/// Loads a key on an engine: expands it, and copies it to the device. Key and engine may be freed afterwards.
///
/// Writes the cipher to `cipher`; free it with aes_bitslice_cipher_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cipher_new(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    cipher: *mut *mut CipherHandle,
) -> c_int {
    call(|| {
        let place = place(cipher, "cipher")?;
        // SAFETY: required of callers at the top of the header.
        let (engine, key) = unsafe { (&reference(engine, "engine")?.engine, &reference(key, "key")?.0) };
        let cipher = kept(engine.backend().is_cuda(), || engine.cipher(key))?;
        // SAFETY: the caller's place for a pointer.
        unsafe { place.write(Box::into_raw(Box::new(CipherHandle(cipher)))) };
        Ok(())
    })
}

/// Wipes and frees a cipher; does nothing for NULL. Work that it has put on streams is not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cipher_free(cipher: *mut CipherHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe {
        let is_cuda = cipher.as_ref().is_some_and(|cipher| cipher.0.engine().backend().is_cuda());
        free_handle(cipher, is_cuda);
    }
}

/// Drops the value that a handle points to; does nothing for NULL.
///
/// # Safety
/// It is NULL, or a handle that this library gave out, that is not in use and not freed yet.
pub(crate) unsafe fn free_handle<T>(handle: *mut T, is_cuda: bool) {
    if !handle.is_null() {
        // SAFETY: as the caller guarantees.
        free(|| kept(is_cuda, || drop(unsafe { Box::from_raw(handle) })));
    }
}
