//! Tensors that other libraries export through DLPack, with and without a version, and the descriptions that their C functions give of
//! tensors that they keep (<https://dmlc.github.io/dlpack>).

use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{ffi, intern};
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// `kDLCPU`, `kDLCUDA`, `kDLCUDAHost` and `kDLCUDAManaged`.
const CPU: i32 = 1;
const CUDA: i32 = 2;
const CUDA_HOST: i32 = 3;
const CUDA_MANAGED: i32 = 13;

/// `kDLInt`, `kDLUInt` and `kDLBool`.
const INTEGERS: [u8; 3] = [0, 1, 6];

#[repr(C)]
struct Device {
    kind: i32,
    id: i32,
}

#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

impl DlTensor {
    /// The address of its first byte, the number of its bytes, and their place.
    ///
    /// # Errors
    /// `BufferError` for one that is not contiguous, `TypeError` for other devices.
    fn span(&self) -> PyResult<(u64, u64, Place)> {
        let ndim = self.ndim.max(0) as usize;
        let list = |start: *const i64| {
            if ndim == 0 || start.is_null() {
                None
            } else {
                // SAFETY: one number for each dimension of the tensor.
                Some(unsafe { slice::from_raw_parts(start, ndim) })
            }
        };
        let shape = match (ndim, list(self.shape)) {
            (0, _) => &[],
            (_, found) => found.ok_or_else(|| PyBufferError::new_err("a tensor that does not say its shape"))?,
        };
        let count = elements(shape, list(self.strides))?;
        let bits = u64::from(self.dtype.bits) * u64::from(self.dtype.lanes);
        let bits = count.checked_mul(bits).ok_or_else(|| PyBufferError::new_err("a tensor of too many bytes"))?;
        let place = place(self.device.kind, self.device.id)?;
        Ok(((self.data as u64).wrapping_add(self.byte_offset), bits.div_ceil(8), place))
    }
}

/// `DLManagedTensor`.
#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
struct Versioned {
    major: u32,
    minor: u32,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: DlTensor,
}

const READ_ONLY: u64 = 1;

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const EXCHANGE: &CStr = c"dlpack_exchange_api";

/// The place of a tensor's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In host memory.
    Host,
    /// In the memory of the CUDA device with this number.
    Cuda(usize),
}

/// A tensor that its library keeps alive until this is dropped.
pub struct Tensor {
    held: Held,
    /// Its first byte.
    pub pointer: u64,
    /// Bytes.
    pub len: u64,
    /// Whether it must not be written.
    pub read_only: bool,
    /// Where it is.
    pub place: Place,
}

enum Held {
    Plain(*mut Managed),
    Versioned(*mut Versioned),
}

// SAFETY: only this value owns the tensor, and it is given back with the interpreter attached.
unsafe impl Send for Tensor {}

/// The place of an object's memory, if it can be exported at all.
pub fn place_of(object: &Bound<'_, PyAny>) -> PyResult<Option<Place>> {
    let py = object.py();
    let Some(ask) = object.getattr_opt(intern!(py, "__dlpack_device__"))? else { return Ok(None) };
    let (kind, id): (i32, i32) = {
        let answer = ask.call0()?;
        // The kind is an enumeration in some libraries.
        (answer.get_item(0)?.extract()?, answer.get_item(1)?.extract()?)
    };
    place(kind, id).map(Some)
}

fn place(kind: i32, id: i32) -> PyResult<Place> {
    match kind {
        CPU | CUDA_HOST => Ok(Place::Host),
        CUDA | CUDA_MANAGED if id >= 0 => Ok(Place::Cuda(id as usize)),
        other => Err(PyTypeError::new_err(format!(
            "the tensor is on a device of DLPack's type {other}: bring it to host memory or to a CUDA GPU"
        ))),
    }
}

impl Tensor {
    /// Exports an object. `stream` is the stream to order after the object's work so far: a handle, 1 for the legacy default stream, -1 for
    /// no order; `None` in host memory.
    ///
    /// # Errors
    /// Errors that the object's library raises; `BufferError` for a tensor that is not contiguous.
    pub fn of(object: &Bound<'_, PyAny>, stream: Option<i64>) -> PyResult<Self> {
        let py = object.py();
        let export = object.getattr(intern!(py, "__dlpack__"))?;
        let options = PyDict::new(py);
        if stream.is_some() {
            options.set_item(intern!(py, "stream"), stream)?;
        }
        options.set_item(intern!(py, "max_version"), (1, 1))?;
        let capsule = match export.call((), Some(&options)) {
            // A library from before DLPack had versions: Python's own error, not one that the library made of it.
            Err(error) if error.get_type(py).is(py.get_type::<PyTypeError>()) => {
                options.del_item(intern!(py, "max_version"))?;
                export.call((), Some(&options))?
            }
            outcome => outcome?,
        };
        Self::take(&capsule)
    }

    /// Takes a tensor out of its capsule.
    fn take(capsule: &Bound<'_, PyAny>) -> PyResult<Self> {
        let object = capsule.as_ptr();
        let is = |name: &CStr| {
            // SAFETY: any object may be asked.
            unsafe { ffi::PyCapsule_IsValid(object, name.as_ptr()) == 1 }
        };
        let content = |name: &CStr, used: &'static CStr| {
            // SAFETY: a capsule of this name; giving it the other name takes over its content.
            unsafe {
                let content = ffi::PyCapsule_GetPointer(object, name.as_ptr());
                if content.is_null() || ffi::PyCapsule_SetName(object, used.as_ptr()) != 0 {
                    Err(PyErr::fetch(capsule.py()))
                } else {
                    Ok(content)
                }
            }
        };
        let held = match (is(NAME_VERSIONED), is(NAME)) {
            (true, _) => Held::Versioned(content(NAME_VERSIONED, USED_VERSIONED)?.cast()),
            (_, true) => Held::Plain(content(NAME, USED)?.cast()),
            _ => return Err(PyTypeError::new_err("__dlpack__ gave no capsule with a tensor")),
        };
        let mut taken = Self { held, pointer: 0, len: 0, read_only: false, place: Place::Host };
        // SAFETY: the exporter's, alive until it is given back; the capsule's name determines the layout, of major version 1 or none.
        let (tensor, flags) = unsafe {
            match taken.held {
                Held::Plain(managed) => (&(*managed).tensor, 0),
                Held::Versioned(versioned) if (*versioned).major == 1 => (&(*versioned).tensor, (*versioned).flags),
                Held::Versioned(_) => return Err(PyBufferError::new_err("a tensor of a later version of DLPack")),
            }
        };
        (taken.pointer, taken.len, taken.place) = tensor.span()?;
        taken.read_only = flags & READ_ONLY != 0;
        Ok(taken)
    }
}

/// `DLPackExchangeAPI`: C functions through which a library describes its tensors.
#[repr(C)]
pub struct Functions {
    major: u32,
    minor: u32,
    older: *const c_void,
    allocate: *const c_void,
    export: *const c_void,
    import: *const c_void,
    /// Describes a tensor that its owner keeps; not every library has it.
    describe: Option<unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int>,
    current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

/// A library's description of a tensor, through its functions.
pub struct Described {
    /// Its first byte.
    pub pointer: u64,
    /// Bytes.
    pub len: u64,
    /// Where it is.
    pub place: Place,
    /// The handle of the library's current stream there; none in host memory.
    pub stream: Option<u64>,
}

impl Functions {
    /// The functions in a capsule, which is a type's `__dlpack_c_exchange_api__`; `None` for another major version.
    ///
    /// # Errors
    /// `ValueError` for another object.
    pub fn of(capsule: &Bound<'_, PyAny>) -> PyResult<Option<&'static Self>> {
        // SAFETY: null, or a table with these fields, if the version is this one, that lives as long as the process.
        let functions = unsafe {
            let table: *const Self = ffi::PyCapsule_GetPointer(capsule.as_ptr(), EXCHANGE.as_ptr()).cast();
            table.as_ref()
        };
        let functions = functions.ok_or_else(|| PyErr::fetch(capsule.py()))?;
        Ok(Some(functions).filter(|functions| functions.major == 1))
    }

    /// Describes an object of the type that has these functions. Does not order any work. `None` if they cannot describe it: `__dlpack__`
    /// says why. `check` refuses objects whose bytes are not their values, and, with `writes`, those that must not be written.
    ///
    /// # Errors
    /// `BufferError` for a tensor that is not contiguous, `TypeError` for other devices, and what `check` raises.
    pub fn describe(
        &self,
        object: &Bound<'_, PyAny>,
        writes: bool,
        check: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<Option<Described>> {
        let (Some(describe), Some(current_stream)) = (self.describe, self.current_stream) else { return Ok(None) };
        let (py, mut tensor) = (object.py(), MaybeUninit::<DlTensor>::uninit());
        // SAFETY: the object lives and has their type, and the place is one for a tensor.
        if unsafe { describe(object.as_ptr(), tensor.as_mut_ptr()) } != 0 {
            let _ = PyErr::take(py);
            check()?;
            return Ok(None);
        }
        // SAFETY: it was written; its lists are the object's, which lives and is not changed here.
        let tensor = unsafe { tensor.assume_init() };
        let (pointer, len, place) = tensor.span()?;
        let stream = match place {
            Place::Host => None,
            Place::Cuda(_) => {
                let mut stream = ptr::null_mut();
                // SAFETY: the place is one for a handle.
                match unsafe { current_stream(tensor.device.kind, tensor.device.id, &mut stream) } {
                    0 => Some(stream as u64),
                    _ => return Err(PyErr::fetch(py)),
                }
            }
        };
        // Integers have no gradient, and nothing that is not in memory.
        if writes || !INTEGERS.contains(&tensor.dtype.code) {
            check()?;
        }
        Ok(Some(Described { pointer, len, place, stream }))
    }
}

/// The number of elements of a tensor without gaps in memory, whose last dimension varies fastest.
pub fn elements(shape: &[i64], strides: Option<&[i64]>) -> PyResult<u64> {
    let sizes = shape.iter().map(|&size| u64::try_from(size).ok());
    // A dimension of size 0 means no elements, whatever the others are.
    let is_empty = shape.contains(&0);
    let count = sizes.clone().try_fold(1u64, |n, size| if is_empty { size.map(|_| 0) } else { n.checked_mul(size?) });
    let count = count.ok_or_else(|| PyBufferError::new_err("a tensor of too many elements"))?;
    let mut expected = 1;
    for (&size, &stride) in shape.iter().zip(strides.unwrap_or_default()).rev().filter(|_| !is_empty) {
        // The stride of a dimension of size 1 means nothing.
        if size > 1 && i128::from(stride) != expected {
            return Err(PyBufferError::new_err(
                "the tensor is not contiguous: make it so first (`.contiguous()` or `ascontiguousarray`)",
            ));
        }
        expected *= i128::from(size);
    }
    Ok(count)
}

impl Drop for Tensor {
    fn drop(&mut self) {
        Python::try_attach(|_| {
            // SAFETY: taken over from its capsule, and given back once.
            unsafe {
                match self.held {
                    Held::Plain(managed) => (*managed).deleter.map(|delete| delete(managed)),
                    Held::Versioned(versioned) => (*versioned).deleter.map(|delete| delete(versioned)),
                };
            }
        });
    }
}
