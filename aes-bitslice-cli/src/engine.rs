//! From `--backend`, `--device` and `--kernel` to an open engine.

use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode, Shares, cuda, opencl};

use crate::args::{Devices, EngineArgs, KernelName};
use crate::error::{Error, Result, warn};

/// What an engine is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Blocks side by side, which every engine does: so many bytes in host memory a call.
    Parallel { mode: Mode, key_bits: KeyBits, bytes: u64 },
    /// A kernel with a key baked in, which this backend runs, or another of its kind.
    Baked(Backend),
    /// One block after the other, which the CPU does.
    Serial,
}

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs, work: Work, quiet: bool) -> Result<Engine> {
    let on_cpu = matches!(args.backend, Backend::Cpu | Backend::CpuBitsliced);
    if let Work::Baked(backend) = work {
        let asks_for_cuda = args.backend.is_cuda() || args.device.is_some();
        if on_cpu || (args.backend.is_opencl() && backend.is_cuda()) || (asks_for_cuda && backend.is_opencl()) {
            return Err(Error::usage(format!(
                "the kernel of --baked is for {backend}; use --backend {backend}, or a key"
            )));
        }
    }
    match args.device {
        Some(_) if on_cpu || args.backend.is_opencl() => {
            let message = "--device picks CUDA GPUs; leave it out (`--backend opencl:P.D` picks a device of OpenCL's), or use \
                           --backend cuda";
            return Err(Error::usage(message));
        }
        Some(_) if !matches!(args.backend, Backend::Auto | Backend::Cuda { ordinal: 0 }) => {
            let message = format!("--backend {} and --device both pick GPUs; give one of them", args.backend);
            return Err(Error::usage(message));
        }
        _ => {}
    }
    if (on_cpu || args.backend.is_opencl()) && args.kernel != KernelName::Auto {
        return Err(Error::usage("--kernel picks a kernel of a CUDA GPU; leave it out, or use --backend cuda"));
    }
    let is_automatic = args.backend == Backend::Auto && args.device.is_none();
    let first = match (&args.device, args.backend) {
        (Some(Devices::These(ordinals)), _) => ordinals[0],
        (None, Backend::Cuda { ordinal }) => ordinal,
        _ => 0,
    };
    // What was measured decides for calls of any size and mode: not for a kernel with a key, nor for what is not CUDA's.
    let tuning = match work {
        Work::Parallel { .. } if is_automatic || args.device.is_some() || args.backend.is_cuda() => {
            cuda::tuning(first).ok()
        }
        _ => None,
    };
    let engine = match (args.backend, &args.device) {
        (_, Some(Devices::All)) => Engine::open(Backend::CudaAll),
        (_, Some(Devices::These(ordinals))) => Engine::multi(ordinals, Shares::default()),
        (Backend::Auto, None) => {
            let prefers_cuda =
                |mode, key_bits, bytes| tuning.as_ref().map(|tuning| tuning.prefers_cuda(mode, key_bits, bytes));
            // Which has no kernels to choose from.
            let opencl_gpu = || (args.kernel == KernelName::Auto).then(opencl::first_gpu).flatten();
            match automatic(work, prefers_cuda, opencl_gpu) {
                Automatic::Only(backend) => Engine::open(backend),
                Automatic::IfItOpens(backend) => Engine::open(backend).or_else(|_| Engine::open(Backend::Cpu)),
            }
        }
        (backend, None) => Engine::open(backend),
    };
    let engine = engine?.with_kernels(args.kernel.kernels());
    // Where a GPU is asked for, only what is known of its kernels counts, which is in use if there is a file.
    let matters = |tuning: &&cuda::Tuning| !quiet && (is_automatic || tuning.file().is_none());
    if let Some(warning) = tuning.as_ref().filter(matters).and_then(cuda::Tuning::warning) {
        warn(warning);
    }
    if args.kernel != KernelName::Auto && !quiet && !engine.backend().is_cuda() {
        warn("--kernel has no effect: no CUDA GPU does this; to have one do what it can, use --backend cuda");
    }
    Ok(engine)
}

/// The GPU that is used where none is named.
const GPU: Backend = Backend::Cuda { ordinal: 0 };

/// What `auto` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Automatic {
    /// This, or it fails.
    Only(Backend),
    /// This, or the CPU.
    IfItOpens(Backend),
}

/// What `auto` takes for all of the work, once: the calls, each on a piece of it, are not asked about again, as they would be
/// with an engine opened as [`Backend::Auto`]. `prefers_cuda` tells where the CUDA GPU is faster, and nothing if there is none;
/// then `opencl_gpu` is looked for, if there is enough to do. Where the CPU is faster no GPU is opened: that takes longer than
/// most files do.
fn automatic(
    work: Work,
    prefers_cuda: impl Fn(Mode, KeyBits, u64) -> Option<bool>,
    opencl_gpu: impl Fn() -> Option<Backend>,
) -> Automatic {
    match work {
        Work::Baked(backend) => Automatic::Only(backend),
        Work::Parallel { mode, key_bits, bytes } => match prefers_cuda(mode, key_bits, bytes) {
            Some(true) => Automatic::IfItOpens(GPU),
            None if bytes >= opencl::SMALLEST_CALL => {
                opencl_gpu().map_or(Automatic::Only(Backend::Cpu), Automatic::IfItOpens)
            }
            Some(false) | None => Automatic::Only(Backend::Cpu),
        },
        Work::Serial => Automatic::Only(Backend::Cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU that is faster from 16 MiB on, of data that is brought to it 4 MiB at a time.
    #[test]
    fn auto_decides_once_and_for_all() {
        let from_16_mib = |_, _, bytes| Some(bytes >= 16 << 20);
        let not_asked = || panic!("there is a CUDA GPU");
        let work = |bytes| Work::Parallel { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes };
        assert_eq!(automatic(work((16 << 20) - 1), from_16_mib, not_asked), Automatic::Only(Backend::Cpu));
        assert_eq!(automatic(work(16 << 20), from_16_mib, not_asked), Automatic::IfItOpens(GPU));
        assert_eq!(automatic(work(u64::MAX), |_, _, _| Some(false), not_asked), Automatic::Only(Backend::Cpu));
        // One is serial, the others a device's alone.
        assert_eq!(automatic(Work::Serial, |_, _, _| Some(true), not_asked), Automatic::Only(Backend::Cpu));
        for backend in [GPU, Backend::OpenClFirst] {
            assert_eq!(automatic(Work::Baked(backend), |_, _, _| Some(true), not_asked), Automatic::Only(backend));
        }
    }

    #[test]
    fn auto_takes_opencl_where_there_is_no_cuda() {
        let work = |bytes| Work::Parallel { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes };
        let gpu = Backend::OpenCl { platform: 1, device: 0 };
        let small = automatic(work(opencl::SMALLEST_CALL - 1), |_, _, _| None, || panic!("it is not worth a look"));
        assert_eq!(small, Automatic::Only(Backend::Cpu));
        let large = work(opencl::SMALLEST_CALL);
        assert_eq!(automatic(large, |_, _, _| None, || Some(gpu)), Automatic::IfItOpens(gpu));
        assert_eq!(automatic(large, |_, _, _| None, || None), Automatic::Only(Backend::Cpu));
    }
}
