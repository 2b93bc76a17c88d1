//! Questions to an array's library, answered in Python: `python/aes_bitslice/_arrays.py` has a table of libraries.

use crate::dlpack::{Described, Functions, Place};
use crate::number;
use aes_bitslice_runtime::cuda::IntegerType;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule};

/// A name of `_arrays`, looked up once.
fn function<'py>(py: Python<'py>, cell: &PyOnceLock<Py<PyAny>>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let get = || PyResult::Ok(PyModule::import(py, "aes_bitslice._arrays")?.getattr(name)?.unbind());
    Ok(cell.get_or_try_init(py, get)?.bind(py).clone())
}

/// The library of an array.
pub struct Library<'py>(Bound<'py, PyAny>);

impl<'py> Library<'py> {
    /// The library of a known kind of array; `None` for others and for plain bytes.
    pub fn of(array: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        static KNOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (py, kind) = (array.py(), array.get_type());
        let known = function(py, &KNOWN, "known")?;
        let found = match known.cast::<PyDict>()?.get_item(&kind)? {
            Some(found) => found,
            None => function(py, &CELL, "library_of")?.call1((kind,))?,
        };
        Ok((!found.is_none()).then_some(Self(found)))
    }

    /// A new array of the same shape and type, in the same memory, of any content.
    pub fn empty_like(&self, array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.0.call_method1(intern!(array.py(), "empty_like"), (array,))
    }

    /// The library's description of an array without a DLPack export, which is slow in some libraries: through its C functions, else in
    /// Python. `None` if the library gives none.
    ///
    /// # Errors
    /// What the library's check raises: for an array whose bytes are not its values, or that must not be written although `writes` is set.
    pub fn describe(&self, array: &Bound<'py, PyAny>, writes: bool) -> PyResult<Option<Described>> {
        let py = array.py();
        let check = || self.0.call_method1(intern!(py, "check"), (array, writes)).map(drop);
        let types = self.0.getattr(intern!(py, "types"))?;
        let Some(functions) = types.cast::<PyDict>()?.get_item(array.get_type())? else {
            // It refuses what an export would not.
            check()?;
            return Ok(None);
        };
        if !functions.is_none()
            && let Some(functions) = Functions::of(&functions)?
        {
            return functions.describe(array, writes, check);
        }
        let span = self.0.call_method1(intern!(py, "span"), (array, writes))?;
        let Some((pointer, len, device)) = span.extract::<Option<(u64, u64, i64)>>()? else { return Ok(None) };
        let (place, stream) = match usize::try_from(device) {
            Err(_) => (Place::Host, None),
            Ok(ordinal) => (Place::Cuda(ordinal), self.stream(array)?),
        };
        Ok(Some(Described { pointer, len, place, stream }))
    }

    /// Tells the library that an array was written.
    pub fn written(&self, array: &Bound<'py, PyAny>) -> PyResult<()> {
        self.0.call_method1(intern!(array.py(), "written"), (array,)).map(drop)
    }

    /// The handle of the library's current stream on the device of an array; `None` if the library has no such thing.
    pub fn stream(&self, array: &Bound<'py, PyAny>) -> PyResult<Option<u64>> {
        self.0.call_method1(intern!(array.py(), "stream"), (array,))?.extract()
    }

    /// Tells the library's allocator that a stream uses an array.
    pub fn used(&self, array: &Bound<'py, PyAny>, stream: u64) -> PyResult<()> {
        self.0.call_method1(intern!(array.py(), "used"), (array, stream)).map(drop)
    }

    /// Whether the library's arrays are immutable.
    pub fn is_immutable(&self) -> PyResult<bool> {
        self.0.getattr(intern!(self.0.py(), "immutable"))?.is_truthy()
    }
}

/// The shape of an array on a GPU, and the type of its integers if they are such as ranges may have; `None` for anything else.
pub fn shape_of(array: &Bound<'_, PyAny>) -> PyResult<Option<(Vec<usize>, Option<IntegerType>)>> {
    let py = array.py();
    let Ok(Some(interface)) = array.getattr_opt(intern!(py, "__cuda_array_interface__")) else { return Ok(None) };
    let interface = interface.cast::<PyDict>()?;
    let item = |name| interface.get_item(name)?.ok_or_else(|| PyTypeError::new_err("an array without a shape"));
    let kind: String = item("typestr")?.extract()?;
    // In the byte order of GPUs.
    let integers = match &*kind {
        "<u4" => Some(IntegerType::U32),
        "<i4" => Some(IntegerType::I32),
        "<u8" => Some(IntegerType::U64),
        "<i8" => Some(IntegerType::I64),
        _ => None,
    };
    Ok(Some((item("shape")?.extract()?, integers)))
}

/// The handle of a stream that the caller gave: a number, or an object of a library.
pub fn handle_of(stream: &Bound<'_, PyAny>) -> PyResult<u64> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    function(stream.py(), &CELL, "handle_of")?.call1((stream,)).and_then(|handle| number::stream(&handle))
}

/// Memory of an engine as a `memoryview` that keeps it alive.
pub fn view<'py>(memory: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static CELL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    function(memory.py(), &CELL, "view")?.call1((memory,))
}
