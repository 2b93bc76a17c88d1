//! The segments of a sealed file, for a program that reads them itself and decrypts them where it wants, such as in GPU memory
//! (`python/aes_bitslice/_segments.py`): where they are in file and message, their cipher and their nonces.

use crate::buffer;
use crate::cipher::Cipher;
use crate::device::Span;
use crate::driver::keeping_context;
use crate::engine::Engine;
use crate::error::{guarded, no_memory, of_seal};
use crate::files::{FileSecret, Source};
use crate::memory::{Host, Memory};
use crate::patient::Patient;
use aes_bitslice_core::memory::{filled, tried};
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
    opened: Option<Patient>,
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
            let (opening, file, count, length) = found.map_err(|error| input.failed(error))?;
            let (path, kept) = match input {
                Source::File { file, path, .. } => (Some(path), Some(file)),
                Source::Object { .. } => (None, None),
            };
            let cipher = Py::new(py, Cipher::new(opened.clone(), opening.cipher().clone()))?;
            Ok(Self { cipher, opening, path, opened: kept, file, length, count })
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
        let nonces = tried((first as usize..end as usize).map(|segment| nonce(segment as u64)));
        buffer::bytes(py, nonces.map_err(|error| self.failed(error))?.as_flattened())
    }

    /// Reads the segments from `first` to before `end` of the file at a path: their ciphertext to `out`, which has as many bytes, and their tags
    /// are returned. To a GPU it goes through `room`, pinned memory of any size, on the current stream, and is there when this returns. Any
    /// number of threads may read.
    fn read<'py>(
        &self,
        py: Python<'py>,
        first: u64,
        end: u64,
        out: &Bound<'py, PyAny>,
        room: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.opened.as_ref().ok_or_else(|| PyTypeError::new_err("the file has no path"))?.file();
        let out = Memory::of(out, true, "out", None)?;
        let room = room.map(|room| Memory::of(room, true, "room", None)).transpose()?;
        let host = |memory: &Memory| Host::new(memory.pointer, memory.len as usize);
        let bytes = self.begins(first).0..self.begins(end).0;
        assert_eq!(out.len, bytes.end - bytes.start, "the length of out");
        let (on_gpu, mut memory) = (Span::of(&out), host(room.as_ref().unwrap_or(&out)));
        let mut tags = filled([0; 16], (end - first) as usize).map_err(no_memory)?;
        let read = || {
            match on_gpu {
                Some(out) => keeping_context(|| self.read_through(file, bytes, memory.output(), out))?,
                None => self.read_bytes(file, bytes.start, memory.output())?,
            }
            self.read_tags(file, first, &mut tags)
        };
        guarded(|| py.detach(read).map_err(|error| self.failed(error)))?;
        buffer::bytes(py, tags.as_flattened())
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
    /// Reads the ciphertext of bytes of the message to memory of a GPU, through `room`: that of as many whole segments as half of it has room
    /// for, or of a part of one.
    fn read_through(&self, file: &File, bytes: Range<u64>, room: &mut [u8], out: Span<'_>) -> Result<(), Error> {
        assert!(!room.is_empty() || bytes.is_empty(), "there is no room");
        let (places, mut start) = (self.opening.places(), bytes.start);
        out.fill(room, |half| {
            if start == bytes.end {
                return Ok(None);
            }
            let most = (start + half.len() as u64).min(bytes.end);
            let begun = places.first_byte(places.segment_of(most));
            let end = if most == bytes.end || begun <= start { most } else { begun };
            self.read_bytes(file, start, &mut half[..(end - start) as usize])?;
            let part = start - bytes.start..end - bytes.start;
            start = end;
            Ok(Some(part))
        })
    }

    /// Reads the ciphertext of the message from its byte `start` on.
    fn read_bytes(&self, file: &File, mut start: u64, mut memory: &mut [u8]) -> Result<(), Error> {
        while !memory.is_empty() {
            let segment = self.opening.places().segment_of(start);
            let ((first, place), (end, _)) = (self.begins(segment), self.begins(segment + 1));
            let (part, rest) = memory.split_at_mut(memory.len().min((end - start) as usize));
            read_at(file, part, place + (start - first))?;
            start += part.len() as u64;
            memory = rest;
        }
        Ok(())
    }

    /// Reads the tags of the segments from `first` on.
    fn read_tags(&self, file: &File, first: u64, tags: &mut [[u8; 16]]) -> Result<(), Error> {
        (first + 1..).zip(tags).try_for_each(|(next, tag)| read_at(file, tag, self.begins(next).1 - 16))
    }

    fn failed(&self, error: Error) -> PyErr {
        of_seal(error, self.path.as_deref(), self.opened.as_ref().is_some_and(Patient::is_disk))
    }
}

fn read_at(file: &File, memory: &mut [u8], place: u64) -> Result<(), Error> {
    file.read_exact_at(memory, place).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => BECAME_SHORTER,
        _ => error.into(),
    })
}
