//! The codes that functions return, and the code of each error.

use aes_bitslice_core::memory::NoMemory;
use aes_bitslice_runtime::Error;
use aes_bitslice_seal::Error as SealError;
use std::ffi::c_int;

/// The call succeeded.
pub const AES_BITSLICE_OK: c_int = 0;
/// An argument is wrong: a NULL, a length, a name, buffers that overlap. Nothing was changed.
pub const AES_BITSLICE_INVALID: c_int = 1;
/// Authentication failed: the data was changed, or it belongs to another key, nonce or additional data. The output is cleared; in a batch,
/// only the output of the messages that failed.
pub const AES_BITSLICE_UNAUTHENTICATED: c_int = 2;
/// The engine does not support the operation, or not in this kind of memory. Nothing was changed.
pub const AES_BITSLICE_UNSUPPORTED: c_int = 3;
/// The device or its driver is missing. Nothing was changed.
pub const AES_BITSLICE_UNAVAILABLE: c_int = 4;
/// Not enough free memory, on the device or on the host.
pub const AES_BITSLICE_NO_MEMORY: c_int = 5;
/// A file could not be read or written, or a function of the caller's that reads or writes failed.
pub const AES_BITSLICE_IO: c_int = 6;
/// The device, its driver or the operating system failed. Output in host memory is cleared if anything had been written to it.
pub const AES_BITSLICE_FAILED: c_int = 7;
/// A bug in this library: please report it. Output in host memory is cleared.
pub const AES_BITSLICE_BUG: c_int = 8;

/// Why a call failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: c_int,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: c_int, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(AES_BITSLICE_INVALID, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(status(&error), error.to_string())
    }
}

impl From<NoMemory> for Failure {
    fn from(error: NoMemory) -> Self {
        Error::from(error).into()
    }
}

impl From<SealError> for Failure {
    fn from(error: SealError) -> Self {
        let status = match error {
            SealError::Engine(error) => return error.into(),
            SealError::Io(_) => AES_BITSLICE_IO,
            SealError::OutOfMemory => AES_BITSLICE_NO_MEMORY,
            SealError::Random(_) | SealError::Thread(_) => AES_BITSLICE_FAILED,
            SealError::WrongKey
            | SealError::WrongPassphrase
            | SealError::NoKeyOpens
            | SealError::DamagedHeader(_)
            | SealError::Damaged { .. }
            | SealError::CutOff(_) => AES_BITSLICE_UNAUTHENTICATED,
            _ => AES_BITSLICE_INVALID,
        };
        Self::new(status, error.to_string())
    }
}

fn status(error: &Error) -> c_int {
    match error {
        Error::Unauthenticated => AES_BITSLICE_UNAUTHENTICATED,
        Error::Unsupported { .. }
        | Error::NotBuilt { .. }
        | Error::NotCuda { .. }
        | Error::NotOpenCl { .. }
        | Error::NoDevice { .. }
        | Error::SeveralDevices { .. }
        | Error::NotInKernel { .. }
        | Error::NeedsKey { .. }
        | Error::NoSuchKernel { .. } => AES_BITSLICE_UNSUPPORTED,
        Error::CudaUnavailable { .. }
        | Error::NoSuchDevice { .. }
        | Error::OpenClUnavailable { .. }
        | Error::NoSuchOpenClDevice { .. } => AES_BITSLICE_UNAVAILABLE,
        Error::OutOfDeviceMemory { .. } | Error::OutOfHostMemory { .. } => AES_BITSLICE_NO_MEMORY,
        Error::KeyLength { .. }
        | Error::SecretLength { .. }
        | Error::XtsKey { .. }
        | Error::WrongKeys { .. }
        | Error::NonceLength { .. }
        | Error::TagLength { .. }
        | Error::Length { .. }
        | Error::Batch { .. }
        | Error::Jobs { .. }
        | Error::Threads { .. }
        | Error::UnknownBackend { .. }
        | Error::NotWholeBlocks { .. }
        | Error::LengthMismatch { .. }
        | Error::WrongAccess { .. }
        | Error::PartsDoNotAdjoin { .. }
        | Error::Overlap
        | Error::InCapture { .. }
        | Error::OtherContext
        | Error::CounterOverflow { .. } => AES_BITSLICE_INVALID,
        Error::Panicked { .. } => AES_BITSLICE_BUG,
        _ => AES_BITSLICE_FAILED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::{Backend, Cmac, Engine, Key, KeyBits, Xts};

    #[test]
    fn messages_name_nothing_of_rust() {
        let not_cuda = Error::NotCuda { what: "device memory", backend: "cpu".into() };
        let engine = Engine::open(Backend::Cpu).unwrap();
        let cipher = |key: Key| engine.cipher(&key).unwrap();
        let one = cipher(Key::generate_xts(KeyBits::Aes128).unwrap()).run(Cmac::new(), &[0; 16][..]).unwrap_err();
        let two = Xts::encrypt(16, 0).unwrap();
        let two = cipher(Key::new(&[1; 16]).unwrap()).run(two, &mut [0; 16][..]).unwrap_err();
        for error in [not_cuda, Error::NeedsKey { what: "GCM" }, Error::SeveralDevices { what: "a stream" }, one, two] {
            let failure = Failure::from(error);
            assert!(!failure.message.contains("::"), "{}", failure.message);
        }
    }

    #[test]
    fn errors_of_files_keep_the_code_of_their_cause() {
        assert_eq!(Failure::from(SealError::WrongKey).status, AES_BITSLICE_UNAUTHENTICATED);
        assert_eq!(Failure::from(SealError::NotSealed).status, AES_BITSLICE_INVALID);
        assert_eq!(Failure::from(SealError::OutOfMemory).status, AES_BITSLICE_NO_MEMORY);
        let lost = SealError::Engine(Error::Poisoned { cause: "a test".into() });
        assert_eq!(Failure::from(lost).status, AES_BITSLICE_FAILED);
        let thread = SealError::Thread(std::io::ErrorKind::WouldBlock.into());
        assert_eq!(Failure::from(thread).status, AES_BITSLICE_FAILED);
        assert_eq!(Failure::from(Error::Panicked { what: "a test".into() }).status, AES_BITSLICE_BUG);
    }
}
