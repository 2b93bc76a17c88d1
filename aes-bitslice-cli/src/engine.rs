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
        (BackendName::Auto, None) => {
            let prefers_cuda = |mode, key_bits, bytes| {
                tuning.as_ref().is_some_and(|tuning| tuning.prefers_cuda(mode, key_bits, bytes))
            };
            match automatic(work, prefers_cuda) {
                Automatic::Only(backend) => Engine::open(backend),
                Automatic::IfItOpens(backend) => Engine::open(backend).or_else(|_| Engine::open(Backend::Cpu)),
            }
        }
        (BackendName::Cuda, None) => Engine::open(GPU),
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
/// with an engine opened as [`Backend::Auto`]. `prefers_cuda` tells where the GPU is faster, and of no size if there is none.
/// Where the CPU is, the GPU is not opened: that takes longer than most files do.
fn automatic(work: Work, prefers_cuda: impl Fn(Mode, KeyBits, u64) -> bool) -> Automatic {
    match work {
        Work::Baked => Automatic::Only(GPU),
        Work::Parallel { mode, key_bits, bytes } if prefers_cuda(mode, key_bits, bytes) => Automatic::IfItOpens(GPU),
        Work::Parallel { .. } | Work::Serial => Automatic::Only(Backend::Cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU that is faster from 16 MiB on, of data that is brought to it 4 MiB at a time.
    #[test]
    fn auto_decides_once_and_for_all() {
        let from_16_mib = |_, _, bytes| bytes >= 16 << 20;
        let work = |bytes| Work::Parallel { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes };
        assert_eq!(automatic(work((16 << 20) - 1), from_16_mib), Automatic::Only(Backend::Cpu));
        assert_eq!(automatic(work(16 << 20), from_16_mib), Automatic::IfItOpens(GPU));
        assert_eq!(automatic(work(u64::MAX), |_, _, _| false), Automatic::Only(Backend::Cpu));
        // One is serial, the other a GPU's alone.
        assert_eq!(automatic(Work::Serial, |_, _, _| true), Automatic::Only(Backend::Cpu));
        assert_eq!(automatic(Work::Baked, |_, _, _| false), Automatic::Only(GPU));
    }
}
