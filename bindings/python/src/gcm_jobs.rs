//! Calls of GCM on many messages, each under a key of its own, which take an engine, not a cipher.

use crate::batch::{GcmMessages, GivenTags, all_authentic};
use crate::buffer::{Buffer, bytes};
use crate::error::no_memory;
use crate::many_keys::{bits_of, check_rows, in_host_memory, under_own_keys};
use crate::memory::{Call, Data, Memory};
use crate::opened::Opened;
use aes_bitslice_core::memory::{append, room};
use aes_bitslice_runtime::{
    Aads, Access, Error, GcmDecryptJobs, GcmEncryptJobs, GcmJobs, Integers, JobKeys, Nonces, Ranges, Results, Tagging,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// The keys of messages, as the caller gives them: `key_bits` bits each; and the number of each message's key, if not its own.
#[derive(Clone, Copy)]
pub struct GivenKeys<'a, 'py> {
    pub keys: Any<'a, 'py>,
    pub key_bits: usize,
    pub key_numbers: Option<Any<'a, 'py>>,
}

/// Encrypts messages, and returns their tags.
pub fn encrypt<'py>(
    opened: &Opened,
    keys: GivenKeys<'_, 'py>,
    messages: &GcmMessages,
    data: &Data<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let tags = run(opened, keys, messages, data, GcmEncryptJobs::from_arrays)?;
    Ok(bytes(data.py, tags.as_flattened())?.into_any())
}

/// Decrypts messages, and raises an exception if any is not authentic.
pub fn decrypt<'py>(
    opened: &Opened,
    keys: GivenKeys<'_, 'py>,
    messages: &GcmMessages,
    (tags, tag_bytes): (Any<'_, 'py>, usize),
    data: &Data<'_, 'py>,
) -> PyResult<()> {
    let n = messages.len()?;
    let tags = GivenTags::of(tags, n, tag_bytes)?;
    let results = run(opened, keys, messages, data, |keys, ranges, nonces, aads| {
        GcmDecryptJobs::from_arrays(keys, ranges, nonces, aads, tags.bytes(), tag_bytes)
    })?;
    all_authentic(data.py, results.failed(), n)
}

/// Runs a call on messages of which `make` makes it.
fn run<E: Tagging<Results>>(
    opened: &Opened,
    GivenKeys { keys, key_bits, key_numbers }: GivenKeys<'_, '_>,
    messages: &GcmMessages,
    data: &Data<'_, '_>,
    make: impl FnOnce(&JobKeys<'_>, &Ranges<'_>, &Nonces<'_>, &Aads<'_>) -> Result<GcmJobs<E>, Error>,
) -> PyResult<E::Output> {
    let (bits, of_keys) = (bits_of(key_bits)?, Memory::of(keys, false, "keys", None)?);
    in_host_memory(&of_keys)?;
    check_rows(keys, &of_keys, bits.bytes())?;
    let numbers = key_numbers.map(numbers).transpose()?;
    let (keys, call) = (of_keys.host(), Call::of(Access::Maps, "gcm", data)?);
    let keys = match &numbers {
        None => JobKeys::each(bits, keys.input()),
        Some(numbers) => JobKeys::numbered(bits, keys.input(), numbers),
    };
    let jobs = messages.view(|ranges, nonces, aads| make(&keys, ranges, nonces, aads))?;
    call.apart(&of_keys, "the keys")?;
    under_own_keys(opened, &call, jobs)
}

/// The number of each message's key: an array of integers, or a list.
fn numbers(given: Any<'_, '_>) -> PyResult<Vec<u32>> {
    fn wrong(at: usize) -> PyErr {
        PyValueError::new_err(format!("key_numbers[{at}] is not a number from 0 to 2^32 - 1"))
    }
    fn of<T: Copy + TryInto<u32>>(all: &[T]) -> PyResult<Vec<u32>> {
        let mut numbers = room(all.len()).map_err(no_memory)?;
        for (at, number) in all.iter().enumerate() {
            numbers.push((*number).try_into().map_err(|_| wrong(at))?);
        }
        Ok(numbers)
    }
    let no_numbers = || PyTypeError::new_err("key_numbers must be an array of integers of 32 or 64 bits, or a list");
    if let Some(array) = Buffer::of(given, false, "key_numbers")? {
        return match array.integers(None, "key_numbers")?.ok_or_else(no_numbers)? {
            Integers::U32(all) => of(all),
            Integers::I32(all) => of(all),
            Integers::U64(all) => of(all),
            Integers::I64(all) => of(all),
        };
    }
    let mut numbers = Vec::new();
    for (at, number) in given.try_iter().map_err(|_| no_numbers())?.enumerate() {
        let number = number?.extract::<u32>().map_err(|_| wrong(at))?;
        append(&mut numbers, [number]).map_err(no_memory)?;
    }
    Ok(numbers)
}
