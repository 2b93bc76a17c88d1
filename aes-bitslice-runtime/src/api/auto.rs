//! Which backend is taken where none is named, for calls of a kind that is known beforehand: once, and for all of them.

use crate::api::engine::Engine;
use crate::base::backend::{Backend, SMALLEST_FOR_OPENCL};
use crate::base::error::Error;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

/// What is known of the GPUs of this machine without opening one.
trait Gpus {
    /// Whether the first CUDA GPU is faster than the CPU for a call on host memory; `None` if there is no CUDA GPU.
    fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Option<bool>;

    /// The first GPU behind OpenCL, if there is one. To look for it loads the library of every OpenCL platform.
    fn first_of_opencl(&self) -> Option<Backend>;
}

impl Engine {
    /// Opens what [`Backend::Auto`] would use for calls of this mode, each on `bytes` bytes in host memory, and for nothing else. Where
    /// the CPU is faster no GPU is opened, which takes longer than most files do, and no OpenCL library is loaded where a CUDA GPU
    /// answers or the calls are small. `without_opencl` leaves OpenCL out, for kernels that it does not have.
    ///
    /// The engine is of one backend: its calls are not asked about again. A GPU that does not open leaves the CPU.
    ///
    /// # Errors
    /// None on the CPU.
    pub fn open_for(mode: Mode, key_bits: KeyBits, bytes: u64, without_opencl: bool) -> Result<Self, Error> {
        match choose(&OfThisMachine { without_opencl }, mode, key_bits, bytes) {
            Backend::Cpu => Self::open(Backend::Cpu),
            gpu => Self::open(gpu).or_else(|_| Self::open(Backend::Cpu)),
        }
    }
}

/// The backend for such calls.
fn choose(gpus: &impl Gpus, mode: Mode, key_bits: KeyBits, bytes: u64) -> Backend {
    match gpus.prefers_cuda(mode, key_bits, bytes) {
        Some(true) => Backend::Cuda { ordinal: 0 },
        None if bytes >= SMALLEST_FOR_OPENCL => gpus.first_of_opencl().unwrap_or(Backend::Cpu),
        Some(false) | None => Backend::Cpu,
    }
}

struct OfThisMachine {
    without_opencl: bool,
}

impl Gpus for OfThisMachine {
    #[cfg(feature = "cuda")]
    fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Option<bool> {
        crate::backend::cuda::select::tuning::tuning(0).ok().map(|tuning| tuning.prefers_cuda(mode, key_bits, bytes))
    }

    #[cfg(not(feature = "cuda"))]
    fn prefers_cuda(&self, _mode: Mode, _key_bits: KeyBits, _bytes: u64) -> Option<bool> {
        None
    }

    #[cfg(feature = "opencl")]
    fn first_of_opencl(&self) -> Option<Backend> {
        (!self.without_opencl).then(crate::backend::opencl::platforms::first_gpu).flatten()
    }

    #[cfg(not(feature = "opencl"))]
    fn first_of_opencl(&self) -> Option<Backend> {
        let _ = self.without_opencl;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with a CUDA GPU that is faster from 16 MiB on, or without.
    struct Fake {
        cuda: bool,
        opencl: Option<Option<Backend>>,
    }

    impl Gpus for Fake {
        fn prefers_cuda(&self, _mode: Mode, _key_bits: KeyBits, bytes: u64) -> Option<bool> {
            self.cuda.then_some(bytes >= 16 << 20)
        }

        fn first_of_opencl(&self) -> Option<Backend> {
            self.opencl.expect("not to be looked for")
        }
    }

    fn chosen(gpus: &Fake, bytes: u64) -> Backend {
        choose(gpus, Mode::Ctr, KeyBits::Aes128, bytes)
    }

    #[test]
    fn a_cuda_gpu_is_taken_from_where_it_is_faster() {
        let gpus = Fake { cuda: true, opencl: None };
        assert_eq!(chosen(&gpus, (16 << 20) - 1), Backend::Cpu);
        assert_eq!(chosen(&gpus, 16 << 20), Backend::Cuda { ordinal: 0 });
    }

    #[test]
    fn opencl_is_looked_for_where_there_is_no_cuda_and_enough_to_do() {
        let gpu = Backend::OpenCl { platform: 1, device: 0 };
        assert_eq!(chosen(&Fake { cuda: false, opencl: None }, SMALLEST_FOR_OPENCL - 1), Backend::Cpu);
        assert_eq!(chosen(&Fake { cuda: false, opencl: Some(Some(gpu)) }, SMALLEST_FOR_OPENCL), gpu);
        assert_eq!(chosen(&Fake { cuda: false, opencl: Some(None) }, SMALLEST_FOR_OPENCL), Backend::Cpu);
    }

    #[test]
    fn small_calls_go_to_the_cpu() {
        assert_eq!(Engine::open_for(Mode::Ctr, KeyBits::Aes128, 1, true).unwrap().backend(), Backend::Cpu);
    }
}
