//! Many messages under the key of a cipher in one call: how the caller gives their ranges, nonces, additional data and tags.

use crate::buffer::{Buffer, small};
use crate::error::{AuthenticationError, of_runtime};
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{GcmMessage, Tag};
use pyo3::exceptions::{PyException, PyMemoryError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyTuple};
use std::fmt::Display;
use std::ops::Range;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// From the first byte of each message in the data to the byte after its last.
pub fn ranges_of(ranges: Any<'_, '_>) -> PyResult<Vec<Range<u64>>> {
    let mut found = Vec::new();
    let outside = |n: usize| {
        PyValueError::new_err(format!(
            "range {n} has a number that is not a position in the data: it must be 0 to 2^64 - 1"
        ))
    };
    // An array of integers is read where it is.
    let array = Buffer::of(ranges, false, "ranges").ok().flatten();
    if let Some((signed, rows)) = array.as_ref().and_then(Buffer::pairs) {
        found.try_reserve_exact(rows.len()).map_err(|_| too_many())?;
        for (n, row) in rows.iter().enumerate() {
            let [start, stop] = [0, 1].map(|column| u64::from_ne_bytes(row.as_chunks().0[column]));
            if signed && (start | stop) >> 63 == 1 {
                return Err(outside(n));
            }
            found.push(start..stop);
        }
        return Ok(found);
    }
    for (n, range) in values(ranges, "ranges")?.enumerate() {
        let range = range?;
        let pair = range.extract().or_else(|_| range.extract::<[u64; 2]>().map(|[start, stop]| (start, stop)));
        let (start, stop) = pair.map_err(|error| match range.py() {
            py if error.is_instance_of::<PyOverflowError>(py) => outside(n),
            py if error.is_instance_of::<PyException>(py) => {
                PyTypeError::new_err(format!("range {n} is not a pair (start, stop) of positions in the data"))
            }
            // Such as Ctrl-C.
            _ => error,
        })?;
        found.try_reserve(1).map_err(|_| too_many())?;
        found.push(start..stop);
    }
    Ok(found)
}

fn too_many() -> PyErr {
    PyMemoryError::new_err("too many ranges for one call")
}

/// Iterates over a parameter of this name, which has a value for each message.
fn values<'py>(given: Any<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyIterator>> {
    given.try_iter().map_err(|error| match error.is_instance_of::<PyTypeError>(given.py()) {
        true => PyTypeError::new_err(format!("{name} has a value for each message: give a list")),
        false => error,
    })
}

/// A value for each message, such as its nonce.
pub struct Values {
    bytes: Vec<u8>,
    /// The end of each.
    ends: Vec<usize>,
}

impl Values {
    /// Values called `name` for `n` messages: memory with `size` bytes for each, contiguous; or a list of memory of any length. Without
    /// `size`, a list only. Its text says what to give in place of contiguous memory of another length.
    pub fn of(given: Any<'_, '_>, n: usize, size: Option<(usize, &str)>, name: &str) -> PyResult<Self> {
        let refused = |what: String| Err(PyValueError::new_err(what));
        let messages = counted(n, "message");
        if let Some(buffer) = Buffer::of(given, false, name)? {
            let Some((size, advice)) = size else {
                return Err(PyTypeError::new_err(format!("{name} must be a list, with bytes for each message")));
            };
            if Some(buffer.len()) != (n as u64).checked_mul(size as u64) {
                let len = counted(buffer.len(), "byte");
                return refused(format!("{len} of {name} for {messages}: {advice}"));
            }
            return Ok(Self { bytes: buffer.bytes().to_vec(), ends: (1..=n).map(|n| n * size).collect() });
        }
        let mut values = Self { bytes: Vec::new(), ends: Vec::with_capacity(n) };
        for value in self::values(given, name)?.take(n + 1) {
            let value = small(&value?, &format!("each of {name}"))?;
            let room = values.bytes.try_reserve(value.len() as usize);
            room.map_err(|_| PyMemoryError::new_err(format!("{name} are too long for one call")))?;
            values.bytes.extend_from_slice(value.bytes());
            values.ends.push(values.bytes.len());
        }
        match values.ends.len() {
            found if found == n => Ok(values),
            found if found > n => refused(format!("{name} has values for more than {messages}: give one for each")),
            found => {
                let values = counted(found, "value");
                refused(format!("{name} has {values} for {messages}: give one for each"))
            }
        }
    }

    /// Nothing for each message.
    pub fn none(n: usize) -> Self {
        Self { bytes: Vec::new(), ends: vec![0; n] }
    }

    /// The value of each message.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}

/// GCM messages: their ranges, nonces and additional data.
pub struct GcmMessages {
    ranges: Vec<Range<u64>>,
    nonces: Values,
    aads: Values,
}

impl GcmMessages {
    /// Nonces of 12 bytes, contiguous, or a list; additional data as a list, or none.
    pub fn of(nonces: Any<'_, '_>, ranges: Any<'_, '_>, aads: Option<Any<'_, '_>>) -> PyResult<Self> {
        let ranges = ranges_of(ranges)?;
        let n = ranges.len();
        let nonces = Values::of(nonces, n, Some((12, "give 12 for each, or a list")), "nonces")?;
        let aads = aads.map_or_else(|| Ok(Values::none(n)), |aads| Values::of(aads, n, None, "aads"))?;
        Ok(Self { ranges, nonces, aads })
    }

    /// The messages in the library's types.
    pub fn messages(&self) -> Vec<GcmMessage<'_>> {
        let each = self.nonces.iter().zip(self.aads.iter()).zip(&self.ranges);
        each.map(|((nonce, aad), range)| GcmMessage { nonce, aad, range: range.clone() }).collect()
    }
}

/// The tags of received messages, of `tag_bytes` bytes each: contiguous, or a list of tags.
pub fn tags_of(given: Any<'_, '_>, n: usize, tag_bytes: usize) -> PyResult<Vec<Tag>> {
    let advice = format!("tag_bytes is {tag_bytes}, so give {tag_bytes} for each");
    let tags = Values::of(given, n, Some((tag_bytes, &advice)), "tags")?;
    tags.iter().enumerate().map(|(n, tag)| received_tag(tag, format_args!("tag {n}"), tag_bytes)).collect()
}

/// A received tag, called `name`. The caller says how long it must be, never the tag itself: if a cut tag of 4 bytes were accepted, one
/// forged message in 2^32 would be, too.
pub fn received_tag(tag: &[u8], name: impl Display, tag_bytes: usize) -> PyResult<Tag> {
    if tag.len() != tag_bytes {
        let has = counted(tag.len(), "byte");
        return Err(PyValueError::new_err(format!("{name} has {has}, and tag_bytes is {tag_bytes}")));
    }
    Tag::new(tag).map_err(of_runtime)
}

/// Raises an exception with the numbers of the messages, of `n`, that are not authentic, unless all are.
pub fn all_authentic(py: Python<'_>, failed: &[usize], n: usize) -> PyResult<()> {
    if failed.is_empty() {
        return Ok(());
    }
    let (messages, numbers) =
        (counted(n, "message"), if failed.len() == 1 { "its number is" } else { "their numbers are" });
    let what = format!("authentication failed for {} of {messages}; {numbers} in `failed`", failed.len());
    let error = AuthenticationError::new_err(what);
    error.value(py).setattr(intern!(py, "failed"), PyTuple::new(py, failed)?)?;
    Err(error)
}
