//! The memory of a GPU that a call takes, as programs have it.

use crate::base::error::Error;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

/// The data of a call in memory of a GPU, in the types of [`cudarc`]: `&mut data` is both input and output, or the one of them that the
/// operation uses; `(&input, &mut output)` are separate, of equal lengths, for an operation that reads and writes. A type of your own whose
/// `device_ptr` does not say the truth breaks memory, as it does where cudarc itself takes it.
pub trait DeviceBuffers {
    /// The streams that the memory is ordered on.
    #[doc(hidden)]
    fn streams(&self) -> [&CudaStream; 2];

    /// Whether input and output are separate.
    #[doc(hidden)]
    fn is_pair(&self) -> bool;

    /// Makes a call on a stream while the memory is borrowed for it, and ordered on the stream.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] for an input and an output of different lengths, and those of the call.
    #[doc(hidden)]
    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> Result<R, Error>) -> Result<R, Error>;
}

/// Where the data is, and its length in bytes. The memory is borrowed for the call that gets this, and ordered on its stream.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub(crate) input: CUdeviceptr,
    pub(crate) output: CUdeviceptr,
    pub(crate) len: u64,
}

impl<D: DevicePtrMut<u8>> DeviceBuffers for &mut D {
    fn streams(&self) -> [&CudaStream; 2] {
        [self.stream(), self.stream()]
    }

    fn is_pair(&self) -> bool {
        false
    }

    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> Result<R, Error>) -> Result<R, Error> {
        let len = self.len() as u64;
        let (pointer, _written) = self.device_ptr_mut(stream);
        call(Addresses { input: pointer, output: pointer, len })
    }
}

impl<S: DevicePtr<u8>, D: DevicePtrMut<u8>> DeviceBuffers for (&S, &mut D) {
    fn streams(&self) -> [&CudaStream; 2] {
        [self.0.stream(), self.1.stream()]
    }

    fn is_pair(&self) -> bool {
        true
    }

    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> Result<R, Error>) -> Result<R, Error> {
        let (from, to) = self;
        if from.len() != to.len() {
            return Err(Error::LengthMismatch { input: from.len(), output: to.len() });
        }
        let len = to.len() as u64;
        let (input, _read) = from.device_ptr(stream);
        let (output, _written) = to.device_ptr_mut(stream);
        call(Addresses { input, output, len })
    }
}
