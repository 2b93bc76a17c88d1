//! Calls under many keys, which take an engine, not a cipher: in host memory, and in GPU memory on the caller's stream.

use crate::batch::Range;
use crate::border::call;
use crate::handles::EngineHandle;
use crate::memory::{Data, block, place, reference, values};
use crate::operation::{
    AES_BITSLICE_CTR, AES_BITSLICE_ECB_DECRYPT, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_KEYSTREAM, unknown,
};
use crate::pending::PendingHandle;
use crate::status::Failure;
use aes_bitslice_core::memory::tried;
use aes_bitslice_runtime::{self as runtime, Access, EachKey, Error, Jobs, KeyBits, Mode};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

/// A job of a call under many keys. The keys of all jobs have the same length.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The key, `key_len` bytes.
    pub key: *const u8,
    /// Bytes of the key: 16, 24 or 32.
    pub key_len: usize,
    /// The first counter block; all 128 bits count, big-endian. ECB ignores it.
    pub counter: [u8; 16],
    /// Its range in the data of the call; for ECB whole blocks of 16.
    pub range: Range,
}

/// What a call under many keys does: `count` jobs, or the same number of bytes under each of `count` keys. The other one of `jobs` and
/// `keys` is NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ManyKeys {
    /// AES_BITSLICE_CTR, AES_BITSLICE_KEYSTREAM, AES_BITSLICE_ECB_ENCRYPT or AES_BITSLICE_ECB_DECRYPT.
    pub kind: c_int,
    /// The number of jobs, or of keys.
    pub count: usize,
    /// The jobs, in host memory. Their ranges ascend and do not overlap. Bytes of the output between them stay as they are. Jobs with the
    /// same key must share no counter: this is not checked.
    pub jobs: *const Job,
    /// Contiguous keys, where the data is. The first is for the first `bytes_per_key` bytes. They must not overlap the output.
    pub keys: *const u8,
    /// Bytes of each of these keys: 16, 24 or 32.
    pub key_len: usize,
    /// The bytes under each of these keys, a multiple of 16.
    pub bytes_per_key: u64,
    /// The first counter block under each of these keys, 16 bytes in host memory; NULL for ECB.
    pub counter: *const u8,
}

/// What a call does, in the library's types.
enum Asked {
    Jobs(Jobs),
    EachKey(EachKey),
}

/// The mode of a call under many keys.
pub(crate) fn mode_of(kind: c_int) -> Option<Mode> {
    match kind {
        AES_BITSLICE_CTR => Some(Mode::Ctr),
        AES_BITSLICE_KEYSTREAM => Some(Mode::Keystream),
        AES_BITSLICE_ECB_ENCRYPT => Some(Mode::EcbEncrypt),
        AES_BITSLICE_ECB_DECRYPT => Some(Mode::EcbDecrypt),
        _ => None,
    }
}

pub(crate) fn access(mode: Mode) -> Access {
    if mode == Mode::Keystream { Access::Writes } else { Access::Maps }
}

/// Whether it has counters; otherwise `counter` has to be NULL.
pub(crate) fn counts(mode: Mode, counter: *const u8) -> Result<bool, Failure> {
    match mode {
        Mode::Ctr | Mode::Keystream => Ok(true),
        _ if counter.is_null() => Ok(false),
        _ => Err(Failure::invalid(format!("`counter` is not NULL: {mode} has no counter"))),
    }
}

impl ManyKeys {
    /// What it says of this data.
    ///
    /// # Safety
    /// What the fields refer to in host memory lives and does not change meanwhile.
    unsafe fn of(&self, input: *const c_void, output: *mut c_void, len: usize) -> Result<(Asked, Data), Failure> {
        let known = "AES_BITSLICE_CTR, _KEYSTREAM, _ECB_ENCRYPT or _ECB_DECRYPT for many keys";
        let mode = mode_of(self.kind).ok_or_else(|| unknown(self.kind, known))?;
        let data = Data::of(access(mode), mode, input, output, len)?;
        // SAFETY: as the caller guarantees.
        let asked = unsafe {
            match (self.jobs.is_null(), self.keys.is_null()) {
                (true, false) => Asked::EachKey(self.each_key(mode)?),
                (false, false) => return Err(Failure::invalid("neither `jobs` nor `keys` is NULL: give one of them")),
                // An empty list may be NULL, but a caller who has data meant to give something.
                (true, true) if self.count > 0 || len > 0 => {
                    return Err(Failure::invalid("`jobs` and `keys` are both NULL: give one of them"));
                }
                (_, true) => Asked::Jobs(self.jobs(mode)?),
            }
        };
        if let Asked::EachKey(_) = asked {
            Data::writes(output, len)?.places_apart(self.keys.cast_mut(), self.key_bytes(), "keys")?;
        }
        Ok((asked, data))
    }

    /// Bytes of all keys.
    fn key_bytes(&self) -> usize {
        self.key_len.saturating_mul(self.count)
    }

    unsafe fn jobs(&self, mode: Mode) -> Result<Jobs, Failure> {
        // SAFETY: as the caller of `of` guarantees.
        let jobs = unsafe { values(self.jobs, self.count, "jobs") }?;
        let one = |(n, job): (usize, &Job)| {
            let named = |failure: Failure| Failure::invalid(format!("job {n}: {}", failure.message));
            // SAFETY: as the caller of `of` guarantees.
            let key = unsafe { values(job.key, job.key_len, "key") }.map_err(named)?;
            Ok(runtime::Job { key, counter: job.counter, range: job.range.of("job", n)? })
        };
        let jobs = tried::<_, Failure>(jobs.iter().enumerate().map(one))?;
        Ok(Jobs::new(mode, &jobs)?)
    }

    unsafe fn each_key(&self, mode: Mode) -> Result<EachKey, Failure> {
        let bits = KeyBits::from_bytes(self.key_len).ok_or(Error::KeyLength { bytes: self.key_len })?;
        // SAFETY: as the caller of `of` guarantees.
        let counter = if counts(mode, self.counter)? { unsafe { block(self.counter, "counter") }? } else { [0; 16] };
        Ok(EachKey::new(mode, bits, counter, self.bytes_per_key)?)
    }
}

/// Does what `many_keys` says with `len` bytes in host memory, on the CPU cores whatever the engine. For key stream, `input` is NULL. With
/// `keys`, `len` is `count` times `bytes_per_key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_many_keys(
    engine: *const EngineHandle,
    many_keys: *const ManyKeys,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (engine, many) = (reference(engine, "engine")?, reference(many_keys, "many_keys")?);
            let (asked, data) = many.of(input, output, len)?;
            let keys = values(many.keys, if many.keys.is_null() { 0 } else { many.key_bytes() }, "keys")?;
            engine.kept(|engine| {
                data.give(|data| match asked {
                    Asked::Jobs(jobs) => Ok(engine.under_own_keys().run(jobs, data)?),
                    Asked::EachKey(each) => Ok(engine.run_each_key(&each, keys, data)?),
                })
            })
        }
    })
}

/// Loads the kernels for many keys and waits for their known-answer test, so that no later call has to: for use before time counts, and
/// before a stream is captured into a graph. A CUDA engine must have one GPU. Other engines have nothing to load: the call succeeds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_prepare_many_keys(engine: *const EngineHandle) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(engine, "engine") }?.kept(|engine| {
            if engine.backend().is_cuda() { Ok(engine.under_own_keys().device()?.prepare_many_keys()?) } else { Ok(()) }
        })
    })
}

/// aes_bitslice_run_many_keys in GPU memory, on a stream, where the keys are expanded.
///
/// Jobs are fast from a few KiB each on. Their call cannot be captured into a graph, and writes a handle that waits for it to `pending`; free
/// it with aes_bitslice_pending_free, which wipes the library's copy of the keys.
///
/// With `keys`, these are in GPU memory, at a multiple of four bytes, and stay as they are: the caller must clear them. Such a call can be
/// captured into a graph after aes_bitslice_prepare_many_keys; `pending` may be NULL, else NULL is written to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_many_keys_on_stream(
    engine: *const EngineHandle,
    many_keys: *const ManyKeys,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (engine, many) = (reference(engine, "engine")?, reference(many_keys, "many_keys")?);
            let (asked, data) = many.of(input, output, len)?;
            let ((input, output, len), stream) = (data.addresses(), stream.cast());
            match asked {
                Asked::Jobs(jobs) => {
                    let place = place(pending, "pending")?;
                    let put = engine.kept(|engine| {
                        engine.under_own_keys().device()?.run_raw_with_output(stream, jobs, input, output, len)
                    })?;
                    PendingHandle::give(place, 1, || put.wait());
                }
                Asked::EachKey(each) => {
                    let (keys, bytes) = (many.keys as u64, many.key_bytes() as u64);
                    engine.kept(|engine| {
                        let none = engine.under_own_keys();
                        none.device()?.run_each_key_raw(stream, &each, keys, bytes, input, output, len)
                    })?;
                    NonNull::new(pending).into_iter().for_each(|place| place.write(ptr::null_mut()));
                }
            }
            Ok(())
        }
    })
}
