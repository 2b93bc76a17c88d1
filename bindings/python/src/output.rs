//! A file that the package's Python code writes: at a path, complete or absent (`new_file`), or to a file object.

use crate::at_exit::detached;
use crate::error::{guarded, of_io};
use crate::files::{Destination, refuse_same};
use crate::memory::{Memory, on_host};
use crate::new_file::Like;
use pyo3::exceptions::PyValueError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// A file that is being written.
///
/// source: the file object that the data is made from; the new file is no more open than that.
/// destination: a path, or a file object that bytes are written to.
/// overwrite: whether a file may be replaced; else `FileExistsError`.
#[pyclass(frozen, module = "aes_bitslice", name = "_Output")]
pub struct Output(Mutex<Option<Destination>>);

#[pymethods]
impl Output {
    #[new]
    #[pyo3(signature = (source, destination, *, overwrite = false))]
    fn new(source: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>, overwrite: bool) -> PyResult<Self> {
        refuse_same(source, destination)?;
        Destination::of(destination, overwrite, &Like::object(source)?).map(|to| Self(Mutex::new(Some(to))))
    }

    /// Writes bytes. After an exception the file is given up.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let memory = Memory::of(data, false, "data", None)?;
        on_host(memory.place, "what is written")?;
        let host = memory.host();
        let mut to = self.take()?;
        guarded(|| detached(py, || to.write_all(host.input()).map(|()| to)).map_err(of_io)).map(|to| self.put(Some(to)))
    }

    /// Completes the file, which then has its name.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let to = self.take()?;
        guarded(|| detached(py, || to.finish()))
    }

    /// Gives the file up, unless it is complete: it never appears.
    fn abort(&self) {
        self.put(None);
    }

    /// Without `__clear__`: a cycle goes through an object that was changed, and this never gets another one.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(Ok(()), |to| to.traverse(&visit))
    }
}

impl Output {
    fn take(&self) -> PyResult<Destination> {
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.take().ok_or_else(|| PyValueError::new_err("the file is complete, or was given up after an error"))
    }

    fn put(&self, to: Option<Destination>) {
        let old = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), to);
        // Not with the lock, which the garbage collector takes: it may run Python code.
        drop(old);
    }
}
