//! Sealed files and Tink's streams: from a path or a file object to a path or a file object.

use crate::access;
use crate::buffer::small;
use crate::engine::Engine;
use crate::error::{guarded, of_seal, os_error};
use crate::fork::with_threads;
use crate::key::Key;
use crate::number;
use crate::opened::Opened;
use aes_bitslice_runtime::{Backend, Engine as RuntimeEngine};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{self as sealing, Secret};
use pyo3::exceptions::{PyFileExistsError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use same_file::Handle;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// Encrypts and authenticates a file; returns the bytes of the message.
#[pyfunction]
#[pyo3(signature = (source, destination, *, key = None, passphrase = None, keyset = None, associated_data = None, overwrite = false, engine = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
pub fn seal(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    key: Option<Py<Key>>,
    passphrase: Option<&Bound<'_, PyAny>>,
    keyset: Option<&str>,
    associated_data: Option<&Bound<'_, PyAny>>,
    overwrite: bool,
    engine: Option<Py<Engine>>,
) -> PyResult<u64> {
    let given = Given::of(key, passphrase, keyset, associated_data)?;
    run(py, source, destination, overwrite, engine, move |engine, input, output| match &given {
        Given::Key(key) => sealing::seal(engine, Secret::Key(&key.get().key), input, output),
        Given::Passphrase(passphrase) => sealing::seal(engine, Secret::Passphrase(passphrase), input, output),
        Given::Keyset(keyset, data) => tink::encrypt(engine, keyset, data, input, output),
    })
}

/// Decrypts a sealed file, or the bytes from `range[0]` to before `range[1]` of it; returns how many bytes came out.
#[pyfunction]
#[pyo3(signature = (source, destination, *, key = None, passphrase = None, keyset = None, associated_data = None, range = None, overwrite = false, engine = None))]
#[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
pub fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    key: Option<Py<Key>>,
    passphrase: Option<&Bound<'_, PyAny>>,
    keyset: Option<&str>,
    associated_data: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = number::range)] range: Option<(u64, u64)>,
    overwrite: bool,
    engine: Option<Py<Engine>>,
) -> PyResult<u64> {
    let given = Given::of(key, passphrase, keyset, associated_data)?;
    let range: Option<Range<u64>> = range.map(|(start, end)| start..end);
    run(py, source, destination, overwrite, engine, move |engine, input, output| {
        let secret = match &given {
            Given::Key(key) => Secret::Key(&key.get().key),
            Given::Passphrase(passphrase) => Secret::Passphrase(passphrase),
            Given::Keyset(keyset, data) => {
                return match range {
                    Some(range) => tink::decrypt_range(engine, keyset, data, input, range, output),
                    None => tink::decrypt(engine, keyset, data, input, output),
                };
            }
        };
        match range {
            Some(range) => sealing::open_range(engine, secret, input, range, output),
            None => sealing::open(engine, secret, input, output),
        }
    })
}

/// Whether data begins as a sealed file does.
#[pyfunction]
pub fn is_sealed(start: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(sealing::is_sealed(small(start, "start")?.bytes()))
}

/// What a file is sealed with.
enum Given {
    Key(Py<Key>),
    Passphrase(Zeroizing<Vec<u8>>),
    Keyset(Keyset, Vec<u8>),
}

impl Given {
    fn of(
        key: Option<Py<Key>>,
        passphrase: Option<&Bound<'_, PyAny>>,
        keyset: Option<&str>,
        associated_data: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if keyset.is_none() && associated_data.is_some() {
            return Err(PyTypeError::new_err("associated_data is for a Tink stream, with keyset="));
        }
        match (key, passphrase, keyset) {
            (Some(key), None, None) => Ok(Self::Key(key)),
            (None, Some(passphrase), None) => Ok(Self::Passphrase(match passphrase.extract::<String>() {
                Ok(text) => Zeroizing::new(text.into_bytes()),
                Err(_) => Zeroizing::new(small(passphrase, "passphrase")?.bytes().to_vec()),
            })),
            (None, None, Some(keyset)) => {
                let data = associated_data
                    .map_or(Ok(vec![]), |data| PyResult::Ok(small(data, "associated_data")?.bytes().to_vec()))?;
                Ok(Self::Keyset(Keyset::from_json(keyset).map_err(of_seal)?, data))
            }
            _ => Err(PyTypeError::new_err("give one of key=, passphrase= and keyset=")),
        }
    }
}

fn run(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    overwrite: bool,
    engine: Option<Py<Engine>>,
    work: impl FnOnce(&RuntimeEngine, &mut Source, &mut Destination) -> Result<u64, sealing::Error> + Send,
) -> PyResult<u64> {
    let opened: Option<Arc<Opened>> = engine.map(|engine| engine.get().opened.clone());
    if let Some(opened) = &opened {
        opened.check()?;
    }
    let mut input = Source::of(source)?;
    let mut output = Destination::of(destination, overwrite, &input)?;
    refuse_same(&input, &output)?;
    guarded(|| {
        let bytes = py.detach(|| {
            with_threads(|| {
                let cpu;
                let engine = match &opened {
                    Some(opened) => &*opened.engine,
                    None => {
                        cpu = RuntimeEngine::open(Backend::Cpu)?;
                        &cpu
                    }
                };
                work(engine, &mut input, &mut output)
            })
        })?;
        let bytes = bytes.map_err(of_seal)?;
        py.detach(|| output.finish(overwrite))?;
        Ok(bytes)
    })
}

/// Refuses to write over the file that is read: done twice, it would be sealed twice.
fn refuse_same(input: &Source, output: &Destination) -> PyResult<()> {
    let (Source::File(input), To::File { path, .. }) = (input, &output.to) else { return Ok(()) };
    match (Handle::from_file(input.try_clone()?), Handle::from_path(path)) {
        (Ok(input), Ok(output)) if input == output => {
            Err(PyValueError::new_err("source and destination are the same file: give another destination"))
        }
        _ => Ok(()),
    }
}

/// What is read.
enum Source {
    File(File),
    Object(Py<PyAny>),
}

impl Source {
    fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source.hasattr(intern!(source.py(), "read"))? {
            return Ok(Self::Object(source.clone().unbind()));
        }
        let path = path_of(source, "source")?;
        // That of a pipe waits for who writes to it.
        let file = source.py().detach(|| File::open(&path));
        Ok(Self::File(file.map_err(|error| os_error(error, &path.display().to_string()))?))
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => Python::attach(|py| {
                let read = object.bind(py).call_method1(intern!(py, "read"), (buffer.len(),)).map_err(raised)?;
                let read = small(&read, "what read() returns").map_err(raised)?;
                let bytes = read.bytes();
                match buffer.get_mut(..bytes.len()) {
                    Some(to) => to.copy_from_slice(bytes),
                    None => return Err(io::Error::other("read() returned more than it was asked for")),
                }
                Ok(bytes.len())
            }),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (by, whence) = match to {
            SeekFrom::Start(by) => (by as i128, 0),
            SeekFrom::Current(by) => (by.into(), 1),
            SeekFrom::End(by) => (by.into(), 2),
        };
        match self {
            Self::File(file) => file.seek(to),
            Self::Object(object) => Python::attach(|py| {
                object
                    .bind(py)
                    .call_method1(intern!(py, "seek"), (by, whence))
                    .and_then(|at| at.extract())
                    .map_err(raised)
            }),
        }
    }
}

/// What is written.
struct Destination {
    to: To,
    /// When signals were last asked about.
    asked: Instant,
}

enum To {
    /// A new file, which gets its name when all of it is there, and what it replaces.
    File {
        file: NamedTempFile,
        path: PathBuf,
        old: Option<Box<Metadata>>,
    },
    Object(Py<PyAny>),
}

impl Destination {
    fn of(destination: &Bound<'_, PyAny>, overwrite: bool, source: &Source) -> PyResult<Self> {
        let asked = Instant::now();
        if destination.hasattr(intern!(destination.py(), "write"))? {
            return Ok(Self { to: To::Object(destination.clone().unbind()), asked });
        }
        let mut path = path_of(destination, "destination")?;
        let failed = |error: io::Error, path: &Path| os_error(error, &path.display().to_string());
        let mut old: Option<Box<Metadata>> = None;
        if path.symlink_metadata().is_ok() {
            if !overwrite {
                return Err(exists(&path));
            }
            // A link is followed: what it leads to is replaced.
            let replaced = fs::canonicalize(&path).map_err(|error| failed(error, &path))?;
            let metadata = fs::metadata(&replaced).map_err(|error| failed(error, &path))?;
            if !metadata.is_file() {
                return Err(PyValueError::new_err(format!(
                    "{}: it is a folder, a device or a pipe, which is not replaced: give another path, or an open file object",
                    path.display()
                )));
            }
            (path, old) = (replaced, Some(metadata.into()));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let like = match source {
            Source::File(file) => Some(file.metadata()?),
            Source::Object(_) => None,
        };
        let file = access::new_file(folder, like.as_ref(), old.as_deref()).map_err(|error| failed(error, &path))?;
        Ok(Self { to: To::File { file, path, old }, asked })
    }

    fn finish(self, overwrite: bool) -> PyResult<()> {
        let To::File { file, path, old } = self.to else { return Ok(()) };
        let failed = |error: io::Error| os_error(error, &path.display().to_string());
        old.map_or(Ok(()), |old| access::keep(file.as_file(), &old)).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        let outcome = if overwrite { file.persist(&path) } else { file.persist_noclobber(&path) };
        outcome.map(drop).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(&path),
            _ => failed(error.error),
        })
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.asked.elapsed() > Duration::from_millis(50) {
            Python::attach(|py| py.check_signals()).map_err(raised)?;
            self.asked = Instant::now();
        }
        match &mut self.to {
            To::File { file, .. } => file.write(bytes),
            To::Object(object) => Python::attach(|py| {
                let bytes = pyo3::types::PyBytes::new(py, bytes);
                let written = object.bind(py).call_method1(intern!(py, "write"), (&bytes,)).map_err(raised)?;
                // Some do not say how many: then it was all.
                if written.is_none() { Ok(bytes.len()?) } else { written.extract() }.map_err(raised)
            }),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An exception, on its way through what reads and writes.
fn raised(error: PyErr) -> io::Error {
    io::Error::other(error)
}

fn path_of(argument: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    argument
        .extract()
        .map_err(|_| PyTypeError::new_err(format!("{name} is a path, or a file object that reads or writes bytes")))
}

fn exists(path: &Path) -> PyErr {
    PyFileExistsError::new_err((17, "it exists; overwrite=True replaces it", path.display().to_string()))
}
