//! Exceptions, and the border that no panic crosses.

use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::NoMemory;
use aes_bitslice_runtime::Error as Runtime;
use aes_bitslice_seal::Error as Seal;
use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

create_exception!(
    aes_bitslice,
    Error,
    pyo3::exceptions::PyException,
    "An error of this package other than a wrong argument."
);
create_exception!(
    aes_bitslice,
    AuthenticationError,
    Error,
    "The data was changed, or the key, nonce or tag is not the one it belongs to."
);
create_exception!(aes_bitslice, UnavailableError, Error, "This engine or this machine does not support the request.");
create_exception!(aes_bitslice, DeviceError, Error, "A device or its driver failed.");

/// An error of the runtime as an exception: `ValueError` for a wrong argument, else one of this package.
pub fn of_runtime(error: Runtime) -> PyErr {
    let text = error.to_string();
    with_text(error, text)
}

/// There is no memory for an argument or a result: `MemoryError`.
pub fn no_memory(error: NoMemory) -> PyErr {
    of_runtime(error.into())
}

/// The exception for an error of the runtime, with this text.
fn with_text(error: Runtime, text: String) -> PyErr {
    use Runtime::*;
    match error {
        KeyLength { .. }
        | SecretLength { .. }
        | XtsKey { .. }
        | WrongKeys { .. }
        | NonceLength { .. }
        | TagLength { .. }
        | Length { .. }
        | Batch { .. }
        | Jobs { .. }
        | KeyHex { .. }
        | UnknownBackend { .. }
        | NotWholeBlocks { .. }
        | LengthMismatch { .. }
        | WrongAccess { .. }
        | Overlap
        | CounterOverflow { .. }
        | BadDevices { .. }
        | Threads { .. }
        | NoSuchKernel { .. } => PyValueError::new_err(text),
        Unauthenticated => AuthenticationError::new_err(text),
        OutOfHostMemory { .. } => PyMemoryError::new_err(text),
        Unsupported { .. }
        | NotBuilt { .. }
        | IsaUnavailable { .. }
        | NotCuda { .. }
        | NotOpenCl { .. }
        | NoDevice { .. }
        | CudaUnavailable { .. }
        | SeveralDevices { .. }
        | NoSuchDevice { .. }
        | OpenClUnavailable { .. }
        | NoSuchOpenClDevice { .. } => UnavailableError::new_err(text),
        OtherContext
        | Cuda { .. }
        | OpenCl { .. }
        | Poisoned { .. }
        | OutOfDeviceMemory { .. }
        | SelfTestFailed { .. } => DeviceError::new_err(text),
        Random(_) => PyOSError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// An error of sealing or opening as an exception; its text begins with the path of the source, if that has one, or names the argument that
/// is wrong whatever the source is. It says what to do if the source may go on after its data, as a disk does.
pub fn of_seal(error: Seal, source: Option<&Path>, is_disk: bool) -> PyErr {
    let text = match &error {
        // Told as it is; and the text of an exception that is not raised yet cannot be had while Python ends.
        Seal::Io(_) => String::new(),
        _ if error.may_be_of_what_follows() => {
            let advice = if is_disk {
                "it is a disk, and nothing marks there where sealed data ends: give a file object that ends there"
            } else {
                "if the source goes on after the sealed data, give that alone: a slice, or an io.BytesIO of one"
            };
            format!("{error}; {advice}")
        }
        Seal::Range { start, end, len } => {
            let end = end.map_or("None".into(), |end| end.to_string());
            let len = counted(len, "byte");
            format!("range is ({start}, {end}), and the message has {len}: give a range inside it")
        }
        _ => error.to_string(),
    };
    let text = match (&error, source) {
        (Seal::KeyLength(_) | Seal::XtsKey, _) => format!("key: {text}"),
        (Seal::EmptyPassphrase | Seal::PassphraseText(_), _) | (_, None) => text,
        (_, Some(path)) => format!("{}: {text}", path.display()),
    };
    match error {
        // Names its file already, or is of a file object.
        Seal::Io(error) => of_io(error),
        Seal::Engine(error) => with_text(error, text),
        Seal::Random(_) | Seal::Thread(_) => PyOSError::new_err(text),
        Seal::KeyLength(_)
        | Seal::XtsKey
        | Seal::EmptyPassphrase
        | Seal::PassphraseText(_)
        | Seal::PassphraseCost(_)
        | Seal::Range { .. }
        | Seal::Keyset(_)
        | Seal::TooLong
        | Seal::NeedsKey
        | Seal::NeedsPassphrase => PyValueError::new_err(text),
        Seal::LikeTink => Error::new_err(format!("{text}: if so, open it with keyset=")),
        Seal::Sealed => Error::new_err(format!("{text}: open it with key= or passphrase=")),
        Seal::OutOfMemory => PyMemoryError::new_err(text),
        Seal::DamagedHeader(_)
        | Seal::WrongKey
        | Seal::WrongPassphrase
        | Seal::Damaged { .. }
        | Seal::NoKeyOpens
        | Seal::CutOff(_) => AuthenticationError::new_err(text),
        // Not a sealed file, a later version, and errors that later versions of the crate may add.
        _ => Error::new_err(text),
    }
}

/// An error of reading or writing; if a Python file object raised an exception, that exception.
pub fn of_io(error: io::Error) -> PyErr {
    error.into()
}

/// An error of the system with the name of a file, as Python's own. An exception of Python stays as it is.
pub fn os_error(error: io::Error, name: &str) -> PyErr {
    if error.get_ref().is_some_and(|inner| inner.is::<PyErr>()) {
        return of_io(error);
    }
    let text = error.to_string();
    // A temporary file's error has the system's code only in its text, before a name that the caller did not choose.
    let parts = text.split_once(" (os error ");
    let (words, code) = parts.map_or((&*text, None), |(words, rest)| (words, rest.split(')').next()));
    match code.and_then(|code| code.parse::<i32>().ok()) {
        Some(code) => {
            // `OSError` turns itself into its subclass for the code.
            Python::attach(|py| {
                let kind = py.get_type::<PyOSError>();
                match kind.call1((code, words, name)) {
                    Ok(raised) => PyErr::from_value(raised),
                    Err(error) => error,
                }
            })
        }
        None => {
            let words = text.split_once(" at path ").map_or(&*text, |(words, _)| words);
            of_io(io::Error::new(error.kind(), format!("{name}: {words}")))
        }
    }
}

/// Does `work`, and turns a panic into an exception; else it would be one that `except Exception` does not catch.
pub fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    caught(work).unwrap_or_else(|what| Err(panicked(&what)))
}

/// Does `work`; returns the text of a panic if there was one.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| text_of(&*panic))
}

/// The exception for a panic.
pub fn panicked(what: &str) -> PyErr {
    Error::new_err(format!("a call panicked ({what}): this is an error of this package, report it"))
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").into()
}
