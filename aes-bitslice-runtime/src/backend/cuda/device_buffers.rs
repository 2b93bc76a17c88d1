//! The memory of a GPU that a call takes, as programs have it.

use crate::base::error::Error;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

/// The data of a call in memory of a GPU, in the types of [`cudarc`]: `&mut data` is both input and output, or the one of them that the operation
/// uses; `(&input, &mut output)` are separate, of equal lengths, for an operation that reads and writes.
pub trait DeviceBuffers {
    /// The streams that the memory is ordered on.
    #[doc(hidden)]
    fn streams(&self) -> [&CudaStream; 2];

    /// Makes a call on a stream while the memory is borrowed for it. The addresses cannot be made elsewhere.
    #[doc(hidden)]
    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> R) -> R;
}

/// Where the data is, and its length in bytes. The memory is borrowed for the call that gets this, and ordered on its stream.
#[derive(Clone, Copy)]
pub struct Addresses {
    pub(crate) input: CUdeviceptr,
    pub(crate) output: CUdeviceptr,
    pub(crate) len: u64,
    /// The length of the input, where it has its own.
    pub(crate) len_of_input: Option<u64>,
}

impl Addresses {
    /// # Errors
    /// [`Error::LengthMismatch`] for an input and an output of different lengths.
    pub(crate) fn check_lengths(&self) -> Result<(), Error> {
        match self.len_of_input {
            Some(input) if input != self.len => {
                Err(Error::LengthMismatch { input: input as usize, output: self.len as usize })
            }
            _ => Ok(()),
        }
    }
}

impl<D: DevicePtrMut<u8>> DeviceBuffers for &mut D {
    fn streams(&self) -> [&CudaStream; 2] {
        [self.stream(); 2].map(|stream| &**stream)
    }

    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> R) -> R {
        let len = self.len() as u64;
        let (pointer, _written) = self.device_ptr_mut(stream);
        call(Addresses { input: pointer, output: pointer, len, len_of_input: None })
    }
}

impl<S: DevicePtr<u8>, D: DevicePtrMut<u8>> DeviceBuffers for (&S, &mut D) {
    fn streams(&self) -> [&CudaStream; 2] {
        [self.0.stream(), self.1.stream()]
    }

    fn with<R>(self, stream: &CudaStream, call: impl FnOnce(Addresses) -> R) -> R {
        let (from, to) = self;
        let (len, len_of_input) = (to.len() as u64, Some(from.len() as u64));
        let (input, _read) = from.device_ptr(stream);
        let (output, _written) = to.device_ptr_mut(stream);
        call(Addresses { input, output, len, len_of_input })
    }
}
