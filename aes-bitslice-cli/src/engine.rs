//! From `--backend`, `--device` and `--kernel` to an open engine.

use aes_bitslice_runtime::{Backend, Engine, KeyBits, Mode, cuda};

use crate::args::{BackendName, EngineArgs, KernelName};
use crate::error::{Error, Result, warn};

/// What an engine is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Blocks side by side, which every engine does: so many bytes in host memory a call.
    Parallel { mode: Mode, key_bits: KeyBits, bytes: u64 },
    /// A kernel with a key baked in, which only a GPU runs.
    Baked,
    /// One block after the other, for which no GPU need be woken.
    Serial,
}

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs, work: Work, quiet: bool) -> Result<Engine> {
    let on_cpu = matches!(args.backend, BackendName::Cpu | BackendName::CpuBitsliced);
    if on_cpu && work == Work::Baked {
        return Err(Error::usage("--baked needs a GPU; use --backend cuda, or a key"));
    }
    if on_cpu && args.device.is_some() {
        return Err(Error::usage("--device picks a GPU; leave it out, or use --backend cuda"));
    }
    if on_cpu && args.kernel != KernelName::Auto {
        return Err(Error::usage("--kernel picks a kernel of a GPU; leave it out, or use --backend cuda"));
    }
    let backend = match (args.backend, args.device) {
        (BackendName::Auto, None) => automatic(work),
        (BackendName::Auto | BackendName::Cuda, ordinal) => Backend::Cuda { ordinal: ordinal.unwrap_or(0) },
        (BackendName::Cpu, _) => Backend::Cpu,
        (BackendName::CpuBitsliced, _) => Backend::CpuBitsliced,
    };
    let engine = Engine::open(backend)?.with_kernels(args.kernel.kernels());
    if let Some(warning) = engine.tuning().and_then(cuda::Tuning::warning).filter(|_| !quiet) {
        warn(warning);
    }
    Ok(engine)
}

/// What `auto` takes. Where the CPU is faster, the GPU is not even woken: that takes longer than most files do.
fn automatic(work: Work) -> Backend {
    match work {
        Work::Baked => Backend::Cuda { ordinal: 0 },
        Work::Serial => Backend::Cpu,
        Work::Parallel { mode, key_bits, bytes } => match cuda::tuning(0) {
            Ok(tuning) if !tuning.prefers_cuda(mode, key_bits, bytes) => Backend::Cpu,
            // Without a GPU, it says so.
            _ => Backend::Auto,
        },
    }
}
