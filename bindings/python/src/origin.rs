//! Where the data of a file object comes from: plain memory, or an open file, by its descriptor.

use aes_bitslice_seal::access::is_block_device;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};
use std::fs::Metadata;
use std::path::PathBuf;

/// The class of plain memory.
pub fn bytes_io(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "io", "BytesIO")
}

/// Whether a file object is plain memory, and not of a derived class, which may do anything.
pub fn is_memory(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.get_type().is(bytes_io(object.py())?))
}

/// A path of the open file of a file object, even if that has no name any more; none for one without a descriptor.
pub fn open_path(object: &Bound<'_, PyAny>) -> Option<PathBuf> {
    told(object, intern!(object.py(), "fileno")).map(path_of_descriptor)
}

/// The descriptor of the file that a file object's data comes from, if it is known. The package's readers have no `fileno`, by which a caller
/// would read the sealed bytes: their `_descriptor` tells it, also where they are behind a buffer.
#[pyfunction(name = "_descriptor_of")]
pub fn descriptor_of(object: &Bound<'_, PyAny>) -> Option<u32> {
    let py = object.py();
    let of_reader = |reader: &Bound<'_, PyAny>| told(reader, intern!(py, "_descriptor"));
    told(object, intern!(py, "fileno"))
        .or_else(|| of_reader(object))
        .or_else(|| of_reader(&object.getattr(intern!(py, "raw")).ok()?))
}

/// The descriptor that a method returns.
fn told(object: &Bound<'_, PyAny>, method: &Bound<'_, PyString>) -> Option<u32> {
    object.call_method0(method).and_then(|descriptor| descriptor.extract()).ok()
}

/// A path of an open file.
pub fn path_of_descriptor(descriptor: u32) -> PathBuf {
    PathBuf::from(format!("/dev/fd/{descriptor}"))
}

/// Whether it is a file or a disk, whose data only some users may read, and which is never silent.
pub fn holds_data(metadata: &Metadata) -> bool {
    metadata.is_file() || is_block_device(metadata)
}
