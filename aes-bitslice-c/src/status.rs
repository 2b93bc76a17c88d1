//! What functions return, and which error is which.

use aes_bitslice_runtime::Error;
use aes_bitslice_seal::Error as SealError;
use std::ffi::c_int;

/// The call did what it was asked for.
pub const AES_BITSLICE_OK: c_int = 0;
/// An argument is wrong: a NULL, a length, a name, buffers that overlap. Nothing was changed.
pub const AES_BITSLICE_INVALID: c_int = 1;
/// Authentication failed: the data was changed, or another key, nonce or additional data belongs to it. The output is cleared; of a batch,
/// that of the messages which failed.
pub const AES_BITSLICE_UNAUTHENTICATED: c_int = 2;
/// The engine, or this kind of memory, does not have the operation. Nothing was changed.
pub const AES_BITSLICE_UNSUPPORTED: c_int = 3;
/// The device, or the driver for it, is not there. Nothing was changed.
pub const AES_BITSLICE_UNAVAILABLE: c_int = 4;
/// Too little memory is free, on the device or on the host.
pub const AES_BITSLICE_NO_MEMORY: c_int = 5;
/// A file could not be read or written.
pub const AES_BITSLICE_IO: c_int = 6;
/// The device, its driver or the operating system failed. If output had been written to, it is cleared where it is in host memory.
pub const AES_BITSLICE_FAILED: c_int = 7;
/// An error of this library: please report it. Output in host memory is cleared.
pub const AES_BITSLICE_BUG: c_int = 8;

/// Why a call did not do what it was asked for.
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

impl From<SealError> for Failure {
    fn from(error: SealError) -> Self {
        let status = match error {
            SealError::Engine(error) => return error.into(),
            SealError::Io(_) => AES_BITSLICE_IO,
            SealError::OutOfMemory => AES_BITSLICE_NO_MEMORY,
            SealError::Random(_) | SealError::Thread(_) => AES_BITSLICE_FAILED,
            SealError::WrongKey | SealError::Damaged { .. } | SealError::CutOff(_) => AES_BITSLICE_UNAUTHENTICATED,
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
        | Error::XtsKey { .. }
        | Error::WrongKeys { .. }
        | Error::NonceLength { .. }
        | Error::TagLength { .. }
        | Error::Length { .. }
        | Error::Batch { .. }
        | Error::Jobs { .. }
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
    }
}
