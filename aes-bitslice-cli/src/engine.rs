//! From `--backend`, `--device` and `--kernel` to an open engine.

use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode, Shares, cuda};

use crate::args::{BackendName, Devices, EngineArgs, KernelName};
use crate::error::{Error, Result, warn};

/// What an engine is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Blocks side by side, which every engine does: so many bytes in host memory a call.
    Parallel { mode: Mode, key_bits: KeyBits, bytes: u64 },
    /// A kernel with a key baked in, which only a GPU runs.
    Baked,
    /// One block after the other, which the CPU does.
    Serial,
}

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs, work: Work, quiet: bool) -> Result<Engine> {
    let on_cpu = matches!(args.backend, BackendName::Cpu | BackendName::CpuBitsliced);
    if on_cpu && work == Work::Baked {
        return Err(Error::usage("--baked needs a GPU; use --backend cuda, or a key"));
    }
    if on_cpu && args.device.is_some() {
        return Err(Error::usage("--device picks GPUs; leave it out, or use --backend cuda"));
    }
    if on_cpu && args.kernel != KernelName::Auto {
        return Err(Error::usage("--kernel picks a kernel of a GPU; leave it out, or use --backend cuda"));
    }
    let is_automatic = args.backend == BackendName::Auto && args.device.is_none();
    let devices = args.device.as_ref();
    let first = match devices {
        Some(Devices::These(ordinals)) => ordinals[0],
        Some(Devices::All) | None => 0,
    };
    // What was measured decides for calls of any size and mode: not for a kernel with a key, nor for the CPU.
    let tuning = match work {
        Work::Parallel { .. } if !on_cpu => cuda::tuning(first).ok(),
        _ => None,
    };
    let engine = match (args.backend, devices) {
        (BackendName::Cpu, _) => Engine::open(Backend::Cpu),
        (BackendName::CpuBitsliced, _) => Engine::open(Backend::CpuBitsliced),
        (BackendName::Auto, None) => Engine::open(automatic(work, tuning.as_ref())),
        (BackendName::Cuda, None) => Engine::open(Backend::Cuda { ordinal: 0 }),
        (_, Some(Devices::All)) => Engine::open(Backend::CudaAll),
        (_, Some(Devices::These(ordinals))) => Engine::multi(ordinals, Shares::default()),
    };
    let engine = engine?.with_kernels(args.kernel.kernels());
    // Where a GPU is asked for, only what is known of its kernels counts, which is in use if there is a file.
    let matters = |tuning: &&cuda::Tuning| !quiet && (is_automatic || tuning.file().is_none());
    if let Some(warning) = tuning.as_ref().filter(matters).and_then(cuda::Tuning::warning) {
        warn(warning);
    }
    if args.kernel != KernelName::Auto && !quiet && !engine.backend().is_cuda() {
        warn("--kernel has no effect: the CPU does this; to have a GPU do what it can, use --backend cuda");
    }
    Ok(engine)
}

/// What `auto` takes. Where the CPU is faster, the GPU is not opened: that takes longer than most files do.
fn automatic(work: Work, tuning: Option<&cuda::Tuning>) -> Backend {
    match work {
        Work::Baked => Backend::Cuda { ordinal: 0 },
        Work::Serial => Backend::Cpu,
        Work::Parallel { mode, key_bits, bytes } => match tuning {
            Some(tuning) if !tuning.prefers_cuda(mode, key_bits, bytes) => Backend::Cpu,
            // Without a GPU, it says so.
            _ => Backend::Auto,
        },
    }
}
