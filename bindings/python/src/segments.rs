//! The segments of a sealed file, for a program that reads them itself and decrypts them where it wants, such as in GPU memory
//! (`python/aes_bitslice/_segments.py`): where they are in file and message, their cipher and their nonces.

use crate::cipher::Cipher;
use crate::engine::Engine;
use crate::error::{guarded, of_seal};
use crate::files::{FileSecret, Source};
use aes_bitslice_seal::{Error, Opening};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// The segments of a sealed file. The message's length is that of the file: whoever relies on it opens the last segment, or knows an
/// authentic length.
#[pyclass(frozen, module = "aes_bitslice", name = "_SealedSegments")]
pub struct SealedSegments {
    cipher: Py<Cipher>,
    opening: Opening,
    path: Option<PathBuf>,
    /// Of the file, and of its message: bytes. The number of segments.
    file: u64,
    length: u64,
    count: u64,
}

#[pymethods]
impl SealedSegments {
    #[new]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        secret: &Bound<'_, FileSecret>,
        engine: &Bound<'_, Engine>,
    ) -> PyResult<Self> {
        let (secret, opened) = (secret.get(), engine.get().opened.clone());
        opened.check()?;
        let mut input = Source::of(source, true)?;
        guarded(|| {
            let found = py.detach(|| {
                let (opening, file) = secret.opening_with_length(&opened.engine, &mut input)?;
                let (count, length) = opening.places().message(file)?;
                Ok((opening, file, count, length))
            });
            let (opening, file, count, length) = found.map_err(|error| of_seal(error, input.path()))?;
            let cipher = Py::new(py, Cipher::new(opened.clone(), opening.cipher().clone()))?;
            Ok(Self { cipher, opening, path: input.path().map(Into::into), file, length, count })
        })
    }

    /// The cipher of the segments: each is a message of AES-GCM, without additional data.
    #[getter]
    fn cipher(&self, py: Python<'_>) -> Py<Cipher> {
        self.cipher.clone_ref(py)
    }

    /// The number of bytes of the message of a file of this length.
    #[getter]
    fn length(&self) -> u64 {
        self.length
    }

    /// Bytes of a segment in the file, except for the first and the last.
    #[getter]
    fn segment_bytes(&self) -> usize {
        self.opening.places().segment_bytes()
    }

    /// The first segment with bytes of the message from `start` to before `stop`, and the one after the last.
    fn holding(&self, start: u64, stop: u64) -> PyResult<(u64, u64)> {
        let part = self.opening.places().part(self.file, &(start..stop)).map_err(|error| self.failed(error))?;
        Ok((part.first, part.first + part.segments))
    }

    /// Where a segment begins: in the message, and in the file. For the number after the last one, where these end; there, in the file, is
    /// also the end of the tag of the segment before.
    fn begins(&self, segment: u64) -> (u64, u64) {
        let places = self.opening.places();
        match segment < self.count {
            true => (places.first_byte(segment), places.place(segment)),
            false => (self.length, self.file),
        }
    }

    /// The nonces of the segments from `first` to before `end`, 12 bytes each.
    fn nonces<'py>(&self, py: Python<'py>, first: u64, end: u64) -> PyResult<Bound<'py, PyBytes>> {
        let nonce = |segment| self.opening.nonce(segment, segment + 1 == self.count);
        let nonces: Result<Vec<_>, _> = (first..end).map(nonce).collect();
        Ok(PyBytes::new(py, nonces.map_err(|error| self.failed(error))?.as_flattened()))
    }

    /// The exception for a segment that is not authentic.
    fn damaged(&self, segment: u64) -> PyErr {
        self.failed(Error::Damaged { index: segment })
    }

    /// The exception for a file that ended before its last segment.
    fn cut_off(&self) -> PyErr {
        self.failed(Error::CutOff("it is cut off: it became shorter while it was read"))
    }
}

impl SealedSegments {
    fn failed(&self, error: Error) -> PyErr {
        of_seal(error, self.path.as_deref())
    }
}
