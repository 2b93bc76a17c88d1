//! The buffer protocol (PEP 3118). The limited API has it from Python 3.11 on; the functions and the structure have been the same since
//! 3.3, so they are declared here for 3.10, too.

use crate::error::no_memory;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, room};
use aes_bitslice_runtime::Integers;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3::{ffi, intern};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `Py_buffer`.
#[repr(C)]
struct Raw {
    buf: *mut c_void,
    obj: *mut ffi::PyObject,
    len: isize,
    itemsize: isize,
    readonly: c_int,
    ndim: c_int,
    format: *mut c_char,
    shape: *mut isize,
    strides: *mut isize,
    suboffsets: *mut isize,
    internal: *mut c_void,
}

const WRITABLE: c_int = 1;
const FORMAT: c_int = 4;
const ND: c_int = 8;

unsafe extern "C" {
    fn PyObject_CheckBuffer(object: *mut ffi::PyObject) -> c_int;
    fn PyObject_GetBuffer(object: *mut ffi::PyObject, view: *mut Raw, flags: c_int) -> c_int;
    fn PyBuffer_Release(view: *mut Raw);
}

/// The bytes of an object, in memory order, held until this is dropped: the object does not move or shrink them.
pub struct Buffer {
    /// At a fixed address: some objects point into it.
    raw: Box<Raw>,
}

// SAFETY: it is released only with the interpreter attached, and the memory that it points to stays in place until then.
unsafe impl Send for Buffer {}

impl Buffer {
    /// The bytes of an object, for reading or writing; `None` for one without the protocol.
    ///
    /// # Errors
    /// `BufferError` for data that is not contiguous, or read-only although it will be written, `TypeError` for references to objects and addresses.
    pub fn of(object: &Bound<'_, PyAny>, writable: bool, name: &str) -> PyResult<Option<Self>> {
        // SAFETY: the object lives.
        if unsafe { PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let access = if writable { WRITABLE } else { 0 };
        let buffer = match Self::get(object, access | ND | FORMAT) {
            // NumPy has types that no format describes, such as dates.
            Err(_) if !has_objects(object)? => Self::get(object, access),
            outcome => outcome,
        };
        let buffer = buffer.map_err(|error| {
            let py = object.py();
            let why = error.value(py).to_string();
            // Some objects end theirs as a sentence.
            let why = why.trim_end_matches('.');
            let advice = match (writable, why.contains("contiguous")) {
                (true, _) => "; it has to be contiguous and writable",
                (false, true) => "; it has to be contiguous: a copy is (`numpy.ascontiguousarray`, or `bytes`)",
                // Such as a file mapping that was closed.
                (false, false) => "",
            };
            let raised = PyBufferError::new_err(format!("{name} cannot be used: {why}{advice}"));
            raised.set_cause(py, Some(error));
            raised
        })?;
        if buffer.refers() {
            Err(PyTypeError::new_err(format!(
                "{name} holds references to objects or addresses, not data: serialise it first"
            )))
        } else {
            Ok(Some(buffer))
        }
    }

    fn get(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        // SAFETY: all zeros is a valid value of each field.
        let mut raw: Box<Raw> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: both pointers are to live values, and the interpreter is attached.
        match unsafe { PyObject_GetBuffer(object.as_ptr(), &mut *raw, flags) } {
            0 => Ok(Self { raw }),
            _ => Err(PyErr::fetch(object.py())),
        }
    }

    /// Whether its format has references to objects (`O`) or, as those of ctypes, addresses, outside of field names, which are between colons.
    fn refers(&self) -> bool {
        if self.raw.format.is_null() {
            return false;
        }
        // SAFETY: a string that lives as long as the buffer.
        let format = unsafe { CStr::from_ptr(self.raw.format) }.to_bytes();
        // Before a kind, `Z` is that of complex numbers.
        let refers = |part: &[u8]| part.ends_with(b"Z") || part.iter().any(|kind| b"O&PXz".contains(kind));
        format.split(|&c| c == b':').step_by(2).any(refers)
    }

    /// The address of its first byte.
    pub fn pointer(&self) -> u64 {
        self.raw.buf as u64
    }

    /// The number of its bytes.
    pub fn len(&self) -> u64 {
        self.raw.len as u64
    }

    /// The number of its dimensions; 1 for plain bytes.
    pub fn dimensions(&self) -> usize {
        self.raw.ndim as usize
    }

    /// The integers of an array whose rows have this many columns, or that has one dimension for `None`; for a short look while the
    /// interpreter is attached. `None` for other shapes, for other types than integers of 32 or 64 bits, and for the other byte order.
    ///
    /// # Errors
    /// `ValueError` for integers that are not where they can be read.
    pub fn integers(&self, columns: Option<isize>, name: &str) -> PyResult<Option<Integers<'_>>> {
        let Raw { ndim, shape, format, itemsize, len, buf, .. } = *self.raw;
        if shape.is_null() || format.is_null() || ndim != if columns.is_some() { 2 } else { 1 } {
            return Ok(None);
        }
        // SAFETY: as many lengths as it has dimensions, and a string, which live as long as the buffer.
        let (last, format) = unsafe { (*shape.add(ndim as usize - 1), CStr::from_ptr(format).to_bytes()) };
        let native = if cfg!(target_endian = "little") { b'<' } else { b'>' };
        let kind = match format {
            [kind] => kind,
            [order, kind] if [b'@', b'=', native].contains(order) => kind,
            _ => return Ok(None),
        };
        if columns.is_some_and(|columns| last != columns) {
            return Ok(None);
        }
        /// All integers of this type.
        macro_rules! all {
            ($kind:ident) => {
                Ok(Some(Integers::$kind(match len {
                    0 => &[],
                    // SAFETY: as many bytes as the object says, held, of values of this type, aligned; nothing else runs Python while they
                    // are read.
                    _ => unsafe { std::slice::from_raw_parts(buf.cast(), len as usize / itemsize as usize) },
                })))
            };
        }
        let signed = match kind {
            b'i' | b'l' | b'q' | b'n' => true,
            b'I' | b'L' | b'Q' | b'N' => false,
            _ => return Ok(None),
        };
        if itemsize > 0 && !buf.addr().is_multiple_of(itemsize as usize) {
            let what = format!("{name} is not aligned: a copy is (`{name}.copy()`)");
            return Err(PyValueError::new_err(what));
        }
        match (itemsize, signed) {
            (4, false) => all!(U32),
            (4, true) => all!(I32),
            (8, false) => all!(U64),
            (8, true) => all!(I64),
            _ => Ok(None),
        }
    }

    /// The bytes, for a short look while the interpreter is attached.
    pub fn bytes(&self) -> &[u8] {
        match self.raw.len {
            0 => &[],
            // SAFETY: as many bytes as the object says, held; nothing else runs Python while they are read.
            len => unsafe { std::slice::from_raw_parts(self.raw.buf.cast(), len as usize) },
        }
    }
}

/// Whether the elements of a NumPy array refer to objects; unknown for others.
fn has_objects(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.getattr_opt(intern!(object.py(), "dtype"))? {
        Some(dtype) => dtype.getattr(intern!(object.py(), "hasobject"))?.is_truthy(),
        None => Ok(true),
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // If the interpreter is gone, so is the memory that it held.
        Python::try_attach(|_| {
            // SAFETY: it was acquired, and is released once.
            unsafe { PyBuffer_Release(&mut *self.raw) }
        });
    }
}

/// The bytes of a small argument, such as an IV, with enough memory for the copy that operations make.
pub fn small(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Buffer> {
    let buffer = Buffer::of(object, false, name)?.ok_or_else(|| {
        let kind = object.get_type().name().map_or("something else".into(), |name| name.to_string());
        PyTypeError::new_err(format!("{name} must be bytes, or another object with the buffer protocol, not {kind}"))
    })?;
    let bytes = buffer.len();
    match room::<u8>(bytes as usize) {
        Ok(_) => Ok(buffer),
        Err(_) => Err(PyMemoryError::new_err(format!(
            "not enough memory for {} of {name}: free some of it, or use less",
            counted(bytes, "byte")
        ))),
    }
}

/// A `bytes` with this content. `PyBytes::new` panics where there is no memory for it.
pub fn bytes<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let copy = |to: &mut [u8]| {
        to.copy_from_slice(content);
        Ok(())
    };
    PyBytes::new_with(py, content.len(), copy).map_err(|_| no_memory(NoMemory { bytes: content.len() }))
}

/// A new `bytes` of this length, and the address to write its content to: nothing else has it yet.
pub fn new_bytes(py: Python<'_>, len: usize) -> PyResult<(Bound<'_, PyAny>, u64)> {
    let too_many = || no_memory(NoMemory { bytes: len });
    let size = isize::try_from(len).map_err(|_| too_many())?;
    // SAFETY: without content to copy, this allocates; null means an exception, and becomes one.
    let bytes = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(std::ptr::null(), size)) };
    // Python's own exception has no text, or another one.
    let bytes = bytes.map_err(|_| too_many())?;
    // SAFETY: it is a bytes object.
    let start = unsafe { ffi::PyBytes_AsString(bytes.as_ptr()) };
    Ok((bytes, start as u64))
}
