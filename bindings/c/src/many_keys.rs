//! Calls under many keys, which take an engine, not a cipher: in host memory, and in GPU memory on the caller's stream.

use crate::batch::Range;
use crate::border::call;
use crate::handles::EngineHandle;
use crate::memory::{Data, block, place, reference, text, values};
use crate::pending::{PendingHandle, Value};
use crate::status::Failure;
use aes_bitslice_runtime::{self as runtime, EachKey, Error, Jobs, KeyBits, Mode};
use std::ffi::{c_char, c_int, c_void};

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

/// The mode that the caller names.
///
/// # Safety
/// `name` is NULL, or points to a string.
unsafe fn mode(name: *const c_char) -> Result<Mode, Failure> {
    // SAFETY: as the caller guarantees.
    Ok(Jobs::mode_named(&unsafe { text(name, "mode") }?.to_string_lossy())?)
}

/// The data of a call in a mode.
fn data(mode: Mode, input: *const c_void, output: *mut c_void, len: usize) -> Result<Data, Failure> {
    match mode {
        Mode::Keystream if !input.is_null() => Err(Failure::invalid("`input` is not NULL: keystream reads nothing")),
        Mode::Keystream => Data::writes(output, len),
        _ => Data::maps(input, output, len),
    }
}

/// Jobs in the library's types.
///
/// # Safety
/// `jobs` is NULL, or points to `count` of them, with keys as they describe; none of it changes meanwhile.
unsafe fn jobs(mode: Mode, jobs: *const Job, count: usize) -> Result<Jobs, Failure> {
    // SAFETY: as the caller guarantees.
    let jobs = unsafe { values(jobs, count, "jobs") }?;
    let one = |(n, job): (usize, &Job)| {
        let named = |failure: Failure| Failure::invalid(format!("job {n}: {}", failure.message));
        // SAFETY: as the caller guarantees.
        let key = unsafe { values(job.key, job.key_len, "key") }.map_err(named)?;
        Ok(runtime::Job { key, counter: job.counter, range: job.range.of("job", n)? })
    };
    let jobs = jobs.iter().enumerate().map(one).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Jobs::new(mode, &jobs)?)
}

/// The same number of bytes under each key.
///
/// # Safety
/// `counter` is NULL, or points to 16 bytes.
unsafe fn each_key(mode: Mode, key_len: usize, counter: *const u8, bytes: u64) -> Result<EachKey, Failure> {
    let bits = KeyBits::from_bytes(key_len).ok_or(Error::KeyLength { bytes: key_len })?;
    let counter = match mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt if counter.is_null() => [0; 16],
        Mode::EcbEncrypt | Mode::EcbDecrypt => {
            return Err(Failure::invalid(format!("`counter` is not NULL: {mode} has no counter")));
        }
        // SAFETY: as the caller guarantees.
        _ => unsafe { block(counter, "counter") }?,
    };
    Ok(EachKey::new(mode, bits, counter, bytes)?)
}

/// Runs `count` jobs, each with a key, a first counter block and a range of the data, in host memory on the CPU cores whatever the engine.
/// `mode` is "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream"; for key stream, `input` is NULL.
///
/// Ranges of the data, which has `len` bytes, ascend and do not overlap. Bytes of `output` between them stay as they are. Jobs with the
/// same key must share no counter: this is not checked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_jobs(
    engine: *const EngineHandle,
    mode: *const c_char,
    jobs: *const Job,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let mode = self::mode(mode)?;
            let data = self::data(mode, input, output, len)?;
            let (jobs, engine) = (self::jobs(mode, jobs, count)?, reference(engine, "engine")?);
            engine.kept(|engine| data.give(|data| Ok(engine.run_jobs(&jobs, data)?)))
        }
    })
}

/// Processes the same number of bytes under each of `count` contiguous keys: the first key is for the first `bytes_per_key` bytes, a
/// multiple of 16. Runs in host memory, on the CPU cores whatever the engine. `mode` is "ctr", "ecb-encrypt", "ecb-decrypt" or "keystream";
/// for key stream, `input` is NULL.
///
/// Each key has `key_len` bytes: 16, 24 or 32. `counter` is the first counter block under each key, 16 bytes; NULL for ECB. `len` is
/// `count` times `bytes_per_key`. The keys must not overlap the output.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_each_key(
    engine: *const EngineHandle,
    mode: *const c_char,
    keys: *const u8,
    key_len: usize,
    count: usize,
    counter: *const u8,
    bytes_per_key: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let mode = self::mode(mode)?;
            let data = self::data(mode, input, output, len)?;
            let each = each_key(mode, key_len, counter, bytes_per_key)?;
            let bytes = key_len.saturating_mul(count);
            Data::writes(output, len)?.places_apart(keys.cast_mut(), bytes, "keys")?;
            let (keys, engine) = (values(keys, bytes, "keys")?, reference(engine, "engine")?);
            engine.kept(|engine| data.give(|data| Ok(engine.run_each_key(&each, keys, data)?)))
        }
    })
}

/// Loads the kernels for many keys and waits for their known-answer test, so that no later call has to: for use before time counts, and
/// before a stream is captured into a graph. A CUDA engine must have one GPU. Other engines have nothing to load: the call succeeds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_prepare_many_keys(engine: *const EngineHandle) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(engine, "engine") }?.kept(|engine| match engine.backend().is_cuda() {
            true => Ok(engine.device_jobs()?.prepare()?),
            false => Ok(()),
        })
    })
}

/// aes_bitslice_run_jobs in GPU memory, on a stream, where the keys are expanded; descriptions of jobs and keys are in host memory. Fast
/// for jobs of a few KiB or more. Cannot be captured into a graph.
///
/// Writes a handle that waits for the call to `pending`; free it with aes_bitslice_pending_free, which wipes the library's copy of the
/// keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_jobs_on_stream(
    engine: *const EngineHandle,
    mode: *const c_char,
    jobs: *const Job,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let mode = self::mode(mode)?;
            let (data, place) = (self::data(mode, input, output, len)?, place(pending, "pending")?);
            let (jobs, engine) = (self::jobs(mode, jobs, count)?, reference(engine, "engine")?);
            let (input, output, len) = data.addresses();
            engine.kept(|engine| {
                let pending = engine.device_jobs()?.run_raw(stream.cast(), &jobs, input, output, len)?;
                PendingHandle::give(place, || pending.wait().map(|()| Value::Done));
                Ok(())
            })
        }
    })
}

/// aes_bitslice_run_each_key in GPU memory, on a stream; the keys are there, too, at a multiple of four bytes, and the counter is in host
/// memory. The keys are expanded on the fly and stay as they are: the caller must clear them. Can be captured into a graph after
/// aes_bitslice_prepare_many_keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_each_key_on_stream(
    engine: *const EngineHandle,
    mode: *const c_char,
    keys: *const u8,
    key_len: usize,
    count: usize,
    counter: *const u8,
    bytes_per_key: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let mode = self::mode(mode)?;
            let data = self::data(mode, input, output, len)?;
            let each = each_key(mode, key_len, counter, bytes_per_key)?;
            let bytes = key_len.saturating_mul(count);
            Data::writes(output, len)?.places_apart(keys.cast_mut(), bytes, "keys")?;
            let (input, output, len) = data.addresses();
            let (keys, bytes) = (keys as u64, bytes as u64);
            reference(engine, "engine")?.kept(|engine| {
                let jobs = engine.device_jobs()?;
                Ok(jobs.run_each_key_raw(stream.cast(), &each, keys, bytes, input, output, len)?)
            })
        }
    })
}
