//! Chooses a backend where none is named.
//!
//! The order is: the first CUDA GPU; else the first OpenCL GPU; else the CPU. A GPU gets a call on host memory where it
//! is faster than the CPU, according to measurements on it, or else to a [built-in](processor::gpu_is_faster_from)
//! value. Where no call could be faster through OpenCL, nothing of OpenCL is loaded.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::exec::processor;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

/// Information about this machine that is available without opening a GPU.
trait Machine {
    /// Whether the first CUDA GPU is faster than the CPU for a call on host memory; `None` if there is no CUDA GPU.
    fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Option<bool>;

    /// The number of bytes from which an OpenCL GPU is faster than the CPU; `None` for never.
    fn opencl_from(&self) -> Option<u64>;

    /// The first OpenCL GPU, if there is one. Looking for it loads the library of every OpenCL platform.
    fn first_of_opencl(&self) -> Option<Backend>;
}

/// The backend for calls of this mode on `bytes` bytes in host memory. `without_opencl` excludes OpenCL.
pub(crate) fn backend_for(mode: Mode, key_bits: KeyBits, bytes: u64, without_opencl: bool) -> Backend {
    choose(&ThisMachine { without_opencl }, mode, key_bits, bytes)
}

/// Returns the result of `open` for the first GPU that opens and may be faster than the CPU for some call, and why it
/// is this one, or none.
pub(crate) fn open_first<K>(open: impl Fn(Backend) -> Result<K, Error>) -> (Option<K>, String) {
    first(&ThisMachine { without_opencl: false }, open)
}

/// Does the work of [`open_first`] on a given machine.
fn first<K>(machine: &impl Machine, open: impl Fn(Backend) -> Result<K, Error>) -> (Option<K>, String) {
    let no_cuda = match open(Backend::Cuda { ordinal: 0 }) {
        Ok(gpu) => return (Some(gpu), "auto: a GPU is there".into()),
        Err(e) => one_line(&e),
    };
    if machine.opencl_from().is_none() {
        return (None, format!("auto: {no_cuda}; AES instructions are faster than OpenCL"));
    }
    match machine.first_of_opencl().map(open) {
        Some(Ok(gpu)) => (Some(gpu), format!("auto: no CUDA ({no_cuda}); an OpenCL GPU is there")),
        Some(Err(e)) => (None, format!("auto: {no_cuda}; {}", one_line(&e))),
        None => (None, format!("auto: {no_cuda}; no OpenCL GPU is there")),
    }
}

/// The backend for such calls.
fn choose(machine: &impl Machine, mode: Mode, key_bits: KeyBits, bytes: u64) -> Backend {
    match machine.prefers_cuda(mode, key_bits, bytes) {
        Some(true) => Backend::Cuda { ordinal: 0 },
        None if machine.opencl_from().is_some_and(|from| bytes >= from) => {
            machine.first_of_opencl().unwrap_or(Backend::Cpu)
        }
        Some(false) | None => Backend::Cpu,
    }
}

fn one_line(error: &Error) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
}

struct ThisMachine {
    without_opencl: bool,
}

impl Machine for ThisMachine {
    #[cfg(feature = "cuda")]
    fn prefers_cuda(&self, mode: Mode, key_bits: KeyBits, bytes: u64) -> Option<bool> {
        crate::backend::cuda::select::tuning::tuning(0).ok().map(|tuning| tuning.prefers_cuda(mode, key_bits, bytes))
    }

    #[cfg(not(feature = "cuda"))]
    fn prefers_cuda(&self, _mode: Mode, _key_bits: KeyBits, _bytes: u64) -> Option<bool> {
        None
    }

    fn opencl_from(&self) -> Option<u64> {
        processor::gpu_is_faster_from().filter(|_| cfg!(feature = "opencl") && !self.without_opencl)
    }

    #[cfg(feature = "opencl")]
    fn first_of_opencl(&self) -> Option<Backend> {
        crate::backend::opencl::platforms::first_gpu()
    }

    #[cfg(not(feature = "opencl"))]
    fn first_of_opencl(&self) -> Option<Backend> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with or without a CUDA GPU, which is faster from 16 MiB on; the CPU has AES instructions or not.
    struct Fake {
        cuda: bool,
        aes: bool,
        opencl: Option<Option<Backend>>,
    }

    const GPU: Backend = Backend::OpenCl { platform: 1, device: 0 };

    impl Machine for Fake {
        fn prefers_cuda(&self, _mode: Mode, _key_bits: KeyBits, bytes: u64) -> Option<bool> {
            self.cuda.then_some(bytes >= 16 << 20)
        }

        fn opencl_from(&self) -> Option<u64> {
            processor::built_in_crossover(self.aes)
        }

        fn first_of_opencl(&self) -> Option<Backend> {
            self.opencl.expect("not to be looked for")
        }
    }

    fn chosen(machine: &Fake, bytes: u64) -> Backend {
        choose(machine, Mode::Ctr, KeyBits::Aes128, bytes)
    }

    #[test]
    fn a_cuda_gpu_is_taken_from_where_it_is_faster() {
        let machine = Fake { cuda: true, aes: false, opencl: None };
        assert_eq!(chosen(&machine, (16 << 20) - 1), Backend::Cpu);
        assert_eq!(chosen(&machine, 16 << 20), Backend::Cuda { ordinal: 0 });
    }

    #[test]
    fn opencl_is_looked_for_only_where_it_could_be_taken() {
        let without_cuda = |aes, opencl| Fake { cuda: false, aes, opencl };
        assert_eq!(chosen(&without_cuda(true, None), 1 << 40), Backend::Cpu);
        assert_eq!(chosen(&without_cuda(false, None), (1 << 20) - 1), Backend::Cpu);
        assert_eq!(chosen(&without_cuda(false, Some(Some(GPU))), 1 << 20), GPU);
        assert_eq!(chosen(&without_cuda(false, Some(None)), 1 << 20), Backend::Cpu);
    }

    #[test]
    fn the_first_that_opens_is_taken_and_the_reason_told() {
        let first = |machine: &Fake, opens: &[Backend]| {
            let open = |backend| {
                if opens.contains(&backend) { Ok(backend) } else { Err(Error::NotBuilt { what: "it", feature: "x" }) }
            };
            let (opened, why) = first(machine, open);
            assert!(why.starts_with("auto: ") && !why.contains('\n'), "{why}");
            opened
        };
        let cuda = Backend::Cuda { ordinal: 0 };
        let machine = |aes, opencl| Fake { cuda: true, aes, opencl };
        assert_eq!(first(&machine(true, None), &[cuda, GPU]), Some(cuda));
        assert_eq!(first(&machine(true, None), &[GPU]), None);
        assert_eq!(first(&machine(false, Some(Some(GPU))), &[GPU]), Some(GPU));
        assert_eq!(first(&machine(false, Some(Some(GPU))), &[]), None);
        assert_eq!(first(&machine(false, Some(None)), &[GPU]), None);
    }
}
