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
use std::io;
use std::path::Path;
use tempfile::NamedTempFile;

/// Seals the file `input` to the new file `output`: encrypts and authenticates it, as `aes-bitslice seal` does, with a key of 256 bits.
/// `output` appears whole or not at all, readable by its owner only; a file of that name is not replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_seal_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: what the head of the header asks of callers.
    unsafe { file(engine, key, input, output, |engine, secret, from, to| seal(engine, secret, from, to)) }
}

/// Opens the sealed file `input` to the new file `output`. Fails with AES_BITSLICE_UNAUTHENTICATED for another key and for a file that
/// was changed or cut off, and then nothing of it is written. `output` appears whole or not at all, readable by its owner only; a file
/// of that name is not replaced.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_open_file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
) -> c_int {
    // SAFETY: what the head of the header asks of callers.
    unsafe { file(engine, key, input, output, |engine, secret, from, to| open(engine, secret, from, to)) }
}

/// From a file to a new one.
///
/// # Safety
/// Handles and texts are NULL, or live and as they were given out.
unsafe fn file(
    engine: *const EngineHandle,
    key: *const KeyHandle,
    input: *const c_char,
    output: *const c_char,
    work: impl FnOnce(&Engine, Secret<'_>, &File, &File) -> Result<u64, Error>,
) -> c_int {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (engine, key, input, output) = unsafe {
            let (input, output) = (text(input, "input")?, text(output, "output")?);
            (&reference(engine, "engine")?.engine, &reference(key, "key")?.0, path(input)?, path(output)?)
        };
        let of_input = |error: io::Error| failed("read", input, &error);
        let of_output = |error: io::Error| failed("write", output, &error);
        if output.symlink_metadata().is_ok() {
            return Err(of_output(io::ErrorKind::AlreadyExists.into()));
        }
        let from = File::open(input).map_err(of_input)?;
        if from.metadata().map_err(of_input)?.is_dir() {
            return Err(of_input(io::ErrorKind::IsADirectory.into()));
        }
        let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Taken away again unless it is kept below.
        let new = NamedTempFile::new_in(folder).map_err(of_output)?;
        kept(engine.backend().is_cuda(), || work(engine, Secret::Key(key), &from, new.as_file()))?;
        new.as_file().sync_all().map_err(of_output)?;
        new.persist_noclobber(output).map_err(|error| of_output(error.error))?;
        Ok(())
    })
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(AES_BITSLICE_IO, format!("cannot {verb} `{}`: {error}", path.display()))
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
