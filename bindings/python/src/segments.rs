//! The segments of a sealed file, for a program that reads them itself and decrypts them where it wants, such as in GPU memory
//! (`python/aes_bitslice/_segments.py`): where they are in file and message, their cipher and their nonces.

use crate::cipher::Cipher;
use crate::device::Span;
use crate::driver::keeping_context;
use crate::engine::Engine;
use crate::error::{guarded, of_seal};
use crate::files::{FileSecret, Source};
use crate::memory::{Host, Memory};
use aes_bitslice_seal::{Error, Opening};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The segments of a sealed file. The message's length is that of the file: whoever relies on it opens the last segment, or knows an
/// authentic length.
#[pyclass(frozen, module = "aes_bitslice", name = "_SealedSegments")]
pub struct SealedSegments {
    cipher: Py<Cipher>,
    opening: Opening,
    path: Option<PathBuf>,
    /// The file at the path.
    opened: Option<File>,
    /// Of the file, and of its message: bytes. The number of segments.
    file: u64,
    length: u64,
    count: u64,
}

const BECAME_SHORTER: Error = Error::CutOff("it is cut off: it became shorter while it was read");

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
            let path: Option<PathBuf> = input.path().map(Into::into);
            let opened_again = path.as_ref().map(File::open).transpose()?;
            let cipher = Py::new(py, Cipher::new(opened.clone(), opening.cipher().clone()))?;
            Ok(Self { cipher, opening, path, opened: opened_again, file, length, count })
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

    /// Reads the segments from `first` to before `end` of the file at a path: their ciphertext to `out`, which has as many bytes, and their tags
    /// are returned. To a GPU it goes through `room`, pinned memory for one segment or several, on the current stream, and is there when this
    /// returns. Any number of threads may read.
    fn read<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        end: u64,
        out: &Bound<'py, PyAny>,
        room: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.opened.as_ref().ok_or_else(|| PyTypeError::new_err("the file has no path"))?;
        let out = Memory::of(out, true, "out", None)?;
        let room = room.map(|room| Memory::of(room, true, "room", None)).transpose()?;
        let host = |memory: &Memory| Host::new(memory.pointer, memory.len as usize);
        let (segments, mut tags) = (first..end, vec![[0; 16]; (end - first) as usize]);
        assert_eq!(out.len, self.begins(end).0 - self.begins(first).0, "the length of out");
        let (on_gpu, mut memory) = (Span::of(&out), host(room.as_ref().unwrap_or(&out)));
        let read = || match on_gpu {
            Some(out) => keeping_context(|| self.read_to(file, segments, out, memory.output(), &mut tags)),
            None => self.read_segments(file, segments, memory.output(), &mut tags),
        };
        guarded(|| py.detach(read).map_err(|error| self.failed(error)))?;
        Ok(PyBytes::new(py, tags.as_flattened()))
    }

    /// The exception for a segment that is not authentic.
    fn damaged(&self, segment: u64) -> PyErr {
        self.failed(Error::Damaged { index: segment })
    }

    /// The exception for a file that ended before its last segment.
    fn cut_off(&self) -> PyErr {
        self.failed(BECAME_SHORTER)
    }
}

impl SealedSegments {
    /// Reads segments to memory of a GPU, through `room`.
    fn read_to(
        &self,
        file: &File,
        segments: Range<u64>,
        out: Span<'_>,
        room: &mut [u8],
        mut tags: &mut [[u8; 16]],
    ) -> Result<(), Error> {
        let at = |segment| self.begins(segment).0 - self.begins(segments.start).0;
        let mut next = segments.start;
        while next < segments.end {
            let begin = next;
            let fits = |&segment: &u64| (at(segment) - at(begin)) as usize <= room.len();
            next = (begin + 1..=segments.end).take_while(fits).last().expect("room for a segment");
            let (of_part, rest) = tags.split_at_mut((next - begin) as usize);
            tags = rest;
            let part = &mut room[..(at(next) - at(begin)) as usize];
            self.read_segments(file, begin..next, part, of_part)?;
            out.fill(at(begin), part)?;
        }
        Ok(())
    }

    /// Reads segments to host memory of as many bytes.
    fn read_segments(
        &self,
        file: &File,
        segments: Range<u64>,
        mut memory: &mut [u8],
        tags: &mut [[u8; 16]],
    ) -> Result<(), Error> {
        for (segment, tag) in segments.zip(tags) {
            let ((start, place), (end, _)) = (self.begins(segment), self.begins(segment + 1));
            let (ciphertext, rest) = memory.split_at_mut((end - start) as usize);
            memory = rest;
            let read = file.read_exact_at(ciphertext, place);
            read.and_then(|()| file.read_exact_at(tag, place + (end - start))).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => BECAME_SHORTER,
                _ => error.into(),
            })?;
        }
        Ok(())
    }

    fn failed(&self, error: Error) -> PyErr {
        of_seal(error, self.path.as_deref())
    }
}
