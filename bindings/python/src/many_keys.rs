//! Calls under many keys, which take an engine, not a cipher: jobs, and the same number of bytes under each key.

use crate::batch::Places;
use crate::buffer::small;
use crate::call::on_host;
use crate::device::JobsOnDevice;
use crate::dlpack::Place;
use crate::driver::order;
use crate::error::of_runtime;
use crate::memory::{Call, Data, Memory, in_words};
use crate::opened::Opened;
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{Access, Buffers, EachKey, Jobs, KeyBits, Mode, Operation};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// How a call in this mode accesses its data.
pub fn access(mode: Mode) -> Access {
    if mode == Mode::Keystream { Access::Writes } else { Access::Maps }
}

fn has_counters(mode: Mode) -> bool {
    matches!(mode, Mode::Ctr | Mode::Keystream)
}

/// The number of rows of an array of two dimensions.
fn rows_of(keys: Any<'_, '_>) -> PyResult<Option<u64>> {
    let shape = keys.getattr_opt(intern!(keys.py(), "shape"))?;
    Ok(shape.and_then(|shape| shape.extract::<(u64, u64)>().ok()).map(|(rows, _)| rows))
}

/// The length of keys of this many bits.
pub fn bits_of(key_bits: usize) -> PyResult<KeyBits> {
    let bits = KeyBits::ALL.into_iter().find(|bits| bits.bits() == key_bits);
    bits.ok_or_else(|| PyValueError::new_err(format!("a key has 128, 192 or 256 bits, not {key_bits}")))
}

/// Refuses keys and counters that are not in host memory.
pub fn in_host_memory(memory: &Memory) -> PyResult<()> {
    match memory.place {
        Place::Host => Ok(()),
        place => {
            let place = in_words(place);
            Err(PyTypeError::new_err(format!(
                "keys and counters of jobs have to be in host memory, and these are {place}: \
                 Engine.job_layout and Engine.gcm_job_layout are for those on a GPU"
            )))
        }
    }
}

/// Refuses an array of two dimensions whose rows are not a key of `bytes` bytes each.
pub fn check_rows(keys: Any<'_, '_>, of_keys: &Memory, bytes: usize) -> PyResult<()> {
    match rows_of(keys)? {
        Some(rows) if rows > 0 && of_keys.len / rows != bytes as u64 => {
            let row = counted(of_keys.len / rows, "byte");
            let what = format!("keys has rows of {row}, and keys of {} bits have {bytes}", 8 * bytes);
            Err(PyValueError::new_err(format!("{what}: a row is a key")))
        }
        _ => Ok(()),
    }
}

/// Processes the same number of bytes under each of `keys`.
pub fn each_key<'py>(
    opened: &Opened,
    mode: &str,
    (keys, key_bits): (Any<'_, 'py>, usize),
    (counter, bytes): (Option<Any<'_, 'py>>, u64),
    data: &Data<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mode = Jobs::mode_named(mode).map_err(of_runtime)?;
    let bits = bits_of(key_bits)?;
    if !has_counters(mode) && counter.is_some() {
        return Err(PyTypeError::new_err(format!("{mode} has no counter")));
    }
    let counter = counter.map_or(Ok([0; 16]), block)?;
    let each = EachKey::new(mode, bits, counter, bytes).map_err(of_runtime)?;
    let of_keys = Memory::of(keys, false, "keys", data.stream)?;
    check_rows(keys, &of_keys, bits.bytes())?;
    let all = (of_keys.len / bits.bytes() as u64).checked_mul(bytes).and_then(|all| usize::try_from(all).ok());
    let all = all.ok_or_else(|| PyValueError::new_err("more bytes than there can be"))?;
    if data.data.is_none() && data.out.is_none() && of_keys.place != Place::Host {
        return Err(PyTypeError::new_err("without data, no new array is made in GPU memory: give out="));
    }
    let length = data.out.is_none().then_some(all);
    let call = Call::of(access(mode), mode.name(), &Data { length, ..*data })?;
    if of_keys.place != call.place {
        let [keys, data] = [of_keys.place, call.place].map(in_words);
        return Err(PyTypeError::new_err(format!(
            "the keys are {keys} and the data {data}: both have to be in one memory"
        )));
    }
    call.apart(&of_keys, "the keys")?;
    match call.place {
        Place::Host => {
            let keys = of_keys.host();
            let work = |data: Buffers<'_>| opened.engine.run_each_key(&each, keys.input(), data);
            on_host(&call, opened, false, |output| output.fill(0), work)?;
        }
        Place::Cuda(ordinal) => {
            let gpu = JobsOnDevice::of(&opened.engine, ordinal, &opened.many_keys_loaded)?;
            // The work that wrote the keys may be on another stream.
            if let (Some(theirs), Some(ours)) = (of_keys.stream, call.stream)
                && theirs.handle != ours.handle
            {
                order(data.py, ordinal, theirs.handle, ours.handle)?;
            }
            gpu.run_each_key(&call, (mode, &each), &of_keys)?;
            call.is_on_stream()?;
            if let Some(stream) = call.stream {
                of_keys.is_used(keys, stream)?;
            }
        }
    }
    Ok(call.result)
}

/// Runs jobs, each with a key, a first counter and a range of the data.
pub fn jobs<'py>(
    opened: &Opened,
    mode: &str,
    keys: Any<'_, 'py>,
    counters: Option<Any<'_, 'py>>,
    ranges: Any<'_, 'py>,
    data: &Data<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mode = Jobs::mode_named(mode).map_err(of_runtime)?;
    let places = Places::of(ranges, "ranges")?;
    let n = places.view()?.len();
    let all_jobs = counted(n, "job");
    let of_keys = Memory::of(keys, false, "keys", None)?;
    in_host_memory(&of_keys)?;
    let counters = counters.map(|counters| Memory::of(counters, false, "counters", None)).transpose()?;
    if let Some(counters) = &counters {
        in_host_memory(counters)?;
        if !has_counters(mode) {
            return Err(PyTypeError::new_err(format!("{mode} has no counters")));
        }
        if Some(counters.len) != (n as u64).checked_mul(16) {
            let len = counted(counters.len, "byte");
            return Err(PyValueError::new_err(format!("counters has {len} for {all_jobs}: give 16 for each")));
        }
    } else if has_counters(mode) {
        return Err(PyTypeError::new_err(format!("{mode} takes counters, of 16 bytes for each job")));
    }
    if let Some(rows) = rows_of(keys)?.filter(|rows| *rows != n as u64) {
        let rows = counted(rows, "row");
        return Err(PyValueError::new_err(format!("keys has {rows} for {all_jobs}: a row is the key of a job")));
    }
    let bits = match n {
        0 => Some(KeyBits::Aes128),
        _ => KeyBits::from_bytes(of_keys.len as usize / n),
    };
    let Some(bits) = bits.filter(|bits| (n as u64).checked_mul(bits.bytes() as u64) == Some(of_keys.len)) else {
        let len = counted(of_keys.len, "byte");
        return Err(PyValueError::new_err(format!(
            "keys has {len} for {all_jobs}: give 16, 24 or 32 for each, the same number, side by side"
        )));
    };
    let first = counters.as_ref().map(Memory::host);
    let first = first.as_ref().map_or(&[][..], |all| all.input().as_chunks().0);
    let jobs = Jobs::from_arrays(mode, bits, of_keys.host().input(), first, &places.view()?).map_err(of_runtime)?;
    let call = Call::of(access(mode), mode.name(), data)?;
    call.apart(&of_keys, "the keys")?;
    counters.iter().try_for_each(|counters| call.apart(counters, "the counters"))?;
    under_own_keys(opened, &call, jobs)?;
    Ok(call.result)
}

/// Performs an operation that has its keys, and waits for it.
pub fn under_own_keys<O: Operation>(opened: &Opened, call: &Call<'_>, operation: O) -> PyResult<O::Output> {
    match call.place {
        Place::Host => {
            let cipher = opened.engine.under_own_keys();
            let clear = |output: &mut [u8]| operation.clear(output);
            on_host(call, opened, false, clear, |data| cipher.run(operation.clone(), data))
        }
        Place::Cuda(ordinal) => {
            let gpu = JobsOnDevice::of(&opened.engine, ordinal, &opened.many_keys_loaded)?;
            let output = gpu.run(call, operation)?;
            call.is_on_stream()?;
            Ok(output)
        }
    }
}

/// A counter block.
fn block(counter: Any<'_, '_>) -> PyResult<[u8; 16]> {
    let counter = small(counter, "a counter")?;
    counter
        .bytes()
        .try_into()
        .map_err(|_| PyValueError::new_err(format!("a counter has 16 bytes, not {}", counter.len())))
}
