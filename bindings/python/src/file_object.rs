//! Python's file objects as Rust readers, writers and seekers: the results of their methods are checked.

use crate::at_exit::is_ending;
use crate::buffer::{self, small};
use crate::origin::{self, descriptor_of, holds_data, is_memory, open_path};
use aes_bitslice_core::count::counted;
use aes_bitslice_seal::access::is_block_device;
use pyo3::exceptions::{PyBlockingIOError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use rustix::io::Errno;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Must be called when the module is loaded: while Python ends, objects that it drops may seal, and nothing can be imported.
pub fn import_classes(py: Python<'_>) -> PyResult<()> {
    origin::bytes_io(py)?;
    raw_io_base(py)?;
    Ok(())
}

fn raw_io_base(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "io", "RawIOBase")
}

/// A file object.
pub struct FileObject {
    object: Py<PyAny>,
    /// The position that counts as its beginning when seeking.
    start: u64,
}

impl FileObject {
    /// A file object that is read or written from its position on.
    pub fn new(object: &Bound<'_, PyAny>) -> Self {
        Self { object: object.clone().unbind(), start: 0 }
    }

    /// Tells Python's garbage collector of the object.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)
    }

    /// The descriptor of the file that the object's data comes from, if it is known.
    pub fn descriptor(&self, py: Python<'_>) -> Option<u32> {
        descriptor_of(self.object.bind(py))
    }

    /// A file object to seek in: its present position counts as its beginning.
    ///
    /// # Errors
    /// `TypeError` if it cannot seek.
    pub fn to_seek(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let can_seek = object.hasattr(intern!(py, "seek"))?
            && match object.getattr_opt(intern!(py, "seekable"))? {
                Some(seekable) => seekable.call0()?.is_truthy()?,
                None => true,
            };
        if !can_seek {
            return Err(PyTypeError::new_err(
                "the source must be able to seek, for range= and for SealedFile: give a path, or a file object with seek()",
            ));
        }
        let start = seek(object, SeekFrom::Current(0))?;
        Ok(Self { start, ..Self::new(object) })
    }
}

/// Whether reading an object may have to wait for as long as somebody else likes: unless it is a file or plain memory. Python then looks for
/// signals meanwhile, but only on the thread that made the call; while Python ends, only that thread can read at all. And whether it is a
/// disk.
pub fn may_wait_and_is_disk(object: &Bound<'_, PyAny>) -> PyResult<(bool, bool)> {
    if is_memory(object)? {
        return Ok((is_ending(), false));
    }
    let metadata = open_path(object).and_then(|path| fs::metadata(path).ok());
    Ok((is_ending() || !metadata.as_ref().is_some_and(holds_data), metadata.as_ref().is_some_and(is_block_device)))
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let read = self.object.bind(py).call_method1(intern!(py, "read"), (buffer.len(),)).map_err(raised)?;
            // Buffered objects, too, return None if there is no data yet.
            if read.is_none() {
                return Err(raised(would_block("source", "read")));
            }
            let read = small(&read, "what read() returns").map_err(raised)?;
            let bytes = read.bytes();
            match buffer.get_mut(..bytes.len()) {
                Some(to) => to.copy_from_slice(bytes),
                None => return Err(io::Error::other("read() returned more than it was asked for")),
            }
            Ok(bytes.len())
        })
    }
}

impl Write for FileObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let given = bytes.len();
        Python::attach(|py| {
            let object = self.object.bind(py);
            let given_bytes = buffer::bytes(py, bytes).map_err(raised)?;
            let written = object.call_method1(intern!(py, "write"), (given_bytes,)).map_err(raised)?;
            if written.is_none() {
                // From a raw file, None means that it would block; from others, that everything was written.
                let is_raw = raw_io_base(py).and_then(|class| object.is_instance(class)).map_err(raised)?;
                return if is_raw { Err(raised(would_block("destination", "write"))) } else { Ok(given) };
            }
            match written.extract() {
                Ok(count) if count <= given => Ok(count),
                _ => Err(io::Error::other(format!(
                    "write() returned {written}, which is not how many of the {} it was given it has written",
                    counted(given, "byte")
                ))),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for FileObject {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(by) => SeekFrom::Start(self.start.saturating_add(by)),
            other => other,
        };
        let at = Python::attach(|py| seek(self.object.bind(py), to)).map_err(raised)?;
        Ok(at.saturating_sub(self.start))
    }
}

/// Seeks in an object; returns its new position. Some return none, such as `mmap` before Python 3.13: they tell it.
fn seek(object: &Bound<'_, PyAny>, to: SeekFrom) -> PyResult<u64> {
    let (by, whence): (i128, u8) = match to {
        SeekFrom::Start(by) => (by.into(), 0),
        SeekFrom::Current(by) => (by.into(), 1),
        SeekFrom::End(by) => (by.into(), 2),
    };
    let py = object.py();
    let (mut at, mut method) = (object.call_method1(intern!(py, "seek"), (by, whence))?, "seek");
    if at.is_none() && object.hasattr(intern!(py, "tell"))? {
        (at, method) = (object.call_method0(intern!(py, "tell"))?, "tell");
    }
    at.extract().map_err(|_| PyTypeError::new_err(format!("{method}() returned {at}, which is not the new position")))
}

fn would_block(name: &str, verb: &str) -> PyErr {
    let text =
        format!("{name} is non-blocking and cannot {verb} now: give a blocking file (os.set_blocking(fd, True))");
    PyBlockingIOError::new_err((Errno::AGAIN.raw_os_error(), text))
}

/// An exception, on its way through readers and writers.
pub fn raised(error: PyErr) -> io::Error {
    io::Error::other(error)
}
