//! Calls under many keys, which take an engine, not a cipher: jobs, and the same number of bytes under each key.

use crate::batch::Places;
use crate::buffer::small;
use crate::call::{Grain, Pace, by_messages, in_parts};
use crate::device::JobsOnDevice;
use crate::dlpack::Place;
use crate::driver::order;
use crate::error::of_runtime;
use crate::memory::{Call, Host, Memory, in_words};
use crate::opened::Opened;
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{EachKey, Jobs, KeyBits, Mode};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use std::ops::Range;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The data of a call, as the caller gave it.
pub struct Data<'a, 'py> {
    pub data: Option<Any<'a, 'py>>,
    pub out: Option<Any<'a, 'py>>,
    pub stream: Option<Any<'a, 'py>>,
}

impl<'py> Data<'_, 'py> {
    /// The memory of a call in this mode; for one that only writes, `len` bytes of a new object if no output was given.
    fn call(&self, py: Python<'py>, mode: Mode, len: Option<usize>) -> PyResult<Call<'py>> {
        match (mode, self.data) {
            (Mode::Keystream, None) => {
                Call::writing(py, if self.out.is_some() { None } else { len }, self.out, self.stream)
            }
            (Mode::Keystream, Some(_)) => Err(PyTypeError::new_err("keystream reads no data: give out=")),
            (_, Some(data)) => Call::mapping(data, self.out, self.stream),
            (_, None) => Err(PyTypeError::new_err(format!("{mode} takes data"))),
        }
    }
}

fn has_counters(mode: Mode) -> bool {
    matches!(mode, Mode::Ctr | Mode::Keystream)
}

/// The number of rows of an array of two dimensions.
fn rows_of(keys: Any<'_, '_>) -> PyResult<Option<u64>> {
    let shape = keys.getattr_opt(intern!(keys.py(), "shape"))?;
    Ok(shape.and_then(|shape| shape.extract::<(u64, u64)>().ok()).map(|(rows, _)| rows))
}

/// Refuses an array of two dimensions whose rows are not a key of `bytes` bytes each.
fn check_rows(keys: Any<'_, '_>, of_keys: &Memory, bytes: usize) -> PyResult<()> {
    match rows_of(keys)? {
        Some(rows) if rows > 0 && of_keys.len / rows != bytes as u64 => {
            let row = counted(of_keys.len / rows, "byte");
            let what = format!("keys has rows of {row}, and keys of {} bits have {bytes}", 8 * bytes);
            Err(PyValueError::new_err(format!("{what}: a row is a key")))
        }
        _ => Ok(()),
    }
}

/// Refuses memory that is read while the output is written, if the output overlaps it.
fn check_apart(memory: &Memory, name: &str, call: &Call<'_>) -> PyResult<()> {
    match memory.pointer < call.output() + call.len && call.output() < memory.pointer + memory.len {
        true => Err(PyValueError::new_err(format!("the {name} and the output overlap"))),
        false => Ok(()),
    }
}

/// Processes the same number of bytes under each of `keys`.
pub fn each_key<'py>(
    py: Python<'py>,
    opened: &Opened,
    mode: &str,
    (keys, key_bits): (Any<'_, 'py>, usize),
    (counter, bytes): (Option<Any<'_, 'py>>, u64),
    data: &Data<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let mode = Jobs::mode_named(mode).map_err(of_runtime)?;
    let bits = KeyBits::ALL.into_iter().find(|bits| bits.bits() == key_bits);
    let bits = bits.ok_or_else(|| PyValueError::new_err(format!("a key has 128, 192 or 256 bits, not {key_bits}")))?;
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
    let call = data.call(py, mode, Some(all))?;
    if of_keys.place != call.place {
        let [keys, data] = [of_keys.place, call.place].map(in_words);
        return Err(PyTypeError::new_err(format!(
            "the keys are {keys} and the data {data}: both have to be in one memory"
        )));
    }
    check_apart(&of_keys, "keys", &call)?;
    match call.place {
        Place::Host => {
            let keys = of_keys.host();
            let fits = all as u64 == call.len && of_keys.len.is_multiple_of(bits.bytes() as u64);
            // Lengths that do not fit are one part, which is refused before anything is done.
            let grain = Grain(if fits { bytes as usize } else { call.len as usize + 1 });
            let work = |part: Range<usize>, host: &mut Host| {
                let numbers = part.start / bytes as usize..part.end / bytes as usize;
                let some = || &keys.input()[numbers.start * bits.bytes()..numbers.end * bits.bytes()];
                opened.engine.run_each_key(&each, if fits { some() } else { keys.input() }, host.buffers())
            };
            in_parts(py, call.host(), &grain, &Pace::default(), |panic| opened.poison(panic), work)?;
        }
        Place::Cuda(ordinal) => {
            let gpu = JobsOnDevice::of(&opened.engine, ordinal, &opened.many_keys_loaded)?;
            // The work that wrote the keys may be on another stream.
            if let (Some(theirs), Some(ours)) = (of_keys.stream, call.stream)
                && theirs.handle != ours.handle
            {
                order(py, ordinal, theirs.handle, ours.handle)?;
            }
            gpu.run_each_key(py, &call, (mode, &each), &of_keys)?;
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
    py: Python<'py>,
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
    let in_host_memory = |memory: &Memory| match memory.place {
        Place::Host => Ok(()),
        place => {
            let place = in_words(place);
            Err(PyTypeError::new_err(format!(
                "keys and counters of jobs have to be in host memory, and these are {place}"
            )))
        }
    };
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
    let call = data.call(py, mode, None)?;
    match call.place {
        Place::Host => {
            check_apart(&of_keys, "keys", &call)?;
            counters.iter().try_for_each(|counters| check_apart(counters, "counters", &call))?;
            let work = |numbers: Range<usize>, at, host: &mut Host| match numbers.len() == n {
                true => opened.engine.run_jobs(&jobs, host.buffers()),
                false => opened.engine.run_jobs(&jobs.part(numbers, at), host.buffers()),
            };
            by_messages(py, call.host(), n, |n| jobs.range(n), |panic| opened.poison(panic), work)?;
        }
        Place::Cuda(ordinal) => {
            JobsOnDevice::of(&opened.engine, ordinal, &opened.many_keys_loaded)?.run(py, &call, &jobs)?;
            call.is_on_stream()?;
        }
    }
    Ok(call.result)
}

/// A counter block.
fn block(counter: Any<'_, '_>) -> PyResult<[u8; 16]> {
    let counter = small(counter, "a counter")?;
    counter
        .bytes()
        .try_into()
        .map_err(|_| PyValueError::new_err(format!("a counter has 16 bytes, not {}", counter.len())))
}
