//! Many messages under the key of a cipher in one call: how the caller gives their ranges, nonces, additional data and tags.

use crate::arrays::shape_of;
use crate::buffer::{Buffer, bytes, small};
use crate::error::{AuthenticationError, no_memory, of_runtime};
use crate::number;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{append, collected};
use aes_bitslice_runtime::{self as runtime, Error, Integers, Tag};
use pyo3::exceptions::{PyException, PyOverflowError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyMemoryView, PyTuple};
use std::fmt::Display;
use std::iter::once;
use std::ops::Range;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Where many messages are in data: `Ranges.equal(count, length)` for messages of one length, `Ranges(offsets, lengths)` for two arrays of
/// integers. Nothing is copied.
///
/// offsets: the first byte of each message, as an array of integers of 32 or 64 bits, such as a NumPy array; for a call with `fault_out=`, an
///     array on the GPU.
/// lengths: the number of bytes of each message, as such an array.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct Ranges(Form);

enum Form {
    Spaced { count: usize, length: u64, stride: u64 },
    Lengths { offsets: Py<PyAny>, lengths: Py<PyAny> },
}

/// The integers of an array of one dimension.
fn column<'a>(array: &'a Buffer, name: &str) -> PyResult<Integers<'a>> {
    array.integers(None, name)?.ok_or_else(|| no_column(name))
}

fn no_column(name: &str) -> PyErr {
    PyTypeError::new_err(format!("{name} must be an array of one dimension, of integers of 32 or 64 bits"))
}

#[pymethods]
impl Ranges {
    #[new]
    fn new(offsets: Any<'_, '_>, lengths: Any<'_, '_>) -> PyResult<Self> {
        let ranges = Self(Form::Lengths { offsets: offsets.clone().unbind(), lengths: lengths.clone().unbind() });
        if shape_of(offsets)?.is_none() {
            Places::described(&ranges, offsets.py())?.view()?;
        }
        Ok(ranges)
    }

    /// `count` messages of `length` bytes each, the first from byte 0 of the data on.
    ///
    /// count: the number of messages.
    /// length: the bytes of each.
    /// stride: the bytes from the beginning of a message to that of the next; by default `length`, so that nothing is between them.
    #[staticmethod]
    #[pyo3(signature = (count, length, *, stride = None))]
    fn equal(
        #[pyo3(from_py_with = number::count)] count: usize,
        #[pyo3(from_py_with = number::message_length)] length: u64,
        #[pyo3(from_py_with = number::stride)] stride: Option<u64>,
    ) -> Self {
        Self(Form::Spaced { count, length, stride: stride.unwrap_or(length) })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        if let Form::Lengths { offsets, .. } = &self.0
            && let Some((shape, _)) = shape_of(offsets.bind(py))?
        {
            return Ok(shape.first().copied().unwrap_or(0));
        }
        Ok(Places::described(self, py)?.view()?.len())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(match self.0 {
            Form::Spaced { count, length, stride } => format!("Ranges.equal({count}, {length}, stride={stride})"),
            Form::Lengths { .. } => format!("Ranges(offsets and lengths of {})", counted(self.__len__(py)?, "message")),
        })
    }

    /// Without `__clear__`: a cycle goes through an object that was changed, and this never is.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.0 {
            Form::Spaced { .. } => Ok(()),
            Form::Lengths { offsets, lengths } => {
                [offsets, lengths].into_iter().try_for_each(|array| visit.call(array))
            }
        }
    }
}

impl Ranges {
    /// The number of messages, their length and their distance, if that describes them.
    pub fn spaced(&self) -> Option<(usize, u64, u64)> {
        match self.0 {
            Form::Spaced { count, length, stride } => Some((count, length, stride)),
            Form::Lengths { .. } => None,
        }
    }

    /// The offsets and the lengths, if they describe the messages.
    pub fn arrays<'py>(&self, py: Python<'py>) -> Option<[Bound<'py, PyAny>; 2]> {
        match &self.0 {
            Form::Spaced { .. } => None,
            Form::Lengths { offsets, lengths } => Some([offsets, lengths].map(|array| array.bind(py).clone())),
        }
    }
}

/// Nonces of 12 bytes that count up, for a batch of GCM: the first one is of the first message, and the last `counter_bits` bits are a
/// big-endian number, which is one higher for each further message (SP 800-38D, section 8.2.1). A call refuses messages for which the number
/// would start again from zero. The next batch under the key counts on from where this one ends.
///
/// first: the first nonce, 12 bytes; for a call with `fault_out=`, 12 bytes of GPU memory.
/// counter_bits: how many of the last bits of a nonce count: 32 or 64.
#[pyclass(frozen, module = "aes_bitslice")]
pub struct CountedNonces {
    first: First,
    bits: u32,
}

/// The first nonce.
enum First {
    Known([u8; 12]),
    OnGpu(Py<PyAny>),
}

#[pymethods]
impl CountedNonces {
    #[new]
    #[pyo3(signature = (first, *, counter_bits))]
    fn new(first: Any<'_, '_>, #[pyo3(from_py_with = number::nonce_counter_bits)] counter_bits: u32) -> PyResult<Self> {
        if counter_bits != 32 && counter_bits != 64 {
            return Err(PyValueError::new_err(format!("counter_bits is 32 or 64, not {counter_bits}")));
        }
        if shape_of(first)?.is_some() {
            return Ok(Self { first: First::OnGpu(first.clone().unbind()), bits: counter_bits });
        }
        let first = small(first, "first")?;
        let wrong = |_| PyValueError::new_err(format!("first has 12 bytes, not {}", first.len()));
        Ok(Self { first: First::Known(first.bytes().try_into().map_err(wrong)?), bits: counter_bits })
    }

    fn __repr__(&self) -> String {
        let first = match &self.first {
            First::Known(first) => format!("bytes.fromhex(\"{}\")", hex(first)),
            First::OnGpu(_) => "12 bytes on a GPU".into(),
        };
        format!("CountedNonces({first}, counter_bits={})", self.bits)
    }

    /// As that of [`Ranges`].
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.first {
            First::Known(_) => Ok(()),
            First::OnGpu(first) => visit.call(first),
        }
    }
}

impl CountedNonces {
    /// The first one, if it is on a GPU, and the bits that count.
    pub fn on_gpu<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyAny>, u32)> {
        match &self.first {
            First::Known(_) => None,
            First::OnGpu(first) => Some((first.bind(py).clone(), self.bits)),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The ranges of messages as the caller gave them, held while a call looks at them.
pub enum Places {
    /// From the first byte of each message in the data to the byte after its last.
    List(Vec<Range<u64>>),
    /// An array of two columns of such numbers.
    Pairs(Buffer),
    Spaced(usize, u64, u64),
    Lengths(Buffer, Buffer),
}

impl Places {
    pub fn of(ranges: Any<'_, '_>, name: &str) -> PyResult<Self> {
        if let Ok(described) = ranges.cast::<Ranges>() {
            return Self::described(described.get(), ranges.py());
        }
        // An array of integers is read where it is.
        if let Some(array) = Buffer::of(ranges, false, name).ok().flatten()
            && array.integers(Some(2), name)?.is_some()
        {
            return Ok(Self::Pairs(array));
        }
        list_of(ranges, name).map(Self::List)
    }

    fn described(Ranges(form): &Ranges, py: Python<'_>) -> PyResult<Self> {
        let array = |given: &Py<PyAny>, name| match Buffer::of(given.bind(py), false, name)? {
            Some(array) => Ok(array),
            None if shape_of(given.bind(py))?.is_some() => Err(PyTypeError::new_err(format!(
                "{name} is on a GPU: that is for calls with fault_out=, and others take it from host memory"
            ))),
            None => Err(no_column(name)),
        };
        Ok(match form {
            Form::Spaced { count, length, stride } => Self::Spaced(*count, *length, *stride),
            Form::Lengths { offsets, lengths } => Self::Lengths(array(offsets, "offsets")?, array(lengths, "lengths")?),
        })
    }

    pub fn view(&self) -> PyResult<runtime::Ranges<'_>> {
        Ok(match self {
            Self::List(list) => (&**list).into(),
            Self::Pairs(array) => {
                let pairs = array.integers(Some(2), "ranges")?;
                runtime::Ranges::pairs(pairs.ok_or_else(|| PyTypeError::new_err("ranges is not what it was"))?)
            }
            Self::Spaced(count, length, stride) => runtime::Ranges::spaced(*count, *length, *stride),
            Self::Lengths(offsets, lengths) => {
                runtime::Ranges::lengths(column(offsets, "offsets")?, column(lengths, "lengths")?)
            }
        })
    }
}

/// Pairs of numbers that Python's objects have.
fn list_of(ranges: Any<'_, '_>, name: &str) -> PyResult<Vec<Range<u64>>> {
    let mut found = Vec::new();
    let outside = |n: usize| {
        PyValueError::new_err(format!(
            "range {n} has a number that is not a position in the data: it must be 0 to 2^64 - 1"
        ))
    };
    for (n, range) in values(ranges, name)?.enumerate() {
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
        append(&mut found, once(start..stop)).map_err(no_memory)?;
    }
    Ok(found)
}

/// Iterates over a parameter of this name, which has a value for each message.
fn values<'py>(given: Any<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyIterator>> {
    given.try_iter().map_err(|error| {
        if error.is_instance_of::<PyTypeError>(given.py()) {
            PyTypeError::new_err(format!("{name} has a value for each message: give a list"))
        } else {
            error
        }
    })
}

/// A value for each message, such as its nonce, in a list: the values one after the other.
struct Values {
    bytes: Vec<u8>,
    /// The place of each.
    ranges: Vec<Range<u64>>,
}

impl Values {
    /// A list called `name` of memory of any lengths, for `n` messages.
    fn of(given: Any<'_, '_>, n: usize, name: &str) -> PyResult<Self> {
        let refused = |what: String| Err(PyValueError::new_err(what));
        let messages = counted(n, "message");
        let mut all = Self { bytes: Vec::new(), ranges: Vec::new() };
        for value in values(given, name)?.take(n.saturating_add(1)) {
            let value = small(&value?, &format!("each of {name}"))?;
            let start = all.bytes.len() as u64;
            append(&mut all.bytes, value.bytes().iter().copied()).map_err(no_memory)?;
            append(&mut all.ranges, once(start..all.bytes.len() as u64)).map_err(no_memory)?;
        }
        match all.ranges.len() {
            found if found == n => Ok(all),
            found if found > n => refused(format!("{name} has values for more than {messages}: give one for each")),
            found => {
                let values = counted(found, "value");
                refused(format!("{name} has {values} for {messages}: give one for each"))
            }
        }
    }

    /// The value of each message.
    fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.ranges.iter().map(|range| &self.bytes[range.start as usize..range.end as usize])
    }
}

/// Memory with `size` bytes for each of `n` messages, contiguous; `None` for a list. `advice` says what to give in place of memory of
/// another length.
fn contiguous(given: Any<'_, '_>, n: usize, (size, advice): (usize, &str), name: &str) -> PyResult<Option<Buffer>> {
    let Some(buffer) = Buffer::of(given, false, name)? else { return Ok(None) };
    if Some(buffer.len()) != (n as u64).checked_mul(size as u64) {
        let (len, messages) = (counted(buffer.len(), "byte"), counted(n, "message"));
        return Err(PyValueError::new_err(format!("{len} of {name} for {messages}: {advice}")));
    }
    Ok(Some(buffer))
}

/// GCM messages as the caller gave them, held while a call looks at them.
pub struct GcmMessages {
    places: Places,
    nonces: Nonces,
    aads: Aads,
}

enum Nonces {
    Counted { first: [u8; 12], bits: u32 },
    Contiguous(Buffer),
    List(Values),
}

enum Aads {
    None,
    Shared(Buffer),
    Each(Buffer, Places),
    List(Values),
}

impl GcmMessages {
    pub fn of(
        nonces: Any<'_, '_>,
        ranges: Any<'_, '_>,
        aads: Option<Any<'_, '_>>,
        aad_ranges: Option<Any<'_, '_>>,
    ) -> PyResult<Self> {
        let places = Places::of(ranges, "ranges")?;
        let n = places.view()?.len();
        let nonces = if let Ok(counted) = nonces.cast::<CountedNonces>() {
            match counted.get() {
                &CountedNonces { first: First::Known(first), bits } => Nonces::Counted { first, bits },
                CountedNonces { first: First::OnGpu(_), .. } => {
                    return Err(PyTypeError::new_err("the first of CountedNonces is on a GPU: give fault_out=, too"));
                }
            }
        } else {
            match contiguous(nonces, n, (12, "give 12 for each, or a list"), "nonces")? {
                Some(buffer) => Nonces::Contiguous(buffer),
                None => Nonces::List(Values::of(nonces, n, "nonces")?),
            }
        };
        Ok(Self { places, nonces, aads: Aads::of(aads, aad_ranges, n)? })
    }

    /// Does `work` on the messages in the library's types.
    pub fn view<T>(
        &self,
        work: impl FnOnce(&runtime::Ranges<'_>, &runtime::Nonces<'_>, &runtime::Aads<'_>) -> Result<T, Error>,
    ) -> PyResult<T> {
        let list: Vec<&[u8]>;
        let nonces = match &self.nonces {
            Nonces::Counted { first, bits } => runtime::Nonces::counted(*first, *bits),
            Nonces::Contiguous(buffer) => buffer.bytes().as_chunks().0.into(),
            Nonces::List(values) => {
                list = collected(values.iter()).map_err(no_memory)?;
                (&*list).into()
            }
        };
        let aads = match &self.aads {
            Aads::None => runtime::Aads::NONE,
            Aads::Shared(buffer) => runtime::Aads::shared(buffer.bytes()),
            Aads::Each(buffer, places) => runtime::Aads::each(buffer.bytes(), places.view()?),
            Aads::List(values) => runtime::Aads::each(&values.bytes, &*values.ranges),
        };
        work(&self.places.view()?, &nonces, &aads).map_err(of_runtime)
    }

    /// The number of messages.
    pub fn len(&self) -> PyResult<usize> {
        self.places.view().map(|ranges| ranges.len())
    }
}

impl Aads {
    /// One object of bytes for all messages; one with the range of each; or a list.
    fn of(aads: Option<Any<'_, '_>>, ranges: Option<Any<'_, '_>>, n: usize) -> PyResult<Self> {
        let Some(aads) = aads else {
            return match ranges {
                None => Ok(Self::None),
                Some(_) => Err(PyTypeError::new_err("aad_ranges are ranges of aads: give aads, too")),
            };
        };
        match (Buffer::of(aads, false, "aads")?, ranges) {
            (Some(buffer), Some(ranges)) => Ok(Self::Each(buffer, Places::of(ranges, "aad_ranges")?)),
            (Some(buffer), None) if buffer.dimensions() > 1 => Err(PyTypeError::new_err(
                "aads has several dimensions: for a row of each message give aad_ranges=Ranges.equal(count, length)",
            )),
            (Some(buffer), None) => Ok(Self::Shared(buffer)),
            (None, Some(_)) => {
                Err(PyTypeError::new_err("with aad_ranges, aads must be bytes, with those of all messages"))
            }
            (None, None) => Values::of(aads, n, "aads").map(Self::List),
        }
    }
}

/// The tags of received messages, of the same number of bytes each, contiguous.
pub enum GivenTags {
    Contiguous(Buffer),
    List(Vec<u8>),
}

impl GivenTags {
    /// Tags of `tag_bytes` bytes for `n` messages: contiguous memory, or a list.
    pub fn of(given: Any<'_, '_>, n: usize, tag_bytes: usize) -> PyResult<Self> {
        let advice = format!("tag_bytes is {tag_bytes}, so give {tag_bytes} for each");
        if let Some(buffer) = contiguous(given, n, (tag_bytes, &advice), "tags")? {
            return Ok(Self::Contiguous(buffer));
        }
        let tags = Values::of(given, n, "tags")?;
        tags.iter().enumerate().try_for_each(|(n, tag)| check_tag(tag, format_args!("tag {n}"), tag_bytes))?;
        Ok(Self::List(tags.bytes))
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Contiguous(buffer) => buffer.bytes(),
            Self::List(bytes) => bytes,
        }
    }
}

/// A received tag, called `name`. The caller says how long it must be, never the tag itself: if a cut tag of 4 bytes were accepted, one
/// forged message in 2^32 would be, too.
pub fn received_tag(tag: &[u8], name: impl Display, tag_bytes: usize) -> PyResult<Tag> {
    check_tag(tag, name, tag_bytes)?;
    Tag::new(tag).or_else(|_| Tag::short(tag)).map_err(of_runtime)
}

/// Refuses a tag of another length.
fn check_tag(tag: &[u8], name: impl Display, tag_bytes: usize) -> PyResult<()> {
    if tag.len() == tag_bytes {
        return Ok(());
    }
    let has = counted(tag.len(), "byte");
    Err(PyValueError::new_err(format!("{name} has {has}, and tag_bytes is {tag_bytes}")))
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
    // Python makes the numbers: PyO3 panics where there is no memory for them.
    let numbers = collected(failed.iter().map(|n| n.to_ne_bytes())).map_err(no_memory)?;
    let numbers = bytes(py, numbers.as_flattened())?.into_any();
    let numbers = PyMemoryView::from(&numbers)?.call_method1("cast", ("N",))?;
    error.value(py).setattr(intern!(py, "failed"), py.get_type::<PyTuple>().call1((numbers,))?)?;
    Err(error)
}
