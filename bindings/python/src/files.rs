//! Sealed files and Tink's streams: from a path or a file object to a path or a file object.

use crate::at_exit::detached;
use crate::buffer::{self, small};
use crate::documented::parameter;
use crate::engine::Engine;
use crate::error::{guarded, of_io, of_seal, os_error};
use crate::file_object::{FileObject, may_wait_and_is_disk, raised};
use crate::key::Key;
use crate::memory::{Memory, on_host};
use crate::new_file::{Like, NewFile, path_of};
use crate::number;
use crate::opened::Opened;
use crate::origin::{holds_data, open_path};
use crate::patient::Patient;
use crate::signals::Looks;
use aes_bitslice_runtime::{Backend, Engine as RuntimeEngine};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{Error, Opening, PassphraseCost, Sealing, Secret};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::fs::{self, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Bound as Limit;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Encrypts and authenticates a file, in segments of 1 MiB; returns the number of bytes in the message.
///
/// source, destination: paths, or file objects that read and write bytes. A new file gets its name when it is complete.
/// If `write` of a raw file object (`io.RawIOBase`) returns None, it would block, and `BlockingIOError` is raised: give
/// blocking files. From any other file object, None means that everything was written.
/// key: of 256 bits. Give one of key, passphrase and keyset.
/// passphrase: text, which is encoded as UTF-8, or bytes, which are used as they are: one line of text in UTF-8.
/// keyset: a Tink keyset as JSON in the clear, which gives a Tink stream without a header.
/// associated_data: authenticated with a Tink stream.
/// overwrite: whether a file may be replaced; else `FileExistsError`.
/// engine: where to compute; the CPU if none is given.
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
    let secret = FileSecret::of(key, passphrase, keyset, associated_data)?;
    let seeks = false;
    run(py, source, seeks, destination, overwrite, engine, move |engine, input, output| {
        secret.sealing(engine)?.in_turn(input.may_wait()).run(input, output)
    })
}

/// Decrypts the output of `seal`, or `range`: the bytes from the first number to before the second; returns how
/// many.
///
/// source: a path, or a file object.
/// destination: a path, or a file object that the message is written to.
/// range: (start, end), where None as the end is that of the message, or a slice. A file object is then one that can seek; its position
///     counts as the start of the file, and is the same after the call.
#[doc = parameter!(key)]
#[doc = parameter!(passphrase)]
#[doc = parameter!(keyset)]
#[doc = parameter!(associated_data)]
#[doc = parameter!(overwrite)]
#[doc = parameter!(engine)]
///
/// Without `range` a file object is read from its position on. `AuthenticationError` if anything was changed, `Error` if the
/// first nine bytes are not those of a sealed file of this version. Then no file appears; a file object has received the true
/// beginning of the message.
#[pyfunction]
#[pyo3(
    signature = (source, destination = None, *, key = None, passphrase = None, keyset = None, associated_data = None, range = None, overwrite = false, engine = None),
    text_signature = "(source, destination, *, key=None, passphrase=None, keyset=None, associated_data=None, range=None, overwrite=False, engine=None)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords, most of them optional")]
pub fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    destination: Option<&Bound<'_, PyAny>>,
    key: Option<Py<Key>>,
    passphrase: Option<&Bound<'_, PyAny>>,
    keyset: Option<&str>,
    associated_data: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = number::range)] range: Option<(u64, Option<u64>)>,
    overwrite: bool,
    engine: Option<Py<Engine>>,
) -> PyResult<u64> {
    // Python's own `open` has none.
    let destination = destination.ok_or_else(|| {
        PyTypeError::new_err(
            "destination is missing: give a path, or a file object that bytes are written to; SealedFile(source, key=key) is a file object \
             that reads the message, and open_bytes(data, key=key) returns that of sealed bytes",
        )
    })?;
    let secret = FileSecret::of(key, passphrase, keyset, associated_data)?;
    let range = range.map(|(start, end)| (Limit::Included(start), end.map_or(Limit::Unbounded, Limit::Excluded)));
    run(py, source, range.is_some(), destination, overwrite, engine, move |engine, input, output| {
        let (opening, start) = secret.opening(engine, input)?;
        match range {
            Some(range) => opening.open_range(input, range, output),
            None => opening.run(start[opening.places().header_bytes()..].chain(input), output),
        }
    })
}

/// Whether data begins as a sealed file does.
///
/// start: the first bytes of the data, 9 or more.
#[pyfunction]
pub fn is_sealed(start: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(aes_bitslice_seal::is_sealed(small(start, "start")?.bytes()))
}

/// The bytes of a file in memory, whatever object has them.
#[pyfunction(name = "_bytes_of")]
pub fn bytes_of<'py>(data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let memory = Memory::of(data, false, "data", None)?;
    on_host(memory.place, "a file in memory")?;
    buffer::bytes(data.py(), memory.host().input())
}

/// The secret that a file is sealed with.
#[pyclass(frozen, module = "aes_bitslice", name = "_FileSecret")]
pub struct FileSecret(Given);

enum Given {
    Key(Py<Key>),
    Passphrase(Zeroizing<Vec<u8>>),
    Keyset(Keyset, Vec<u8>),
}

#[pymethods]
impl FileSecret {
    #[new]
    #[pyo3(signature = (*, key = None, passphrase = None, keyset = None, associated_data = None))]
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
            (Some(key), None, None) => Ok(Self(Given::Key(key))),
            (None, Some(passphrase), None) => {
                Ok(Self(Given::Passphrase(Zeroizing::new(match passphrase.cast::<PyString>() {
                    Ok(text) => text.extract::<String>().map_err(|_| not_utf8())?.into_bytes(),
                    Err(_) => small(passphrase, "passphrase")?.bytes().to_vec(),
                }))))
            }
            (None, None, Some(keyset)) => {
                let data = associated_data
                    .map_or(Ok(vec![]), |data| PyResult::Ok(small(data, "associated_data")?.bytes().to_vec()))?;
                let keyset = Keyset::from_json(keyset).map_err(|error| of_seal(error, None, false))?;
                Ok(Self(Given::Keyset(keyset, data)))
            }
            _ => Err(PyTypeError::new_err("give one of key=, passphrase= and keyset=")),
        }
    }
}

impl FileSecret {
    /// A new file.
    pub fn sealing(&self, engine: &RuntimeEngine) -> Result<Sealing, Error> {
        let new = |secret| Sealing::new(engine, secret, PassphraseCost::default());
        match &self.0 {
            Given::Key(key) => new(Secret::Key(&key.get().key)),
            Given::Passphrase(passphrase) => new(Secret::Passphrase(passphrase)),
            Given::Keyset(keyset, data) => tink::sealing(engine, keyset, data),
        }
    }

    /// The file that `input` is at the start of, and what was read to open it.
    pub fn opening(&self, engine: &RuntimeEngine, input: &mut Source) -> Result<(Opening, Vec<u8>), Error> {
        let bytes = match &self.0 {
            Given::Keyset(keyset, _) => keyset.start_bytes(),
            _ => Opening::START,
        };
        let mut start = Vec::new();
        input.take(bytes as u64).read_to_end(&mut start)?;
        let opening = match &self.0 {
            Given::Key(key) => Opening::new(engine, Secret::Key(&key.get().key), &start),
            Given::Passphrase(passphrase) => Opening::new(engine, Secret::Passphrase(passphrase), &start),
            Given::Keyset(keyset, data) => tink::opening(engine, keyset, data, &start),
        };
        Ok((opening?.in_turn(input.may_wait()), start))
    }

    /// A sealed file that can seek, and its length in bytes. An object is read on the caller's thread: its methods may call what reads it,
    /// and while Python ends no other thread can call them.
    pub fn opening_with_length(&self, engine: &RuntimeEngine, input: &mut Source) -> Result<(Opening, u64), Error> {
        let length = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        let opening = self.opening(engine, input)?.0;
        Ok((opening.in_turn(input.may_wait() || matches!(input, Source::Object { .. })), length))
    }
}

fn not_utf8() -> PyErr {
    PyValueError::new_err(
        "passphrase is no text that UTF-8 can encode, for it has half of a surrogate pair: give other text, or bytes",
    )
}

fn run(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    seeks: bool,
    destination: &Bound<'_, PyAny>,
    overwrite: bool,
    engine: Option<Py<Engine>>,
    work: impl FnOnce(&RuntimeEngine, &mut Source, &mut Destination) -> Result<u64, Error> + Send,
) -> PyResult<u64> {
    let opened = checked(engine)?;
    let mut input = Source::of(source, seeks)?;
    refuse_same(source, destination)?;
    let like = match &input {
        Source::File { file, path, .. } => Like::file(file.file()).map_err(of_path(path))?,
        Source::Object { .. } => Like::object(source)?,
    };
    let mut output = Destination::of(destination, overwrite, &like)?;
    guarded(|| {
        let bytes = on_engine(py, &opened, |engine| work(engine, &mut input, &mut output));
        let bytes = bytes.map_err(|error| input.failed(error));
        let restored = input.restore(seeks);
        let bytes = bytes?;
        restored?;
        detached(py, || output.finish())?;
        Ok(bytes)
    })
}

/// The engine that the caller gave, if it is still usable.
pub fn checked(engine: Option<Py<Engine>>) -> PyResult<Option<Arc<Opened>>> {
    let opened = engine.map(|engine| engine.get().opened.clone());
    opened.iter().try_for_each(|opened| opened.check())?;
    Ok(opened)
}

/// Does `work` without the interpreter's lock, with this engine or else the CPU's.
pub fn on_engine<T: Send>(
    py: Python<'_>,
    opened: &Option<Arc<Opened>>,
    work: impl FnOnce(&RuntimeEngine) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    detached(py, || match opened {
        Some(opened) => work(&opened.engine),
        None => work(&RuntimeEngine::open(Backend::Cpu)?),
    })
}

/// Refuses to overwrite the file that is read: done twice, it would be sealed twice, and an object used for both would be ruined.
pub fn refuse_same(source: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>) -> PyResult<()> {
    // Objects without a descriptor, and files that do not exist yet, cannot be compared.
    let same_file = match (metadata(source, "read"), metadata(destination, "write")) {
        // Data read from a pipe, socket or terminal is not the data written to it, unlike with files and block devices.
        (Some(one), Some(other)) => holds_data(&one) && (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    };
    if !same_file && !source.is(destination) {
        return Ok(());
    }
    let mut what = "source and destination are the same file: give another destination".to_owned();
    if let Ok(path) = destination.extract().or_else(|_| source.extract::<PathBuf>()) {
        what = format!("{}: {what}", path.display());
    }
    Err(PyValueError::new_err(what))
}

/// What the system tells about a file; about its descriptor, if it is an object with this method.
fn metadata(file: &Bound<'_, PyAny>, method: &str) -> Option<Metadata> {
    let path = if file.hasattr(method).ok()? { open_path(file) } else { file.extract().ok() };
    fs::metadata(path?).ok()
}

/// The source of the data.
pub enum Source {
    /// `at` is the position of one that is sought in: the system's is also that of forked processes, which may read at the same time.
    File {
        file: Patient,
        path: PathBuf,
        at: Option<u64>,
    },
    Object {
        object: FileObject,
        may_wait: bool,
        is_disk: bool,
    },
}

impl Source {
    pub fn of(source: &Bound<'_, PyAny>, seeks: bool) -> PyResult<Self> {
        if source.hasattr(intern!(source.py(), "read"))? {
            let object = if seeks { FileObject::to_seek(source)? } else { FileObject::new(source) };
            let (may_wait, is_disk) = may_wait_and_is_disk(source)?;
            return Ok(Self::Object { object, may_wait, is_disk });
        }
        let path = path_of(source, "source")?;
        match source.py().detach(|| Patient::open(&path)) {
            Ok(file) => Ok(Self::File { file, path, at: seeks.then_some(0) }),
            Err(error) => Err(os_error(error, &path.display().to_string())),
        }
    }

    /// Whether reading may have to wait for as long as somebody else likes; then this is for the thread that made the call.
    pub fn may_wait(&self) -> bool {
        match self {
            Self::File { file, .. } => file.may_wait(),
            Self::Object { may_wait, .. } => *may_wait,
        }
    }

    /// The descriptor of the file that the data comes from, if it is known.
    pub fn descriptor(&self, py: Python<'_>) -> Option<u32> {
        match self {
            Self::File { file, .. } => file.file().as_raw_fd().try_into().ok(),
            Self::Object { object, .. } => object.descriptor(py),
        }
    }

    /// Puts a file object back to where it was before seeking in it, for the next call.
    fn restore(&mut self, seeks: bool) -> PyResult<()> {
        match self {
            Self::Object { object, .. } if seeks => object.seek(SeekFrom::Start(0)).map(drop).map_err(of_io),
            _ => Ok(()),
        }
    }

    /// Tells Python's garbage collector of a file object.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self {
            Self::File { .. } => Ok(()),
            Self::Object { object, .. } => object.traverse(visit),
        }
    }

    /// The exception for an error of sealing or opening it.
    pub fn failed(&self, error: Error) -> PyErr {
        match self {
            Self::File { file, path, .. } => of_seal(error, Some(path), file.is_disk()),
            Self::Object { is_disk, .. } => of_seal(error, None, *is_disk),
        }
    }
}

fn of_path(path: &Path) -> impl FnOnce(io::Error) -> PyErr {
    |error| os_error(error, &path.display().to_string())
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File { file, path, at } => {
                let read = match at {
                    Some(at) => file.file().read_at(buffer, *at).inspect(|&read| *at += read as u64),
                    None => file.read(buffer),
                };
                read.map_err(|error| named(error, of_path(path)))
            }
            Self::Object { object, .. } => object.read(buffer),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File { file, path, at } => {
                let found = match (to, *at) {
                    (SeekFrom::Start(place), Some(_)) => Ok(place),
                    (SeekFrom::Current(by), Some(at)) => {
                        at.checked_add_signed(by).ok_or_else(|| io::ErrorKind::InvalidInput.into())
                    }
                    _ => file.file().seek(to),
                };
                let found = found.map_err(|error| named(error, of_path(path)))?;
                *at = at.map(|_| found);
                Ok(found)
            }
            Self::Object { object, .. } => object.seek(to),
        }
    }
}

/// The destination of the data.
pub struct Destination {
    to: To,
    looks: Looks,
}

enum To {
    File(Box<NewFile>),
    Object(FileObject),
}

impl Destination {
    pub fn of(destination: &Bound<'_, PyAny>, overwrite: bool, like: &Like) -> PyResult<Self> {
        let to = if destination.hasattr(intern!(destination.py(), "write"))? {
            To::Object(FileObject::new(destination))
        } else {
            let path = path_of(destination, "destination")?;
            To::File(NewFile::at(&path, path.display().to_string(), Some(overwrite), like)?.into())
        };
        Ok(Self { to, looks: Looks::default() })
    }

    /// Tells Python's garbage collector of a file object.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.to {
            To::File(_) => Ok(()),
            To::Object(object) => object.traverse(visit),
        }
    }

    pub fn finish(self) -> PyResult<()> {
        match self.to {
            To::File(file) => file.finish(),
            To::Object(_) => Ok(()),
        }
    }
}

/// The maximum number of bytes that are written at a time: an object gets them as new `bytes`, and may take few of them; and signals are
/// looked for between two writes.
const AT_A_TIME: usize = 1 << 20;

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(AT_A_TIME)];
        self.looks.look().map_err(raised)?;
        match &mut self.to {
            To::File(file) => file.write(bytes).map_err(|error| named(error, |error| file.failed(error))),
            To::Object(object) => object.write(bytes),
        }
    }

    /// While a slow file is waited for, this comes in place of `write`.
    fn flush(&mut self) -> io::Result<()> {
        self.looks.look().map_err(raised)
    }
}

/// An error of the system as the exception that `raise` makes of it. An error that only requests a retry stays as it is.
fn named(error: io::Error, raise: impl FnOnce(io::Error) -> PyErr) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        _ => raised(raise(error)),
    }
}
