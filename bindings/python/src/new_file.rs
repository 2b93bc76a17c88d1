//! New files: each appears complete or not at all, and is no more open than the file that it replaces or is made from
//! (`aes_bitslice_seal::access`).

use crate::at_exit;
use crate::error::os_error;
use crate::fork::generation;
use crate::origin::{descriptor_of, holds_data, is_memory, path_of_descriptor};
use crate::signals;
use aes_bitslice_seal::access::{ANYBODY, Access, OWNER};
use aes_bitslice_seal::naming::{Numbered, OnDisk, folder_of, from_root, sync_folder_of};
use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyIsADirectoryError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fmt::Arguments;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What is neither a file nor a folder.
const DEVICE: &str = "a device or a pipe";

/// Who may use a new file.
pub enum Like {
    /// Anyone whom the umask allows.
    Any,
    /// Its owner alone.
    Private,
    /// Anyone whom the umask allows and who may use its source.
    Source(Access),
}

impl Like {
    /// Like an open file, whatever its name leads to by now. What comes from a pipe may be anybody's.
    ///
    /// # Errors
    /// Of the system if it does not tell who may use the file.
    pub fn file(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(if holds_data(&metadata) { Self::Source(Access::of_open(file, &metadata)) } else { Self::Any })
    }

    /// Like the file of a file object. What comes from a pipe or from plain memory may be anybody's; if nothing tells who may read the data,
    /// the new file is its owner's alone.
    pub fn object(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if is_memory(object)? {
            return Ok(Self::Any);
        }
        let Some(path) = descriptor_of(object).map(path_of_descriptor) else { return Ok(Self::Private) };
        Ok(match fs::metadata(&path) {
            Ok(metadata) if holds_data(&metadata) => Self::Source(Access::of(&path, &metadata)),
            Ok(_) => Self::Any,
            Err(_) => Self::Private,
        })
    }

    /// Makes a temporary file in a folder.
    fn make(&self, folder: &Path) -> io::Result<NamedTempFile> {
        let make = |mode| {
            let mut file = tempfile::Builder::new();
            file.prefix(".aes-bitslice-");
            #[cfg(unix)]
            file.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
            file.tempfile_in(folder)
        };
        match self {
            Self::Any => make(ANYBODY),
            Self::Private => make(OWNER),
            Self::Source(access) => access.create(make, NamedTempFile::as_file),
        }
    }
}

/// A temporary file, which the process that made it removes when it drops it. A forked child has a copy of it, and must not.
struct Temporary {
    file: Option<NamedTempFile>,
    generation: u64,
}

impl Temporary {
    fn new(file: NamedTempFile) -> Self {
        at_exit::add(file.path());
        Self { file: Some(file), generation: generation() }
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("there until it is dropped").as_file()
    }

    fn into_inner(mut self) -> NamedTempFile {
        let file = self.file.take().expect("there until it is dropped");
        at_exit::forget(file.path());
        file
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let is_of_parent = self.generation != generation();
        if let Some(file) = &mut self.file {
            file.disable_cleanup(is_of_parent);
            at_exit::forget(file.path());
        }
    }
}

/// A file that is being written under a temporary name in its folder, and removed when dropped.
pub struct NewFile {
    file: Temporary,
    path: PathBuf,
    /// How messages name it.
    shown: String,
    overwrite: Option<bool>,
    /// Who may use the file that it replaces.
    old: Option<Access>,
}

impl NewFile {
    /// Makes one that will be at the path `given`, which messages name `shown`; `overwrite` is whether it may replace a file,
    /// none if the caller's function has no such parameter.
    ///
    /// # Errors
    /// `FileExistsError`, `ValueError` for what is never replaced, other exceptions of the system.
    pub fn at(given: &Path, shown: String, overwrite: Option<bool>, like: &Like) -> PyResult<Self> {
        refuse_numbered(given, &shown, overwrite.is_some())?;
        if given.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(PyIsADirectoryError::new_err(format!(
                "{shown} is the name of a folder: add that of a file in it"
            )));
        }
        let failed = |error: io::Error| os_error(error, &shown);
        let (mut path, mut old) = (from_root(given).map_err(failed)?, None);
        if given.symlink_metadata().is_ok() {
            // A link is followed: its target is replaced.
            path = fs::canonicalize(given).map_err(failed)?;
            let metadata = fs::metadata(&path).map_err(failed)?;
            if !metadata.is_file() {
                let what = if metadata.is_dir() { "a folder" } else { DEVICE };
                let or_object = if overwrite.is_some() { ", or an open file object" } else { "" };
                return Err(PyValueError::new_err(format!(
                    "{shown}: it is {what}, which is not replaced: give the path of a file{or_object}"
                )));
            }
            if overwrite != Some(true) {
                return Err(exists(&shown, overwrite));
            }
            old = Some(Access::of(&path, &metadata));
        }
        // Its owner's alone until it is complete, if it will replace another.
        let like = if old.is_some() { &Like::Private } else { like };
        let file = Temporary::new(like.make(folder_of(&path)).map_err(failed)?);
        Ok(Self { file, path, shown, overwrite, old })
    }

    /// The error of writing it.
    pub fn failed(&self, error: io::Error) -> PyErr {
        os_error(error, &self.shown)
    }

    /// Gives the complete file its name.
    pub fn finish(self) -> PyResult<()> {
        let Self { file, path, shown, overwrite, old } = self;
        let failed = |error: io::Error| os_error(error, &shown);
        old.map_or(Ok(()), |old| old.give(file.file()).map(drop)).map_err(failed)?;
        let file = OnDisk::new(file.into_inner()).map_err(failed)?;
        // That may have taken long.
        Python::attach(signals::check)?;
        file.name(&path, overwrite == Some(true)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&shown, overwrite),
            _ => failed(error),
        })?;
        // The file is complete even if its folder cannot be synced.
        let _ = sync_folder_of(&path);
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a file to write at any place in it, and returns its descriptor, which the caller closes. If there is none, it is made: several
/// processes may do so at once, and get the same file.
///
/// source: the file object that the data comes from.
#[pyfunction(name = "_open_like")]
pub fn open_like(path: &Bound<'_, PyAny>, source: &Bound<'_, PyAny>) -> PyResult<i32> {
    let (py, path) = (path.py(), named(path)?);
    let like = Like::object(source)?;
    // None if it is no file, in which there are no places: opening a named pipe would wait for its reader.
    let existing = || match OpenOptions::new().write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(&path) {
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => Ok(None),
        opened => opened.and_then(|file| Ok(file.metadata()?.is_file().then_some(file))),
    };
    let open = || {
        match existing() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match like.make(folder_of(&path))?.persist_noclobber(&path) {
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => existing(),
            made => made.map(Some).map_err(|error| error.error),
        }
    };
    let shown = path.display().to_string();
    let file = py.detach(open).map_err(|error| os_error(error, &shown))?;
    let no_file = || {
        PyValueError::new_err(format!(
            "{shown}: it is {DEVICE}, and a range has a place in a file: give the path of one"
        ))
    };
    Ok(file.ok_or_else(no_file)?.into_raw_fd())
}

/// Refuses the path of a destination in which only the path of a file makes sense, if it names an open file by its number: the number is
/// another file's in another process.
#[pyfunction(name = "_refuse_open")]
pub fn refuse_open(path: &Bound<'_, PyAny>) -> PyResult<()> {
    named(path).map(drop)
}

fn named(path: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let path = path_of(path, "the destination")?;
    refuse_numbered(&path, &path.display().to_string(), false)?;
    Ok(path)
}

/// Refuses a path that names an open file by its number, such as `/dev/stdout`: a new file in its place would not be what is open.
fn refuse_numbered(path: &Path, shown: &str, takes_objects: bool) -> PyResult<()> {
    let why = match Numbered::of(path) {
        None => return Ok(()),
        Some(Numbered::Here(_)) if takes_objects => {
            "it names an open file of this process, which is not replaced: give the open file object, such as \
             sys.stdout.buffer, or the path of the file itself"
        }
        Some(Numbered::Here(_)) => {
            "it names an open file of this process, which is not replaced: give the path of the file itself"
        }
        Some(Numbered::Elsewhere) => {
            "it names an open file of another process, which is not replaced: give the path of the file itself"
        }
    };
    Err(PyValueError::new_err(format!("{shown}: {why}")))
}

/// The path that an argument is, where nothing but a path is taken.
pub fn only_path(argument: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    let kind = argument.get_type().name()?;
    usable(argument, "path", format_args!("path must be a str or a pathlib.Path, not {kind}"))
}

/// The path that an argument of this name is.
pub fn path_of(argument: &Bound<'_, PyAny>, name: &str) -> PyResult<PathBuf> {
    usable(argument, name, format_args!("{name} must be a path, or a file object that reads or writes bytes"))
}

/// The path, if the system can have it: Python's own functions raise the same exceptions for others. `other` tells what is none; what is raised
/// while an object makes its path stays as it is.
fn usable(argument: &Bound<'_, PyAny>, name: &str, other: Arguments<'_>) -> PyResult<PathBuf> {
    let path: PathBuf = argument.extract().map_err(|error: PyErr| {
        let makes_paths = argument.hasattr(intern!(argument.py(), "__fspath__")).unwrap_or(true);
        let is_other = error.is_instance_of::<PyTypeError>(argument.py()) && !makes_paths;
        if is_other { PyTypeError::new_err(other.to_string()) } else { error }
    })?;
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(PyValueError::new_err(format!("{name} has a NUL byte, and no path has one")));
    }
    if path.as_os_str().is_empty() {
        let what = format!("{name} is an empty name: give that of a file");
        return Err(PyFileNotFoundError::new_err((Errno::NOENT.raw_os_error(), what)));
    }
    Ok(path)
}

fn exists(shown: &str, overwrite: Option<bool>) -> PyErr {
    let advice = if overwrite.is_some() { "overwrite=True replaces it" } else { "give another path" };
    PyFileExistsError::new_err((17, format!("it exists; {advice}"), shown.to_owned()))
}
