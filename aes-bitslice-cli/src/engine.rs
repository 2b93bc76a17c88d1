//! From `--backend`, `--device` and `--kernel` to an open engine.

use aes_bitslice_runtime::Error::CudaUnavailable;
use aes_bitslice_runtime::cuda::{self, Shares};
use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode};

use crate::args::engine::{Devices, EngineArgs, KernelName};
use crate::error::{Error, Exit, Result, warn};

/// The work that an engine is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Calls on `bytes` bytes in host memory each, for which there are kernels.
    Calls { mode: Mode, key_bits: KeyBits, bytes: u64 },
    /// The kernel of this option, which this backend runs, or another of its kind.
    Kernel(&'static str, Backend),
    /// Work that the CPU does on every engine.
    OnCpu,
}

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs, work: Work, quiet: bool) -> Result<Engine> {
    check(args, work)?;
    let is_automatic = args.backend.backend == Backend::Auto && args.device.is_none();
    let engine = match (args.backend.backend, &args.device) {
        (_, Some(Devices::All)) => Engine::open(Backend::CudaAll),
        (_, Some(Devices::These(ordinals))) => Engine::multi(ordinals, Shares::default()),
        (Backend::Auto, None) => match work {
            Work::Calls { mode, key_bits, bytes } => {
                // OpenCL has no kernels to choose from.
                Engine::open_for(mode, key_bits, bytes, args.kernel != KernelName::Auto)
            }
            Work::Kernel(_, backend) => Engine::open(backend),
            Work::OnCpu => Engine::open(Backend::Cpu),
        },
        (backend, None) => Engine::open(backend),
    };
    let engine = engine.map_err(|error| match (work, error) {
        (Work::Kernel(option, _), CudaUnavailable { what, help }) => {
            // No other backend would do.
            let message = format!(
                "CUDA is not available, which the kernel of {option} is for: {what}; {help}, or give the key with \
                 --key-file alone"
            );
            Error::new(Exit::Gpu, message)
        }
        (_, error) => error.into(),
    });
    let engine = engine?.with_kernels(args.kernel.kernels());
    if quiet {
        return Ok(engine);
    }
    // Measurements decide for calls of any size and mode: not for a kernel with a key, nor for engines other than CUDA.
    let goes_by_tuning =
        matches!(work, Work::Calls { .. }) && (is_automatic || args.device.is_some() || args.backend.backend.is_cuda());
    if goes_by_tuning && let Ok(tuning) = cuda::tuning(first_gpu(args)) {
        // If a GPU is requested, only the tuning of its kernels counts, which is in use if there is a file.
        let matters = is_automatic || tuning.file().is_none();
        tuning.warning().filter(|_| matters).into_iter().for_each(warn);
    }
    if args.kernel != KernelName::Auto && !engine.backend().is_cuda() {
        warn("--kernel has no effect: no CUDA GPU is used; to use one, add --backend cuda");
    }
    Ok(engine)
}

/// Refuses options that contradict each other, or the work.
fn check(args: &EngineArgs, work: Work) -> Result<()> {
    let asked = args.backend.backend;
    let on_cpu = matches!(asked, Backend::Cpu | Backend::CpuBitsliced);
    if let Work::Kernel(option, backend) = work {
        let asks_for_cuda = asked.is_cuda() || args.device.is_some();
        if on_cpu || (asked.is_opencl() && backend.is_cuda()) || (asks_for_cuda && backend.is_opencl()) {
            return Err(Error::usage(format!(
                "the kernel of {option} is for {backend}; leave --backend and --device out, or give the key with --key-file \
                 alone"
            )));
        }
    }
    match args.device {
        Some(_) if on_cpu || asked.is_opencl() => {
            let message = "--device picks CUDA GPUs; leave it out (`--backend opencl:P.D` picks an OpenCL device), or use \
                           --backend cuda";
            return Err(Error::usage(message));
        }
        Some(_) if args.backend.is_numbered => {
            let name = match asked {
                Backend::Cuda { ordinal } => format!("cuda:{ordinal}"),
                other => other.to_string(),
            };
            let message = format!("--backend {name} and --device both pick GPUs; give one of them");
            return Err(Error::usage(message));
        }
        _ => {}
    }
    if (on_cpu || asked.is_opencl()) && args.kernel != KernelName::Auto {
        return Err(Error::usage("--kernel picks a kernel of a CUDA GPU; leave it out, or use --backend cuda"));
    }
    Ok(())
}

/// The number of the first CUDA GPU that is used.
fn first_gpu(args: &EngineArgs) -> usize {
    match (&args.device, args.backend.backend) {
        (Some(Devices::These(ordinals)), _) => ordinals[0],
        (None, Backend::Cuda { ordinal }) => ordinal,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::engine::BackendName;

    fn args(backend: Backend) -> EngineArgs {
        let backend = BackendName { backend, is_numbered: false };
        EngineArgs { backend, device: None, kernel: KernelName::Auto }
    }

    /// Naming the first GPU by its number is a choice like any other.
    #[test]
    fn a_gpu_is_picked_once() {
        for (backend, device, fits) in [
            ("cuda", "1", true),
            ("auto", "0,1", true),
            ("cuda:0", "1", false),
            ("cuda:0", "0", false),
            ("cuda:1", "0", false),
            ("cuda:all", "all", false),
            ("opencl", "0", false),
            ("cpu", "0", false),
        ] {
            let device = Some(match device {
                "all" => Devices::All,
                numbers => Devices::These(numbers.split(',').map(|number| number.parse().unwrap()).collect()),
            });
            let args = EngineArgs { backend: backend.parse().unwrap(), device, kernel: KernelName::Auto };
            assert_eq!(check(&args, Work::OnCpu).is_ok(), fits, "{args:?}");
        }
    }

    /// Work that no GPU does opens none, whether there is one or not.
    #[test]
    fn auto_takes_the_cpu_for_what_it_does_on_every_engine() {
        let engine = open(&args(Backend::Auto), Work::OnCpu, true).unwrap();
        assert_eq!(engine.backend(), Backend::Cpu);
    }

    #[test]
    fn a_kernel_with_a_key_runs_on_its_own_kind_of_backend() {
        let (cuda, opencl) = (Backend::Cuda { ordinal: 0 }, Backend::OpenClFirst);
        for (asked, of_kernel, fits) in [
            (Backend::Auto, cuda, true),
            (Backend::Auto, opencl, true),
            (Backend::CudaAll, cuda, true),
            (Backend::OpenCl { platform: 1, device: 0 }, opencl, true),
            (cuda, opencl, false),
            (opencl, cuda, false),
            (Backend::Cpu, cuda, false),
            (Backend::CpuBitsliced, opencl, false),
        ] {
            assert_eq!(
                check(&args(asked), Work::Kernel("--baked", of_kernel)).is_ok(),
                fits,
                "{asked} for {of_kernel}"
            );
        }
    }

    #[test]
    fn the_first_gpu_is_the_one_that_is_named_first() {
        for (backend, device, first) in [
            (Backend::Auto, Some(Devices::These(vec![2, 1])), 2),
            (Backend::Cuda { ordinal: 3 }, None, 3),
            (Backend::CudaAll, Some(Devices::All), 0),
            (Backend::Auto, None, 0),
        ] {
            assert_eq!(first_gpu(&EngineArgs { device, ..args(backend) }), first);
        }
    }
}
