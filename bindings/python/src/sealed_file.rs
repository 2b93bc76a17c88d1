//! The message of a sealed file as a file: read at any position, or written bit by bit. `python/aes_bitslice/_sealed.py` makes a file object
//! of it.

use crate::at_exit::detached;
use crate::engine::Engine;
use crate::error::{guarded, of_seal};
use crate::file_object::raised;
use crate::files::{Destination, FileSecret, Source, checked, on_engine};
use crate::fork::generation;
use crate::memory::{Host, Memory, Written, on_host};
use crate::new_file::Like;
use crate::opened::Opened;
use crate::signals::Looks;
use aes_bitslice_core::memory::room;
use aes_bitslice_runtime::Buffers;
use aes_bitslice_seal::{Error, Opening, Sealing};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use zeroize::Zeroizing;

/// Bytes of the tag of a segment.
const TAG: usize = 16;

/// The message of a sealed file, to read.
#[pyclass(frozen, module = "aes_bitslice", name = "_SealedReader")]
pub struct SealedReader {
    engine: Option<Arc<Opened>>,
    length: u64,
    state: Mutex<Reading>,
}

struct Reading {
    opening: Opening,
    input: Source,
    /// The first byte of the last segment that was read in part, and its bytes: small reads are often in one segment.
    segment: (u64, Zeroizing<Vec<u8>>),
}

#[pymethods]
impl SealedReader {
    #[new]
    #[pyo3(signature = (source, secret, engine = None))]
    fn new(
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        secret: &Bound<'_, FileSecret>,
        engine: Option<Py<Engine>>,
    ) -> PyResult<Self> {
        let (secret, engine) = (secret.get(), checked(engine)?);
        let mut input = Source::of(source, true)?;
        guarded(|| {
            let found = on_engine(py, &engine, |engine| {
                let (opening, file) = secret.opening_with_length(engine, &mut input)?;
                let length = opening.message_bytes(file, |place, bytes| {
                    input.seek(SeekFrom::Start(place))?;
                    input.read_exact(bytes)
                })?;
                Ok((opening, length))
            });
            let (opening, length) = found.map_err(|error| input.failed(error))?;
            let segment = (0, Zeroizing::new(Vec::new()));
            Ok(Self { engine, length, state: Mutex::new(Reading { opening, input, segment }) })
        })
    }

    /// The number of bytes of the message.
    #[getter]
    fn length(&self) -> u64 {
        self.length
    }

    /// The descriptor of the sealed file, if it is known.
    fn descriptor(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        Ok(held(&self.state)?.input.descriptor(py))
    }

    /// Fills a buffer with the bytes of the message from `position` on; returns how many they are. A failure clears as many.
    fn readinto(&self, py: Python<'_>, position: u64, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.engine.iter().try_for_each(|engine| engine.check())?;
        let memory = Memory::of(buffer, true, "buffer", None)?;
        on_host(memory.place, "what is read")?;
        let written = Written::of(buffer, &memory);
        written.iter().for_each(Written::begins);
        let len = self.length.saturating_sub(position).min(memory.len) as usize;
        let mut host = Host::new(memory.pointer, len);
        let mut state = held(&self.state)?;
        let state = &mut *state;
        guarded(|| {
            detached(py, || {
                let read = state.read(position, self.length, host);
                read.map_err(|error| {
                    host.output().fill(0);
                    state.input.failed(error)
                })
            })
        })?;
        Ok(len)
    }

    /// Without `__clear__`: a cycle goes through an object that was changed, and this never is.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        unused(&self.state).map_or(Ok(()), |state| state.input.traverse(&visit))
    }
}

impl Reading {
    /// Reads as many bytes as `to` has, which the message has.
    fn read(&mut self, position: u64, length: u64, to: Host) -> Result<(), Error> {
        let places = self.opening.places();
        let (mut at, end, mut done) = (position, position + to.len as u64, 0);
        while at < end {
            let (first, bytes) = &self.segment;
            let here = at.checked_sub(*first).and_then(|skip| bytes.get(skip as usize..)).unwrap_or_default();
            if !here.is_empty() {
                let some = here.len().min((end - at) as usize);
                Into::new(to.part(done..done + some)).write_all(&here[..some])?;
                (at, done) = (at + some as u64, done + some);
                continue;
            }
            let number = places.segment_of(at);
            let segment = places.first_byte(number)..places.first_byte(number + 1).min(length);
            if end - at >= places.segment_bytes() as u64 {
                self.opening.open_range(&mut self.input, at..end, Into::new(to.part(done..to.len)))?;
                return Ok(());
            }
            let mut bytes = Zeroizing::new(room((segment.end - segment.start) as usize)?);
            self.opening.open_range(&mut self.input, segment.clone(), &mut *bytes)?;
            self.segment = (segment.start, bytes);
        }
        Ok(())
    }
}

/// Writes to the memory of a call, front to back.
struct Into {
    to: Host,
    done: usize,
    looks: Looks,
}

impl Into {
    fn new(to: Host) -> Self {
        Self { to, done: 0, looks: Looks::default() }
    }
}

impl Write for Into {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.looks.look().map_err(raised)?;
        let end = self.done + bytes.len();
        if let Buffers::Write(to) = self.to.part(self.done..end).buffers() {
            to.copy_from_slice(bytes);
        }
        self.done = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A sealed file that is being written. Dropped before it is complete, it never appears; an object has received a part of it, which does not open.
#[pyclass(frozen, module = "aes_bitslice", name = "_SealedWriter")]
pub struct SealedWriter {
    engine: Option<Arc<Opened>>,
    /// The process that opened it.
    generation: u64,
    /// None when it is complete, or given up after an error.
    state: Mutex<Option<Writing>>,
}

struct Writing {
    sealing: Sealing,
    output: Destination,
    /// The plaintext of a chunk, until it is full and more comes: only then it is known not to be the last.
    memory: Zeroizing<Vec<u8>>,
    /// The number of the chunk.
    number: u64,
}

#[pymethods]
impl SealedWriter {
    #[new]
    #[pyo3(signature = (destination, secret, engine = None, *, overwrite = false))]
    fn new(
        py: Python<'_>,
        destination: &Bound<'_, PyAny>,
        secret: &Bound<'_, FileSecret>,
        engine: Option<Py<Engine>>,
        overwrite: bool,
    ) -> PyResult<Self> {
        let (secret, engine) = (secret.get(), checked(engine)?);
        let mut output = Destination::of(destination, overwrite, &Like::Any)?;
        guarded(|| {
            let begun = on_engine(py, &engine, |engine| {
                let sealing = secret.sealing(engine)?;
                output.write_all(sealing.header())?;
                Ok(Writing { sealing, output, memory: Zeroizing::new(Vec::new()), number: 0 })
            });
            let begun = begun.map_err(|error| of_seal(error, None, false))?;
            Ok(Self { engine, generation: generation(), state: Mutex::new(Some(begun)) })
        })
    }

    /// Writes bytes. After an exception the file is given up.
    fn write(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<u64> {
        let memory = Memory::of(data, false, "data", None)?;
        on_host(memory.place, "what is sealed")?;
        let host = memory.host();
        self.go_on(py, |mut writing| {
            writing.write(host.input())?;
            Ok(Some(writing))
        })?;
        Ok(memory.len)
    }

    /// Completes the file.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        self.go_on(py, |mut writing| {
            writing.seal(true)?;
            writing.output.finish().map_err(raised)?;
            Ok(None)
        })
    }

    /// As that of [`SealedReader`].
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match unused(&self.state).as_deref() {
            Some(Some(writing)) => writing.output.traverse(&visit),
            _ => Ok(()),
        }
    }
}

impl SealedWriter {
    fn go_on(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Writing) -> Result<Option<Writing>, Error> + Send,
    ) -> PyResult<()> {
        // Both processes would write to the same place.
        if self.generation != generation() {
            return Err(PyRuntimeError::new_err(
                "the sealed file was opened before this process was forked, and belongs to the parent: open another one here",
            ));
        }
        self.engine.iter().try_for_each(|engine| engine.check())?;
        let mut state = held(&self.state)?;
        let state = &mut *state;
        guarded(|| {
            detached(py, || {
                let closed = || PyValueError::new_err("the sealed file was given up after an error: write another one");
                *state = work(state.take().ok_or_else(closed)?).map_err(|error| of_seal(error, None, false))?;
                Ok(())
            })
        })
    }
}

impl Writing {
    fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let (places, segments) = (self.sealing.places(), self.sealing.chunk_segments() as u64);
            let first = self.number * segments;
            let capacity = (places.first_byte(first + segments) - places.first_byte(first)) as usize;
            if self.memory.capacity() == 0 {
                *self.memory = room(capacity + TAG * segments as usize + places.header_bytes())?;
            }
            if self.memory.len() == capacity {
                self.seal(false)?;
                continue;
            }
            let (some, rest) = bytes.split_at(bytes.len().min(capacity - self.memory.len()));
            self.memory.extend_from_slice(some);
            bytes = rest;
        }
        Ok(())
    }

    /// Seals and writes the chunk.
    fn seal(&mut self, is_last: bool) -> Result<(), Error> {
        let (segments, bytes) = (self.sealing.chunk_segments(), self.memory.len());
        self.memory.resize(bytes + TAG * segments, 0);
        let sealed = self.sealing.seal(self.number * segments as u64, is_last, &mut self.memory, bytes)?;
        self.output.write_all(&self.memory[..sealed])?;
        self.memory.clear();
        self.number += 1;
        Ok(())
    }
}

/// The state, for one call at a time. A call runs Python code (a file object's methods, handlers of signals), which may call again: there,
/// waiting would not end. Taken and returned while attached to the interpreter, so that it does not change hands while Python's garbage
/// collector goes through the objects.
fn held<T>(state: &Mutex<T>) -> PyResult<MutexGuard<'_, T>> {
    let in_use = "the sealed file is in use: wait until the other call on it has returned";
    unused(state).ok_or_else(|| PyRuntimeError::new_err(in_use))
}

/// The state if no call has it.
fn unused<T>(state: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match state.try_lock() {
        Ok(state) => Some(state),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
