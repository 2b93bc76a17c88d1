//! The integers that callers give, by the names of their parameters. One that does not fit raises a `ValueError` that names the parameter
//! and the allowed values: PyO3 alone would raise an `OverflowError` that names neither. The same holds for a `TypeError` for other types.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyRange, PySlice, PyString, PyTuple};

/// For each parameter, the function that extracts it: `function: type, name, what is allowed`.
macro_rules! parameters {
    ($($function:ident: $type:ty, $name:literal, $allowed:expr;)*) => {
        $(
            pub fn $function(number: &Bound<'_, PyAny>) -> PyResult<$type> {
                let number: PyResult<$type> = number.extract().map_err(|error| refused(number, error, $name, $allowed));
                number
            }
        )*
    };
}

const U64: &str = "0 to 2^64 - 1";
/// More bytes no object of Python has.
const LENGTH: &str = "0 to 2^63 - 1";
const TAG_BYTES: &str = "4, 8 or 12 to 16";

parameters! {
    offset: u64, "offset", U64;
    any_length: Option<usize>, "length", LENGTH;
    counter_bits: u32, "counter_bits", "128, 64 or 32";
    nonce_counter_bits: u32, "counter_bits", "32 or 64";
    count: usize, "count", LENGTH;
    message_length: u64, "length", U64;
    stride: Option<u64>, "stride", U64;
    unit_bytes: u64, "unit_bytes", "16 to 2^24";
    first_unit: u128, "first_unit", "0 to 2^128 - 1";
    key_bits: usize, "key_bits", "128, 192 or 256";
    bytes_per_key: u64, "bytes_per_key", "a multiple of 16, 16 to 2^64 - 16";
    bits: usize, "bits", "128, 192 or 256";
    any_tag_bytes: usize, "tag_bytes", TAG_BYTES;
    stream: u64, "stream", "a handle, 0 to 2^64 - 1";
    threads: usize, "threads", "1 to 1024";
}

/// The length of a new object, if one is given.
pub fn optional_length(given: &Bound<'_, PyAny>) -> PyResult<Option<usize>> {
    match any_length(given)? {
        Some(length) if isize::try_from(length).is_err() => {
            Err(PyValueError::new_err(format!("length must be {LENGTH}, not {length}")))
        }
        length => Ok(length),
    }
}

/// The length of a new object.
pub fn length(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    let of_none = || PyTypeError::new_err(format!("length must be an int: {LENGTH}, not NoneType"));
    optional_length(given)?.ok_or_else(of_none)
}

/// Refuses tags of GCM of 4 or 8 bytes unless the caller says that these are short, and others if so.
pub fn check_short_tags(tag_bytes: usize, short_tags: bool) -> PyResult<()> {
    match (tag_bytes, short_tags) {
        (4 | 8, false) => Err(PyValueError::new_err(format!(
            "tag_bytes is {tag_bytes}: where tags of GCM of {tag_bytes} bytes were agreed on (SP 800-38D, appendix C), give short_tags=True"
        ))),
        (12..=16, true) => Err(PyValueError::new_err(format!(
            "short_tags is True, and tag_bytes {tag_bytes}: a short tag has 4 or 8 bytes"
        ))),
        _ => Ok(()),
    }
}

/// The number of bytes of the tags that a call takes: those of SP 800-38D, section 5.2.1.2.
pub fn tag_bytes(given: &Bound<'_, PyAny>) -> PyResult<usize> {
    match any_tag_bytes(given)? {
        bytes @ (4 | 8 | 12..=16) => Ok(bytes),
        other => Err(PyValueError::new_err(format!("tag_bytes must be {TAG_BYTES}, not {other}"))),
    }
}

/// A range of bytes: its first, and the one after its last, which is not before the first; none for the end of the message.
pub fn range(given: &Bound<'_, PyAny>) -> PyResult<Option<(u64, Option<u64>)>> {
    let py = given.py();
    if given.is_none() {
        return Ok(None);
    }
    let given = match given.cast::<PyList>() {
        Ok(list) => list.to_tuple().into_any(),
        Err(_) => given.clone(),
    };
    let slice = |slice: &Bound<'_, PyAny>| -> PyResult<(u64, Option<u64>)> {
        let [start, stop, step] = ["start", "stop", "step"].map(|name| slice.getattr(name));
        let (start, step): (Option<u64>, Option<i64>) = (start?.extract()?, step?.extract()?);
        match step {
            None | Some(1) => Ok((start.unwrap_or(0), stop?.extract()?)),
            Some(_) => Err(PyValueError::new_err("a step")),
        }
    };
    let is_slice = given.is_instance_of::<PySlice>() || given.is_instance_of::<PyRange>();
    let range = if is_slice { slice(&given) } else { given.extract() };
    let range = range.map_err(|error| {
        let what = || {
            let kind = numbers_or_kind(&given);
            format!(
                "range must be (start, end) or a slice without a step, with numbers of 0 to 2^64 - 1, which count from the start, or None as the \
                 end, not {kind}"
            )
        };
        match error {
            error if error.is_instance_of::<PyTypeError>(py) => caused(PyTypeError::new_err(what()), py, error),
            error if error.is_instance_of::<PyOverflowError>(py) || error.is_instance_of::<PyValueError>(py) => {
                PyValueError::new_err(what())
            }
            error => error,
        }
    })?;
    match range {
        (start, Some(end)) if end < start => Err(PyValueError::new_err(format!(
            "range ends before it starts: its start is {start}, and its end {end}; give (start, end)"
        ))),
        range => Ok(Some(range)),
    }
}

fn refused(number: &Bound<'_, PyAny>, error: PyErr, name: &str, allowed: &str) -> PyErr {
    let py = number.py();
    if error.is_instance_of::<PyTypeError>(py) {
        let what = format!("{name} must be an int: {allowed}, not {}", kind_of(number));
        return caused(PyTypeError::new_err(what), py, error);
    }
    if !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    let shown = shown(number.str()).unwrap_or_else(|| "a number this long".into());
    PyValueError::new_err(format!("{name} must be {allowed}, not {shown}"))
}

/// Numbers and `None` themselves; of anything else its type: it may be a secret that was meant for another parameter.
fn numbers_or_kind(given: &Bound<'_, PyAny>) -> String {
    let is_number = |item: &Bound<'_, PyAny>| item.is_none() || item.is_instance_of::<PyInt>();
    let of_slice =
        || ["start", "stop", "step"].into_iter().map(|name| given.getattr(name)).collect::<PyResult<Vec<_>>>();
    let items = given.cast::<PyTuple>().map_or_else(|_| of_slice(), |tuple| Ok(tuple.iter().collect()));
    match items {
        Ok(items) if items.iter().all(is_number) => shown(given.repr()).unwrap_or_else(|| "these".into()),
        Ok(items) if given.is_instance_of::<PyTuple>() => {
            format!("({})", items.iter().map(kind_of).collect::<Vec<_>>().join(", "))
        }
        _ => kind_of(given),
    }
}

/// The name of the type.
fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this".into(), |name| name.to_string())
}

/// The exception with the one that it replaces as its cause: an object's `__index__` may have raised that.
fn caused(raised: PyErr, py: Python<'_>, error: PyErr) -> PyErr {
    raised.set_cause(py, Some(error));
    raised
}

/// Text for a message if it is short. Python does not convert thousands of digits to text.
fn shown(text: PyResult<Bound<'_, PyString>>) -> Option<String> {
    /// The digits of the largest number that a parameter takes, and some more.
    const MOST: usize = 60;
    text.map(|text| text.to_string()).ok().filter(|text| text.len() <= MOST)
}
