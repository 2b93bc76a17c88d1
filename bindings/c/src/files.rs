//! Sealed data: encrypted and authenticated, in the format of the command line; from a file, memory or a function to another of these.

use crate::border::call;
use crate::context::kept;
use crate::handles::{EngineHandle, KeyHandle};
use crate::memory::{overlap, place, reference, text, values};
use crate::status::{AES_BITSLICE_IO, Failure};
use aes_bitslice_runtime::Engine;
use aes_bitslice_seal::access::{Access, is_block_device};
use aes_bitslice_seal::naming::{Numbered, OnDisk, folder_of, from_root, sync_folder_of};
use aes_bitslice_seal::tink::{self, Keyset};
use aes_bitslice_seal::{self as sealed, Error};
use same_file::Handle;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::ptr;
use tempfile::NamedTempFile;

/// What data is sealed with: a key, a passphrase, or a Tink keyset. The pointers to the other two are NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Secret {
    /// A key of 256 bits.
    pub key: *const KeyHandle,
    /// A passphrase of `passphrase_len` bytes; a new one is one line of text in UTF-8. It takes a quarter of a second and 64 MiB of memory to become a key.
    pub passphrase: *const u8,
    /// Bytes of the passphrase.
    pub passphrase_len: usize,
    /// A Tink keyset as JSON in the clear, a string in UTF-8. The data is then a Tink stream alone.
    pub keyset: *const c_char,
    /// Data that is authenticated with a Tink stream, `associated_data_len` bytes; only with a keyset.
    pub associated_data: *const u8,
    /// Bytes of the associated data; there may be none.
    pub associated_data_len: usize,
}

/// Where data comes from: a file, memory, or a function. The other two of `path`, `memory` and `read` are NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The name of a file.
    pub path: *const c_char,
    /// `bytes` bytes; not NULL even for none.
    pub memory: *const u8,
    /// Reads up to `len` bytes from position `offset` on into `bytes`. Returns how many, 0 at the end, or a negative number for a failure.
    /// Calls come one at a time, on the caller's thread or another. Without a range, positions follow each other from 0 on. It must
    /// return: an exception of C++ or a pthread_exit that leaves it ends the process, and a longjmp must not leave it.
    pub read: Option<unsafe extern "C" fn(context: *mut c_void, offset: u64, bytes: *mut u8, len: usize) -> isize>,
    /// Passed to `read`.
    pub context: *mut c_void,
    /// Bytes of the memory. With `read`, how many there are in all: only a range and a length need it.
    pub bytes: u64,
}

/// Where data goes: a file, memory, or a function. The other two of `path`, `memory` and `write` are NULL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sink {
    /// The name of a new file. It appears whole or not at all, readable by its owner only, or with the access of the file that it replaces.
    /// Until it is complete, it is `.aes-bitslice-*` in the same folder; a killed process leaves that file there.
    pub path: *const c_char,
    /// Whether an existing file is replaced: 0 or 1. If it is 0 and the file exists, the call fails. A link is followed; what is no file, such
    /// as a device or a pipe, is not replaced; nor is the file that `source` names, nor one that is named by the number of an open file, as
    /// by `/dev/stdout` and `/dev/fd/3`: write to its descriptor in `write`.
    pub overwrite: c_int,
    /// Room for `bytes` bytes; not NULL even for none. After a failure, what was written is cleared.
    pub memory: *mut u8,
    /// Bytes of the memory.
    pub bytes: usize,
    /// Takes the next `len` bytes. Returns 0, or another number for a failure. Calls come one at a time, on the caller's thread. What it got
    /// before the call fails is the beginning of the data. It must return, as `read` of a source.
    pub write: Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const u8, len: usize) -> c_int>,
    /// Passed to `write`.
    pub context: *mut c_void,
}

/// Seals `source` to `sink`: encrypts and authenticates it, as `aes-bitslice seal` does. n bytes become at most n + n / 65000 + 168 bytes;
/// under a keyset with small segments, more. If there is an error, a file does not appear, and memory is cleared.
///
/// Writes the number of bytes that went to `sink` to `written`, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_seal(
    engine: *const EngineHandle,
    secret: *const Secret,
    source: *const Source,
    sink: *const Sink,
    written: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe { run(engine, secret, source, sink, written, |engine, with, from, to| with.seal(engine, from, to)) }
    })
}

/// Opens the bytes from `start` to before `end` of the message in `source` to `sink`; all of them with 0 and UINT64_MAX, and with UINT64_MAX
/// all from `start` on. For a part, only the segments of 1 MiB that hold it are read and authenticated.
///
/// Fails with AES_BITSLICE_UNAUTHENTICATED for a wrong secret and for data that was changed or cut off, and with AES_BITSLICE_INVALID where
/// the first nine bytes are not those of sealed data of this version, and for a range outside the message. No byte reaches `sink` before it
/// is authenticated.
///
/// Writes the number of bytes that went to `sink` to `written`, which may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_open(
    engine: *const EngineHandle,
    secret: *const Secret,
    source: *const Source,
    start: u64,
    end: u64,
    sink: *const Sink,
    written: *mut u64,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            run(engine, secret, source, sink, written, |engine, with, from, to| with.open(engine, from, start, end, to))
        }
    })
}

/// Writes the number of bytes of the message in `source` to `bytes`. It is authentic: the last segment is opened. Fails as
/// aes_bitslice_open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_message_bytes(
    engine: *const EngineHandle,
    secret: *const Secret,
    source: *const Source,
    bytes: *mut u64,
) -> c_int {
    call(|| {
        let place = place(bytes, "bytes")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let engine = &reference(engine, "engine")?.engine;
            let with = With::of(reference(secret, "secret")?)?;
            let source = reference(source, "source")?;
            let from = From::of(source)?;
            let bytes = kept(engine.backend().is_cuda(), || with.message_bytes(engine, from));
            place.write(bytes.map_err(|error| about(source, error))?);
        }
        Ok(())
    })
}

/// Seals the file `input` to the new file `output` with a key of 256 bits: aes_bitslice_seal from a path to a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_seal_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { file(engine, key, input, output, |engine, with, from, to| with.seal(engine, from, to)) }
}

/// Opens the sealed file `input` to the new file `output` with a key of 256 bits: aes_bitslice_open from a path to a path.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_open_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { file(engine, key, input, output, |engine, with, from, to| with.open(engine, from, 0, u64::MAX, to)) }
}

/// Does `work` from a file to a new one.
///
/// # Safety
/// Handles and strings are NULL, or valid and live.
unsafe fn file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
    work: impl FnOnce(&Engine, &With<'_>, From<'_>, &mut To<'_>) -> Result<u64, Error>,
) -> c_int {
    let (passphrase, keyset, associated_data, context) = (ptr::null(), ptr::null(), ptr::null(), ptr::null_mut());
    let secret = Secret { key, passphrase, passphrase_len: 0, keyset, associated_data, associated_data_len: 0 };
    let source = Source { path: input, memory: ptr::null(), read: None, context, bytes: 0 };
    let sink = Sink { path: output, overwrite: 0, memory: ptr::null_mut(), bytes: 0, write: None, context };
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe {
            reference(engine, "engine")?;
            reference(key, "key")?;
            text(input, "input")?;
            text(output, "output")?;
            run(engine, &secret, &source, &sink, ptr::null_mut(), work)
        }
    })
}

/// Does `work`.
///
/// # Safety
/// All pointers, and those in what they point to, are NULL or as the header says.
unsafe fn run(
    engine: *const EngineHandle,
    secret: *const Secret,
    source: *const Source,
    sink: *const Sink,
    written: *mut u64,
    work: impl FnOnce(&Engine, &With<'_>, From<'_>, &mut To<'_>) -> Result<u64, Error>,
) -> Result<(), Failure> {
    // SAFETY: as the caller guarantees.
    unsafe {
        let engine = &reference(engine, "engine")?.engine;
        let with = With::of(reference(secret, "secret")?)?;
        let (source, sink) = (reference(source, "source")?, reference(sink, "sink")?);
        let (read, write) = (source.memory as usize, sink.memory as usize);
        if read != 0 && write != 0 && overlap(read, source.bytes as usize, write, sink.bytes) {
            return Err(Failure::invalid("the memory of `source` and of `sink` overlap: they must be disjoint"));
        }
        // The output first: a name that cannot be given is found before a pipe is waited for.
        To::check(sink)?;
        let from = From::of(source)?;
        let mut to = To::of(sink)?;
        if let (From::File(file, _), Place::File { shown, path, old: Some(_), .. }) = (&from, &to.place)
            && is_same_file(file, path)
        {
            return Err(failed("write", shown, SAME));
        }
        kept(engine.backend().is_cuda(), || work(engine, &with, from, &mut to))
            .map_err(|error| about(source, error))?;
        let bytes = to.finish()?;
        if let Some(place) = written.as_mut() {
            *place = bytes;
        }
    }
    Ok(())
}

/// A secret in the library's types.
enum With<'a> {
    Secret(sealed::Secret<'a>),
    Tink(Keyset, &'a [u8]),
}

impl<'a> With<'a> {
    /// # Safety
    /// Its pointers are NULL or as the header says, and valid for `'a`.
    unsafe fn of(secret: &Secret) -> Result<Self, Failure> {
        // SAFETY: as the caller guarantees.
        unsafe {
            match one_of([!secret.key.is_null(), !secret.passphrase.is_null(), !secret.keyset.is_null()]) {
                // The caller would take it for authenticated.
                Some(0 | 1) if secret.associated_data_len != 0 => Err(Failure::invalid(
                    "`associated_data` of `secret` is for a Tink stream, with `keyset`: leave it out, because a sealed file has none",
                )),
                Some(0) => Ok(Self::Secret(sealed::Secret::Key(&reference(secret.key, "key")?.0))),
                Some(1) => {
                    let passphrase = values(secret.passphrase, secret.passphrase_len, "passphrase")?;
                    Ok(Self::Secret(sealed::Secret::Passphrase(passphrase)))
                }
                Some(_) => {
                    let json = text(secret.keyset, "keyset")?.to_str();
                    let json = json.map_err(|_| Failure::invalid("`keyset` is not UTF-8"))?;
                    let about = values(secret.associated_data, secret.associated_data_len, "associated_data")?;
                    Ok(Self::Tink(Keyset::from_json(json)?, about))
                }
                None => Err(Failure::invalid("`secret` must have exactly one of `key`, `passphrase` and `keyset`")),
            }
        }
    }

    fn seal(&self, engine: &Engine, from: From<'_>, to: &mut To<'_>) -> Result<u64, Error> {
        match self {
            Self::Secret(secret) => sealed::seal(engine, *secret, from, to),
            Self::Tink(keyset, about) => tink::encrypt(engine, keyset, about, from, to),
        }
    }

    fn open(&self, engine: &Engine, from: From<'_>, start: u64, end: u64, to: &mut To<'_>) -> Result<u64, Error> {
        match (self, start, end) {
            (Self::Secret(secret), 0, u64::MAX) => sealed::open(engine, *secret, from, to),
            (Self::Secret(secret), _, u64::MAX) => sealed::open_range(engine, *secret, from, start.., to),
            (Self::Secret(secret), ..) => sealed::open_range(engine, *secret, from, start..end, to),
            (Self::Tink(keyset, about), 0, u64::MAX) => tink::decrypt(engine, keyset, about, from, to),
            (Self::Tink(keyset, about), _, u64::MAX) => tink::decrypt_range(engine, keyset, about, from, start.., to),
            (Self::Tink(keyset, about), ..) => tink::decrypt_range(engine, keyset, about, from, start..end, to),
        }
    }

    fn message_bytes(&self, engine: &Engine, from: From<'_>) -> Result<u64, Error> {
        match self {
            Self::Secret(secret) => sealed::message_bytes(engine, *secret, from),
            Self::Tink(keyset, about) => tink::message_bytes(engine, keyset, about, from),
        }
    }
}

/// A source in Rust's types.
enum From<'a> {
    File(File, &'a Path),
    Memory(io::Cursor<&'a [u8]>),
    Function(Called),
}

/// A `read` of the caller's, at a position.
struct Called {
    read: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize) -> isize,
    context: *mut c_void,
    at: u64,
    bytes: u64,
}

// SAFETY: the header says that `read` may be called on another thread, one call at a time.
unsafe impl Send for Called {}

impl<'a> From<'a> {
    /// # Safety
    /// Its pointers are NULL or as the header says, and valid for `'a`.
    unsafe fn of(source: &Source) -> Result<Self, Failure> {
        // SAFETY: as the caller guarantees.
        unsafe {
            match (one_of([!source.path.is_null(), !source.memory.is_null(), source.read.is_some()]), source.read) {
                (Some(0), _) => {
                    let input = path(text(source.path, "path")?)?;
                    let failed = |error: io::Error| failed("read", input, &error.to_string());
                    let file = File::open(input).map_err(failed)?;
                    if file.metadata().map_err(failed)?.is_dir() {
                        Err(self::failed("read", input, FOLDER))
                    } else {
                        Ok(Self::File(file, input))
                    }
                }
                (Some(1), _) => {
                    let bytes = usize::try_from(source.bytes).unwrap_or(usize::MAX);
                    Ok(Self::Memory(io::Cursor::new(values(source.memory, bytes, "memory")?)))
                }
                (Some(_), Some(read)) => {
                    let Source { context, bytes, .. } = *source;
                    Ok(Self::Function(Called { read, context, at: 0, bytes }))
                }
                _ => Err(Failure::invalid("`source` must have exactly one of `path`, `memory` and `read`")),
            }
        }
    }
}

impl Read for From<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file, path) => file.read(buffer).map_err(|error| with_name(error, "read", path)),
            Self::Memory(memory) => memory.read(buffer),
            Self::Function(of) => {
                // SAFETY: the header says what the function takes.
                let read = unsafe { (of.read)(of.context, of.at, buffer.as_mut_ptr(), buffer.len()) };
                match usize::try_from(read) {
                    Ok(read) if read <= buffer.len() => {
                        of.at += read as u64;
                        Ok(read)
                    }
                    Ok(read) => Err(io::Error::other(format!(
                        "`read` of `source` returned {read}, and was asked for {} bytes at most",
                        buffer.len()
                    ))),
                    Err(_) => Err(io::Error::other(format!("`read` of `source` failed at byte {}: {read}", of.at))),
                }
            }
        }
    }
}

impl Seek for From<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file, path) => file.seek(to).map_err(|error| with_name(error, "read", path)),
            Self::Memory(memory) => memory.seek(to),
            Self::Function(of) => {
                let at = match to {
                    SeekFrom::Start(at) => Some(at),
                    SeekFrom::End(by) => of.bytes.checked_add_signed(by),
                    SeekFrom::Current(by) => of.at.checked_add_signed(by),
                };
                of.at = at.ok_or(io::ErrorKind::InvalidInput)?;
                Ok(of.at)
            }
        }
    }
}

/// A sink in Rust's types, and how many bytes it has got.
struct To<'a> {
    place: Place<'a>,
    written: u64,
    is_done: bool,
}

enum Place<'a> {
    File {
        /// None when it has its name.
        new: Option<NamedTempFile>,
        /// Its name as the caller gave it.
        shown: &'a Path,
        /// Where it will be.
        path: PathBuf,
        /// Who may use the file that it replaces.
        old: Option<Access>,
    },
    Memory(&'a mut [u8]),
    Function(unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int, *mut c_void),
}

impl<'a> To<'a> {
    /// Refuses a name that cannot be given.
    ///
    /// # Safety
    /// Its pointers are NULL or as the header says.
    unsafe fn check(sink: &Sink) -> Result<(), Failure> {
        if sink.path.is_null() {
            return Ok(());
        }
        // SAFETY: as the caller guarantees.
        let output = path(unsafe { text(sink.path, "path") }?)?;
        match Numbered::of(output) {
            Some(Numbered::Here(_)) => return Err(failed("write", output, OPEN)),
            Some(Numbered::Elsewhere) => return Err(failed("write", output, OPEN_ELSEWHERE)),
            None => {}
        }
        if output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(failed("write", output, FOLDER));
        }
        match sink.overwrite {
            // Also without `overwrite`: nobody should remove a device because of an error.
            0 | 1 if output.metadata().is_ok_and(|metadata| !metadata.is_file()) => {
                Err(failed("write", output, NO_FILE))
            }
            1 => Ok(()),
            0 if output.symlink_metadata().is_ok() => Err(failed("write", output, EXISTS)),
            0 => Ok(()),
            other => Err(Failure::invalid(format!("`overwrite` of `sink` is {other}: it must be 0 or 1"))),
        }
    }

    /// # Safety
    /// Its pointers are NULL or as the header says, and valid for `'a`.
    unsafe fn of(sink: &Sink) -> Result<Self, Failure> {
        let place = match (one_of([!sink.path.is_null(), !sink.memory.is_null(), sink.write.is_some()]), sink.write) {
            (Some(0), _) => {
                // SAFETY: as the caller guarantees.
                let output = path(unsafe { text(sink.path, "path") }?)?;
                let replaces = sink.overwrite == 1 && output.symlink_metadata().is_ok();
                let found = if replaces { replaced(output) } else { from_root(output).map(|path| (path, None)) };
                let (path, old) = found.map_err(|error| failed("write", output, &error.to_string()))?;
                Place::File { new: Some(new_file(output, &path)?), shown: output, path, old }
            }
            (Some(1), _) => {
                // SAFETY: as the caller guarantees; the length is checked to be one that memory can have.
                let memory = unsafe {
                    values(sink.memory, sink.bytes, "memory")?;
                    std::slice::from_raw_parts_mut(sink.memory, sink.bytes)
                };
                Place::Memory(memory)
            }
            (Some(_), Some(write)) => Place::Function(write, sink.context),
            _ => return Err(Failure::invalid("`sink` must have exactly one of `path`, `memory` and `write`")),
        };
        Ok(Self { place, written: 0, is_done: false })
    }

    /// Gives a file its name. Returns how many bytes were written.
    fn finish(mut self) -> Result<u64, Failure> {
        if let Place::File { new, shown, path, old } = &mut self.place {
            let of_output = |error: io::Error| match error.kind() {
                io::ErrorKind::AlreadyExists => failed("write", shown, EXISTS),
                _ => failed("write", shown, &error.to_string()),
            };
            let new = new.take().expect("it is named once");
            if let Some(access) = old {
                // If the system does not allow all of it, fewer may use the file.
                let _ = access.give(new.as_file()).map_err(of_output)?;
            }
            let new = OnDisk::new(new).map_err(of_output)?;
            new.name(path, old.is_some()).map_err(of_output)?;
            // The file is complete even if its folder cannot be synced.
            let _ = sync_folder_of(path);
        }
        self.is_done = true;
        Ok(self.written)
    }
}

impl Write for To<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.place {
            Place::File { new, shown, .. } => {
                let file = new.as_ref().expect("it is not complete").as_file();
                (&*file).write(bytes).map_err(|error| with_name(error, "write", shown))?
            }
            Place::Memory(memory) => {
                let room = memory.len();
                let place = memory.get_mut(self.written as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
                let why = format!("the memory of `sink` is too small: it has {room} bytes");
                let why = || io::Error::new(io::ErrorKind::WriteZero, why);
                place.ok_or_else(why)?.copy_from_slice(bytes);
                bytes.len()
            }
            Place::Function(write, context) => {
                // SAFETY: the header says what the function takes.
                match unsafe { write(*context, bytes.as_ptr(), bytes.len()) } {
                    0 => bytes.len(),
                    code => return Err(io::Error::other(format!("`write` of `sink` failed: {code}"))),
                }
            }
        };
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What was written to memory before a failure is cleared.
impl Drop for To<'_> {
    fn drop(&mut self) {
        if let (Place::Memory(memory), false) = (&mut self.place, self.is_done) {
            memory[..self.written as usize].fill(0);
        }
    }
}

/// The only one that is there.
fn one_of(given: [bool; 3]) -> Option<usize> {
    let mut places = (0..3).filter(|&n| given[n]);
    places.next().filter(|_| places.next().is_none())
}

/// The file that has this name, past links, and who may use it.
fn replaced(output: &Path) -> io::Result<(PathBuf, Option<Access>)> {
    let path = output.canonicalize()?;
    let access = Access::of(&path, &path.metadata()?);
    Ok((path, Some(access)))
}

/// A path that cannot be opened to read is not that of a file that was.
fn is_same_file(file: &File, path: &Path) -> bool {
    let file = file.try_clone().and_then(Handle::from_file);
    file.is_ok_and(|file| Handle::from_path(path).is_ok_and(|path| file == path))
}

/// A file in the folder of `path`, which is removed unless it gets its name. The command line uses the same name for it: it shows whose
/// file a killed process left. `output` is the name in errors.
fn new_file(output: &Path, path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = folder_of(path);
    if !folder.exists() {
        let why = format!("the folder `{}` does not exist; make it first", folder.display());
        return Err(failed("write", output, &why));
    }
    tempfile::Builder::new().prefix(".aes-bitslice-").tempfile_in(folder).map_err(|error| {
        // Omits the name of the new file, which the caller did not choose.
        let text = error.to_string();
        let reason = text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason);
        failed("write", output, &format!("no file can be made in the folder `{}`: {reason}", folder.display()))
    })
}

const FOLDER: &str = "it is a folder, not a file; give a file name";
const NO_FILE: &str = "it is a device, a pipe or a socket, which is not replaced; give a file name";
const OPEN: &str = "it names an open file of this process, which is not replaced; give the name of the file itself, or write to the \
                    descriptor in the function `write` of a sink";
const OPEN_ELSEWHERE: &str =
    "it names an open file of another process, which is not replaced; give the name of the file itself";
const DISK: &str = "; it is a disk, and nothing marks there where sealed data ends: give a `read` that ends there";
const LONGER: &str = "; if the source goes on after the sealed data, give a `memory` or a `read` that ends there";
const SAME: &str = "it is the source; give another name";
const EXISTS: &str = "it exists already; remove it, or give another name";

/// The error of a file, with its name as the caller gave it.
fn with_name(error: io::Error, verb: &str, path: &Path) -> io::Error {
    match error.kind() {
        // It only requests a retry.
        io::ErrorKind::Interrupted => error,
        kind => io::Error::new(kind, what_failed(verb, path, &error.to_string())),
    }
}

fn what_failed(verb: &str, path: &Path, why: &str) -> String {
    format!("cannot {verb} `{}`: {why}", path.display())
}

/// The failure of sealing or opening a source. An error of what is in a file begins with its name; errors of reading and writing have the
/// name of their file, and those of the secret its name.
fn about(source: &Source, error: Error) -> Failure {
    // SAFETY: it was read as a path.
    let name = (!source.path.is_null()).then(|| unsafe { CStr::from_ptr(source.path) });
    let file = name.and_then(|name| path(name).ok());
    let name = name.map(CStr::to_string_lossy);
    let of = match (&error, name) {
        (Error::Io(_) | Error::EmptyPassphrase | Error::PassphraseText(_), _) => String::new(),
        (Error::KeyLength(_) | Error::XtsKey, _) => "`key`: ".into(),
        (_, Some(name)) => format!("`{name}`: "),
        (_, None) => String::new(),
    };
    match &error {
        // No memory of the caller's is too small for a file.
        Error::Io(of) if of.kind() == io::ErrorKind::WriteZero => Failure::invalid(of.to_string()),
        _ => {
            let is_disk =
                || file.and_then(|path| path.metadata().ok()).is_some_and(|metadata| is_block_device(&metadata));
            let advice = if !error.may_be_of_what_follows() {
                ""
            } else if is_disk() {
                DISK
            } else {
                LONGER
            };
            let Failure { status, message } = error.into();
            Failure::new(status, format!("{of}{message}{advice}"))
        }
    }
}

fn failed(verb: &str, path: &Path, why: &str) -> Failure {
    Failure::new(AES_BITSLICE_IO, what_failed(verb, path, why))
}

fn path(text: &CStr) -> Result<&Path, Failure> {
    if text.is_empty() {
        return Err(Failure::invalid("the name of a file is empty; give one"));
    }
    as_path(text)
}

#[cfg(unix)]
fn as_path(text: &CStr) -> Result<&Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

#[cfg(not(unix))]
fn as_path(text: &CStr) -> Result<&Path, Failure> {
    text.to_str().map(Path::new).map_err(|_| Failure::invalid("the name of a file is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{AES_BITSLICE_INVALID, AES_BITSLICE_NO_MEMORY};
    use std::ffi::CString;
    use std::fs;

    #[test]
    fn a_file_that_appears_before_the_end_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let name = CString::new(output.to_str().unwrap()).unwrap();
        let (memory, context) = (ptr::null_mut(), ptr::null_mut());
        let sink = Sink { path: name.as_ptr(), overwrite: 0, memory, bytes: 0, write: None, context };
        // SAFETY: the name lives.
        let to = unsafe { To::of(&sink) }.unwrap_or_else(|failure| panic!("{}", failure.message));
        fs::write(&output, "another's").unwrap();
        assert_eq!(to.finish().unwrap_err().message, what_failed("write", &output, EXISTS));
        assert_eq!(fs::read(&output).unwrap(), b"another's");
    }

    #[test]
    fn every_failure_has_the_name_of_its_file() {
        let (memory, context) = (ptr::null(), ptr::null_mut());
        let source = Source { path: c"folder/in".as_ptr(), memory, read: None, context, bytes: 0 };
        let of = |error| about(&source, error);
        assert!(of(Error::KeyLength(128)).message.starts_with("`key`: a key of 256 bits"));
        assert!(of(Error::XtsKey).message.starts_with("`key`: a key of 256 bits"));
        let failure = of(Error::NeedsPassphrase);
        assert_eq!(failure.status, AES_BITSLICE_INVALID);
        assert_eq!(failure.message, format!("`folder/in`: {}", Error::NeedsPassphrase));
        let failure = of(Error::OutOfMemory);
        assert_eq!(failure.status, AES_BITSLICE_NO_MEMORY);
        assert!(failure.message.starts_with("`folder/in`: "), "{}", failure.message);
        let named = what_failed("write", Path::new("folder/out"), "the disk is full");
        let failure = of(Error::Io(io::Error::other(named.clone())));
        assert_eq!((failure.status, failure.message), (AES_BITSLICE_IO, named));
    }
}
