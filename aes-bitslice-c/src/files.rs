//! Sealed files: encrypted and authenticated, in the format of the command line.

use crate::border::call;
use crate::context::kept;
use crate::handles::{EngineHandle, KeyHandle};
use crate::memory::{reference, text};
use crate::status::{AES_BITSLICE_IO, Failure};
use aes_bitslice_runtime::Engine;
use aes_bitslice_seal::{Error, Secret, open, seal};
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Seals the file `input` to the new file `output`: encrypts and authenticates it, as `aes-bitslice seal` does, with a key of 256 bits.
/// `output` appears whole or not at all, readable by its owner only; an existing file is not replaced. Until it is complete, it is
/// `.aes-bitslice-*` in the same folder; a killed process leaves that file there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_seal_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { file(engine, key, input, output, |engine, secret, from, to| seal(engine, secret, from, to)) }
}

/// Opens the sealed file `input` to the new file `output`. Fails with AES_BITSLICE_UNAUTHENTICATED for a wrong key and for a changed or
/// truncated file, and with AES_BITSLICE_INVALID where the first nine bytes are not those of a sealed file of this version; then writes
/// nothing. `output` appears whole or not at all, readable by its owner only; an existing file is not replaced. Until it is complete, it is
/// `.aes-bitslice-*` in the same folder; a killed process leaves that file there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_open_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { file(engine, key, input, output, |engine, secret, from, to| open(engine, secret, from, to)) }
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
    work: impl FnOnce(&Engine, Secret<'_>, Named<'_>, Named<'_>) -> Result<u64, Error>,
) -> c_int {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (engine, key, input, output) = unsafe {
            let (input, output) = (text(input, "input")?, text(output, "output")?);
            (&reference(engine, "engine")?.engine, &reference(key, "key")?.0, path(input)?, path(output)?)
        };
        let of_input = |error: io::Error| failed("read", input, &error.to_string());
        let of_output = |error: io::Error| failed("write", output, &error.to_string());
        if output.is_dir() {
            return Err(failed("write", output, FOLDER));
        }
        if output.symlink_metadata().is_ok() {
            return Err(failed("write", output, EXISTS));
        }
        let from = File::open(input).map_err(of_input)?;
        if from.metadata().map_err(of_input)?.is_dir() {
            return Err(failed("read", input, FOLDER));
        }
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.exists() {
            let why = format!("the folder `{}` does not exist; make it first", folder.display());
            return Err(failed("write", output, &why));
        }
        // Removed unless it is persisted below. The command line uses the same name: it shows whose file a killed process left.
        let new = tempfile::Builder::new().prefix(".aes-bitslice-").tempfile_in(folder).map_err(|error| {
            // Omits the name of the new file, which the caller did not choose.
            let text = error.to_string();
            let reason = text.split_once(" at path ").map_or(text.as_str(), |(reason, _)| reason);
            failed("write", output, &format!("no file can be made in the folder `{}`: {reason}", folder.display()))
        })?;
        let reads = Named { file: &from, verb: "read", path: input };
        let writes = Named { file: new.as_file(), verb: "write", path: output };
        let done = kept(engine.backend().is_cuda(), || work(engine, Secret::Key(key), reads, writes));
        done.map_err(|error| of_sealing(input, error))?;
        new.as_file().sync_all().map_err(of_output)?;
        new.persist_noclobber(output).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => failed("write", output, EXISTS),
            _ => of_output(error.error),
        })?;
        Ok(())
    })
}

const FOLDER: &str = "it is a folder, not a file; give a file name";
const EXISTS: &str = "it exists already; remove it, or give another name";

/// A file whose errors say what failed, with its name as the caller gave it.
struct Named<'a> {
    file: &'a File,
    verb: &'static str,
    path: &'a Path,
}

impl Named<'_> {
    fn with_name(&self, error: io::Error) -> io::Error {
        match error.kind() {
            // It only requests a retry.
            io::ErrorKind::Interrupted => error,
            kind => io::Error::new(kind, what_failed(self.verb, self.path, &error.to_string())),
        }
    }
}

impl Read for Named<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes).map_err(|error| self.with_name(error))
    }
}

impl Write for Named<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| self.with_name(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.with_name(error))
    }
}

fn what_failed(verb: &str, path: &Path, why: &str) -> String {
    format!("cannot {verb} `{}`: {why}", path.display())
}

/// The failure of sealing or opening the file `input`, with its name. Errors of reading and writing have the name of their file.
fn of_sealing(input: &Path, error: Error) -> Failure {
    let has_name = matches!(error, Error::Io(_));
    let Failure { status, message } = error.into();
    Failure::new(status, if has_name { message } else { format!("`{}`: {message}", input.display()) })
}

fn failed(verb: &str, path: &Path, why: &str) -> Failure {
    Failure::new(AES_BITSLICE_IO, what_failed(verb, path, why))
}

#[cfg(unix)]
fn path(text: &CStr) -> Result<&Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

#[cfg(not(unix))]
fn path(text: &CStr) -> Result<&Path, Failure> {
    text.to_str().map(Path::new).map_err(|_| Failure::invalid("the name of a file is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{AES_BITSLICE_INVALID, AES_BITSLICE_NO_MEMORY};

    #[test]
    fn every_failure_has_the_name_of_its_file() {
        let of = |error| of_sealing(Path::new("folder/in"), error);
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
