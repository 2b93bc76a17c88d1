//! The integers that callers give, by the names of their parameters. One that does not fit raises a `ValueError` that names the parameter
//! and the allowed values: PyO3 alone would raise an `OverflowError` that names neither.

use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

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

parameters! {
    offset: u64, "offset", U64;
    length: usize, "length", "0 to 2^63 - 1";
    optional_length: Option<usize>, "length", "0 to 2^63 - 1";
    counter_bits: u32, "counter_bits", "128, 64 or 32";
    unit_bytes: u64, "unit_bytes", "16 to 2^24";
    first_unit: u128, "first_unit", "0 to 2^128 - 1";
    key_bits: usize, "key_bits", "128, 192 or 256";
    bytes_per_key: u64, "bytes_per_key", "a multiple of 16, 16 to 2^64 - 16";
    bits: usize, "bits", "128, 192 or 256";
    range: Option<(u64, u64)>, "range", "two numbers, each 0 to 2^64 - 1";
    stream: u64, "stream", "a handle, 0 to 2^64 - 1";
}

fn refused(number: &Bound<'_, PyAny>, error: PyErr, name: &str, allowed: &str) -> PyErr {
    /// The digits of the largest number that a parameter takes, and some more.
    const MOST: usize = 60;
    if !error.is_instance_of::<PyOverflowError>(number.py()) {
        return error;
    }
    // Python does not convert thousands of digits to text.
    let shown = number.str().map(|text| text.to_string()).ok().filter(|text| text.len() <= MOST);
    PyValueError::new_err(format!("{name} must be {allowed}, not {}", shown.as_deref().unwrap_or("a number this long")))
}
