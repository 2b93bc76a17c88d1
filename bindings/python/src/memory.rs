//! The place of an argument's bytes: through the buffer protocol or a tensor, in host memory or on a GPU; and the memory of one call, whose
//! input and output are the same or disjoint.

use crate::arrays::{Library, handle_of};
use crate::buffer::{Buffer, new_bytes};
use crate::dlpack::{Described, Place, Tensor, elements, place_of};
use crate::driver;
use crate::error::of_runtime;
use aes_bitslice_runtime::{Access, Buffers, Error as Runtime};
use pyo3::exceptions::{PyBufferError, PyException, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};
use std::cell::Cell;
use std::ops::Range;
use std::slice;

/// Keeps the bytes in place.
#[expect(dead_code, reason = "held to be dropped")]
enum Kept {
    Buffer(Buffer),
    Tensor(Tensor),
    Object(Py<PyAny>),
}

/// The GPU stream that a call goes to.
#[derive(Clone, Copy)]
pub struct Stream {
    /// Its handle.
    pub handle: u64,
    /// Whether the call must wait for it, because the array's library would not.
    pub waits: bool,
}

/// The bytes of an argument.
pub struct Memory {
    /// The address of the first.
    pub pointer: u64,
    /// The number of bytes.
    pub len: u64,
    /// Where they are.
    pub place: Place,
    /// The stream for a call on them, if they are on a GPU.
    pub stream: Option<Stream>,
    /// Their library's current stream there, if it has such a thing.
    current: Option<u64>,
    kept: Kept,
}

/// The legacy default stream, as DLPack and CUDA name it.
const LEGACY: u64 = 1;

impl Memory {
    /// The bytes of an argument called `name`, and the stream for a call on them: `stream` if given, else its library's current one. Host
    /// memory has none.
    pub fn of(
        object: &Bound<'_, PyAny>,
        writable: bool,
        name: &str,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        match Buffer::of(object, writable, name) {
            Ok(Some(buffer)) => {
                let (pointer, len) = (buffer.pointer(), buffer.len());
                Ok(Self { pointer, len, place: Place::Host, stream: None, current: None, kept: Kept::Buffer(buffer) })
            }
            Ok(None) => Self::exported(object, writable, name, stream),
            // Some arrays have the protocol only for some of their types, or only for host memory.
            Err(error) => match place_of(object) {
                Ok(Some(Place::Cuda(_))) => Self::exported(object, writable, name, stream),
                Ok(Some(Place::Host)) if error.is_instance_of::<PyBufferError>(object.py()) => {
                    Self::exported(object, writable, name, stream).map_err(|_| error)
                }
                _ => Err(error),
            },
        }
    }

    /// Refuses a stream for host memory.
    fn takes(&self, stream: Option<&Bound<'_, PyAny>>, name: &str) -> PyResult<()> {
        match (self.place, stream) {
            (Place::Host, Some(_)) => Err(no_stream(name)),
            _ => Ok(()),
        }
    }

    /// The bytes of an object without the buffer protocol.
    fn exported(
        object: &Bound<'_, PyAny>,
        writable: bool,
        name: &str,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let given = stream.map(handle_of).transpose()?;
        let library = Library::of(object)?;
        if let Some(memory) = Self::told(object, writable, library.as_ref(), given)? {
            return Ok(memory);
        }
        let (memory, read_only) = match place_of(object)? {
            Some(Place::Host) => {
                Self::of_tensor(Tensor::of(object, None).map_err(|error| refused(object, name, error))?, None, None)
            }
            Some(Place::Cuda(_)) => Self::on_gpu(object, library.as_ref(), given)?,
            None => match object.getattr_opt(intern!(object.py(), "__cuda_array_interface__"))? {
                Some(interface) => Self::of_interface(object, interface.cast::<PyDict>()?, given)?,
                None => {
                    let kind = object.get_type().name()?;
                    let advice = match () {
                        () if object.is_instance_of::<PyString>() => ": encode it, as with .encode()",
                        () if object.hasattr(intern!(object.py(), "to_numpy"))? => ": give its .to_numpy()",
                        () if object.try_iter().is_ok() => ": make bytes or an array of it",
                        () => "",
                    };
                    return Err(PyTypeError::new_err(format!(
                        "{name} is bytes, an array or a tensor (the buffer protocol, DLPack or __cuda_array_interface__), not {kind}{advice}"
                    )));
                }
            },
        };
        let immutable = writable && library.is_some_and(|library| library.is_immutable().unwrap_or(false));
        if writable && (read_only || immutable) {
            Err(PyBufferError::new_err(format!("{name} cannot be changed: leave it out, or give other memory")))
        } else {
            Ok(memory)
        }
    }

    /// The library's description without DLPack, which is slow in some libraries.
    fn told<'py>(
        object: &Bound<'py, PyAny>,
        writable: bool,
        library: Option<&Library<'py>>,
        given: Option<u64>,
    ) -> PyResult<Option<Self>> {
        let Some(library) = library else { return Ok(None) };
        let Some(Described { pointer, len, place, stream: current }) = library.describe(object, writable)? else {
            return Ok(None);
        };
        let stream = match place {
            Place::Host => None,
            Place::Cuda(ordinal) => {
                if let (Some(current), Some(given)) = (current, given)
                    && current != given
                {
                    driver::order(object.py(), ordinal, current, given)?;
                }
                let handle = given.or(current).unwrap_or(LEGACY);
                Some(Stream { handle, waits: false })
            }
        };
        let kept = Kept::Object(object.clone().unbind());
        Ok(Some(Self { pointer, len, place, stream, current, kept }))
    }

    fn on_gpu<'py>(
        object: &Bound<'py, PyAny>,
        library: Option<&Library<'py>>,
        given: Option<u64>,
    ) -> PyResult<(Self, bool)> {
        let current = library.map(|library| library.stream(object)).transpose()?.flatten();
        let handle = given.or(current).unwrap_or(LEGACY);
        // Work that the library has put on its current stream comes before this; another stream must be told to wait for it.
        let order = if current == Some(handle) { -1 } else { handle.max(LEGACY) as i64 };
        let stream = Stream { handle, waits: library.is_some() && current.is_none() };
        Ok(Self::of_tensor(Tensor::of(object, Some(order))?, Some(stream), current))
    }

    /// A tensor, and whether it must not be written.
    fn of_tensor(tensor: Tensor, stream: Option<Stream>, current: Option<u64>) -> (Self, bool) {
        let (pointer, len, place, read_only) = (tensor.pointer, tensor.len, tensor.place, tensor.read_only);
        (Self { pointer, len, place, stream, current, kept: Kept::Tensor(tensor) }, read_only)
    }

    /// `__cuda_array_interface__`, version 2 and 3.
    fn of_interface<'py>(
        object: &Bound<'py, PyAny>,
        it: &Bound<'py, PyDict>,
        given: Option<u64>,
    ) -> PyResult<(Self, bool)> {
        let py = object.py();
        let item = |name: &Bound<'py, PyString>| {
            it.get_item(name)?.ok_or_else(|| PyTypeError::new_err(format!("__cuda_array_interface__ has no {name}")))
        };
        let optional = |name: &Bound<'py, PyString>| PyResult::Ok(it.get_item(name)?.filter(|value| !value.is_none()));
        let (pointer, read_only): (u64, bool) = item(intern!(py, "data"))?.extract()?;
        let shape: Vec<i64> = item(intern!(py, "shape"))?.extract()?;
        // `<f4`: byte order, kind, bytes of an element.
        let kind: String = item(intern!(py, "typestr"))?.extract()?;
        let size = kind.get(2..).and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| PyTypeError::new_err("__cuda_array_interface__ has no size of an element"))?;
        let strides: Option<Vec<i64>> =
            optional(intern!(py, "strides"))?.map(|strides| strides.extract()).transpose()?;
        let strides: Option<Vec<i64>> =
            strides.map(|all| all.iter().map(|bytes| bytes / (size.max(1) as i64)).collect());
        let len = elements(&shape, strides.as_deref())?.checked_mul(size);
        let len = len.ok_or_else(|| PyBufferError::new_err("an array of too many bytes"))?;
        let theirs: Option<u64> = optional(intern!(py, "stream"))?.map(|stream| stream.extract()).transpose()?;
        let ordinal = driver::of_pointer(pointer)?;
        if let (Some(theirs), Some(given)) = (theirs, given)
            && theirs != given
        {
            driver::order(py, ordinal, theirs, given)?;
        }
        let stream = Some(Stream { handle: given.or(theirs).unwrap_or(LEGACY), waits: false });
        let kept = Kept::Object(object.clone().unbind());
        Ok((Self { pointer, len, place: Place::Cuda(ordinal), stream, current: None, kept }, read_only))
    }

    /// Tells the library of the array whose memory this is that a stream uses it. It need not know for its current stream, as its own
    /// operations do not tell it either: the next use of the memory comes after them there.
    pub fn is_used(&self, array: &Bound<'_, PyAny>, stream: Stream) -> PyResult<()> {
        if self.current == Some(stream.handle) {
            return Ok(());
        }
        match Library::of(array)? {
            Some(library) => library.used(array, stream.handle),
            None => Ok(()),
        }
    }

    /// The bytes, to be read. The caller keeps `self` while it uses the result.
    pub fn host(&self) -> Host {
        debug_assert_eq!(self.place, Place::Host);
        Host { input: Some(self.pointer), output: None, len: self.len as usize }
    }
}

/// The caller's array that a call writes. Its library is told so when the call ends, even by an error, if the work had begun.
pub struct Written<'py> {
    array: Bound<'py, PyAny>,
    begun: Cell<bool>,
}

impl<'py> Written<'py> {
    /// `None` for memory that is not a library's.
    pub fn of(array: &Bound<'py, PyAny>, memory: &Memory) -> Option<Self> {
        let is_theirs = !matches!(memory.kept, Kept::Buffer(_));
        is_theirs.then(|| Self { array: array.clone(), begun: Cell::new(false) })
    }

    /// Notes that the work begins.
    pub fn begins(&self) {
        self.begun.set(true);
    }

    fn tell(&self) -> PyResult<()> {
        Library::of(&self.array)?.map_or(Ok(()), |library| library.written(&self.array))
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        if self.begun.get()
            && let Err(error) = self.tell()
        {
            error.write_unraisable(self.array.py(), Some(&self.array));
        }
    }
}

/// The memory of one call.
pub struct Call<'py> {
    /// The input; none for a call that only writes.
    pub input: Option<Memory>,
    /// The output, unless it is a new `bytes`.
    written: Option<Memory>,
    /// The output as its library knows it, unless it is new.
    theirs: Option<Written<'py>>,
    /// The address of the output; none for a call that only reads.
    output: Option<u64>,
    /// Bytes.
    pub len: u64,
    /// The place of both.
    pub place: Place,
    /// The stream of a call on a GPU.
    pub stream: Option<Stream>,
    /// The object given as input.
    data: Option<Bound<'py, PyAny>>,
    /// The caller's result: a new object, or the object given as output; for a call that only reads, its input.
    pub result: Bound<'py, PyAny>,
}

/// The data of a call, as the caller gave it.
pub struct Data<'a, 'py> {
    pub py: Python<'py>,
    pub data: Option<&'a Bound<'py, PyAny>>,
    pub out: Option<&'a Bound<'py, PyAny>>,
    pub stream: Option<&'a Bound<'py, PyAny>>,
    /// For a call that only writes, bytes of a new object if no output is given.
    pub length: Option<usize>,
    /// Where in GPU memory the tag goes; else it is returned.
    pub tag_out: Option<&'a Bound<'py, PyAny>>,
}

impl<'a, 'py> Data<'a, 'py> {
    /// Of a call that reads.
    pub fn of(
        data: &'a Bound<'py, PyAny>,
        out: Option<&'a Bound<'py, PyAny>>,
        stream: Option<&'a Bound<'py, PyAny>>,
    ) -> Self {
        Self { py: data.py(), data: Some(data), out, stream, length: None, tag_out: None }
    }
}

impl<'py> Call<'py> {
    /// The memory of a call called `name` that accesses its data in this way.
    pub fn of(access: Access, name: &str, given: &Data<'_, 'py>) -> PyResult<Self> {
        let &Data { py, data, out, stream, length, .. } = given;
        match (access, data, out) {
            (Access::Maps, Some(data), out) => Self::mapping(data, out, stream),
            (Access::Reads, Some(data), None) => Self::reading(data, stream),
            (Access::Writes, None, out) => Self::writing(py, length, out, stream),
            (Access::Reads, Some(_), Some(_)) => {
                Err(PyTypeError::new_err(format!("{name} only reads: leave out= out")))
            }
            (Access::Writes, Some(_), _) => Err(PyTypeError::new_err(format!("{name} reads no data: give out="))),
            (_, None, _) => Err(PyTypeError::new_err(format!("{name} takes data"))),
        }
    }

    /// Of `data`, which is only read.
    fn reading(data: &Bound<'py, PyAny>, stream: Option<&Bound<'py, PyAny>>) -> PyResult<Self> {
        let input = Memory::of(data, false, "data", stream)?;
        input.takes(stream, "data")?;
        let (len, place, stream, result) = (input.len, input.place, input.stream, data.clone());
        let (input, data) = (Some(input), Some(data.clone()));
        Ok(Self { input, written: None, theirs: None, output: None, len, place, stream, data, result })
    }

    /// From `data` to `out`, or to a new object like `data`.
    fn mapping(
        data: &Bound<'py, PyAny>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let input = Memory::of(data, false, "data", stream)?;
        let len = input.len;
        let (result, output, pointer) = match out {
            Some(out) => {
                let output = Memory::of(out, true, "out", stream)?;
                let pointer = output.pointer;
                (out.clone(), Some(output), pointer)
            }
            None => Self::new_like(data, &input, stream)?,
        };
        if let Some(output) = &output {
            if output.place != input.place {
                return Err(PyTypeError::new_err(format!(
                    "data is {} and out {}: both have to be in the same memory",
                    in_words(input.place),
                    in_words(output.place)
                )));
            }
            if output.len != len {
                let lengths = Runtime::LengthMismatch { input: len as usize, output: output.len as usize };
                return Err(of_runtime(lengths));
            }
        }
        input.takes(stream, "data")?;
        if pointer != input.pointer && pointer.abs_diff(input.pointer) < len {
            return Err(of_runtime(Runtime::Overlap));
        }
        let waits = |memory: &Memory| memory.stream.is_some_and(|stream| stream.waits);
        let waits = waits(&input) || output.as_ref().is_some_and(waits);
        let stream = input.stream.map(|stream| Stream { waits, ..stream });
        let (place, data) = (input.place, Some(data.clone()));
        let theirs = out.zip(output.as_ref()).and_then(|(out, output)| Written::of(out, output));
        let (input, written, output) = (Some(input), output, Some(pointer));
        Ok(Self { input, written, theirs, output, len, place, stream, data, result })
    }

    fn new_like(
        data: &Bound<'py, PyAny>,
        input: &Memory,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<Memory>, u64)> {
        let is_plain = data.is_instance_of::<PyBytes>()
            || data.is_instance_of::<PyByteArray>()
            || data.is_instance_of::<PyMemoryView>();
        match if is_plain { None } else { Library::of(data)? } {
            Some(library) => {
                let new = library.empty_like(data)?;
                // If the library's arrays are immutable, this one is written all the same: nothing else has it yet.
                let output = Memory::of(&new, !library.is_immutable()?, "the new array", stream)?;
                let pointer = output.pointer;
                Ok((new, Some(output), pointer))
            }
            None if input.place == Place::Host => {
                let (new, pointer) = new_bytes(data.py(), input.len as usize)?;
                Ok((new, None, pointer))
            }
            None => Err(PyTypeError::new_err(
                "no new array is made for this kind of GPU memory: give out=, which may be data itself",
            )),
        }
    }

    /// To `out`, or to a new `bytes` of this length.
    fn writing(
        py: Python<'py>,
        len: Option<usize>,
        out: Option<&Bound<'py, PyAny>>,
        stream: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        match (len, out) {
            (None, Some(out)) => {
                let memory = Memory::of(out, true, "out", stream)?;
                memory.takes(stream, "out")?;
                let (output, len, place, stream) = (Some(memory.pointer), memory.len, memory.place, memory.stream);
                let (result, theirs) = (out.clone(), Written::of(out, &memory));
                Ok(Self { input: None, written: Some(memory), theirs, output, len, place, stream, data: None, result })
            }
            (Some(_), None) if stream.is_some() => Err(no_stream("a new key stream")),
            (Some(len), None) => {
                let (result, output) = new_bytes(py, len)?;
                let (len, place, output) = (len as u64, Place::Host, Some(output));
                let (written, theirs) = (None, None);
                Ok(Self { input: None, written, theirs, output, len, place, stream: None, data: None, result })
            }
            _ => Err(PyTypeError::new_err("give either a length or out=")),
        }
    }

    pub fn py(&self) -> Python<'py> {
        self.result.py()
    }

    /// Refuses memory called `name` that the call reads, or writes, besides its data, if the output overlaps it.
    pub fn apart(&self, memory: &Memory, name: &str) -> PyResult<()> {
        match self.output {
            Some(output) if memory.pointer < output + self.len && output < memory.pointer + memory.len => {
                Err(PyValueError::new_err(format!("{name} and the output overlap")))
            }
            _ => Ok(()),
        }
    }

    /// Notes that the work on the output begins.
    fn begins(&self) {
        self.theirs.iter().for_each(Written::begins);
    }

    /// The addresses of the input and the output and the number of bytes, for work that begins on a GPU. An address that is not used is any.
    pub fn on_device(&self) -> (u64, u64, u64) {
        self.begins();
        let output = self.output.unwrap_or(0);
        (self.input.as_ref().map_or(output, |input| input.pointer), output, self.len)
    }

    /// The memory of a call, for work that begins on the host.
    pub fn host(&self) -> Host {
        debug_assert_eq!(self.place, Place::Host);
        self.begins();
        let input = self.input.as_ref().map(|input| input.pointer);
        Host { input, output: self.output, len: self.len as usize }
    }

    /// Tells the libraries of the arrays that the stream uses them.
    pub fn is_on_stream(&self) -> PyResult<()> {
        let Some(stream) = self.stream else { return Ok(()) };
        if let (Some(data), Some(input)) = (&self.data, &self.input) {
            input.is_used(data, stream)?;
        }
        match (&self.data, &self.written) {
            (Some(data), _) if data.is(&self.result) => Ok(()),
            (_, Some(written)) => written.is_used(&self.result, stream),
            (_, None) => Ok(()),
        }
    }
}

/// A place in words, for messages.
pub fn in_words(place: Place) -> String {
    match place {
        Place::Host => "in host memory".into(),
        Place::Cuda(ordinal) => format!("in the memory of CUDA device {ordinal}"),
    }
}

/// An error of a library about its array. Exceptions that only the library knows become a `TypeError` with its text.
fn refused(object: &Bound<'_, PyAny>, name: &str, error: PyErr) -> PyErr {
    let py = object.py();
    let kind = error.get_type(py);
    let is_ours = kind.getattr(intern!(py, "__module__")).is_ok_and(|module| {
        module.eq("builtins").unwrap_or(false) && !error.is_instance_of::<PyRuntimeError>(py)
            || module.eq("aes_bitslice").unwrap_or(false)
    });
    if is_ours || !error.is_instance_of::<PyException>(py) {
        return error;
    }
    let raised = PyTypeError::new_err(format!("{name} cannot be used: {}", error.value(py)));
    raised.set_cause(py, Some(error));
    raised
}

/// The error that a stream was given for host memory.
fn no_stream(name: &str) -> PyErr {
    PyTypeError::new_err(format!("stream= is for calls on GPU memory, and {name} is in host memory: leave it out"))
}

/// Refuses data that is not in host memory.
pub fn on_host(place: Place, what: &str) -> PyResult<()> {
    match place {
        Place::Host => Ok(()),
        place => Err(PyValueError::new_err(format!(
            "{what} is computed in host memory, and the data is {}: copy it to host memory",
            in_words(place)
        ))),
    }
}

/// The host memory of a call, or of a part of one. Its owner keeps the Python objects that own the bytes.
#[derive(Clone, Copy)]
pub struct Host {
    input: Option<u64>,
    output: Option<u64>,
    pub len: usize,
}

impl Host {
    /// Memory that is only written: `len` bytes of a new object, from the address `output` on.
    pub fn new(output: u64, len: usize) -> Self {
        Self { input: None, output: Some(output), len }
    }

    /// Fills it with random bytes of the system.
    pub fn fill_random(&mut self) -> Result<(), Runtime> {
        Ok(getrandom::fill(self.output())?)
    }

    /// Some of its bytes.
    pub fn part(&self, range: Range<usize>) -> Self {
        debug_assert!(range.end <= self.len);
        let at = range.start as u64;
        let [input, output] = [self.input, self.output].map(|start| start.map(|start| start + at));
        Self { input, output, len: range.len() }
    }

    /// The bytes as calls of the runtime take them. Only one of these is in use at a time.
    pub fn buffers(&mut self) -> Buffers<'_> {
        match (self.input, self.output) {
            (Some(input), None) => Buffers::Read(bytes(input, self.len)),
            (Some(input), Some(output)) if input != output => {
                Buffers::To { input: bytes(input, self.len), output: self.output() }
            }
            (Some(_), _) => Buffers::InPlace(self.output()),
            (None, _) => Buffers::Write(self.output()),
        }
    }

    /// The bytes to read.
    pub fn input(&self) -> &[u8] {
        self.input.map_or(&[], |input| bytes(input, self.len))
    }

    /// The bytes to write; empty if there are none.
    pub fn output<'a>(&mut self) -> &'a mut [u8] {
        match (self.output, self.len) {
            (None, _) | (_, 0) => &mut [],
            // SAFETY: that many bytes of an object that is held and may be written, or of a new one; for concurrent use see `bytes`.
            (Some(output), len) => unsafe { slice::from_raw_parts_mut(output as *mut u8, len) },
        }
    }
}

fn bytes<'a>(start: u64, len: usize) -> &'a [u8] {
    match len {
        0 => &[],
        // SAFETY: as many bytes as the object says, held by the owner of this. The caller must ensure that nothing else writes to them
        // meanwhile, as with everything in Python that works without the interpreter's lock.
        len => unsafe { slice::from_raw_parts(start as *const u8, len) },
    }
}
