//! From `--backend` and `--device` to an open engine.

use aes_bitslice_runtime::{Backend, Engine};

use crate::args::{BackendName, EngineArgs};
use crate::error::{Error, Result};

/// What an engine is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Blocks side by side, which every engine does.
    Any,
    /// A kernel with a key baked in, which only a GPU runs.
    Baked,
    /// One block after the other, for which no GPU need be woken.
    Serial,
}

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs, work: Work) -> Result<Engine> {
    let backend = match (args.backend, args.device) {
        (BackendName::Auto, None) if work == Work::Baked => Backend::Cuda { ordinal: 0 },
        (BackendName::Auto, None) if work == Work::Serial => Backend::Cpu,
        (BackendName::Cpu | BackendName::CpuBitsliced, _) if work == Work::Baked => {
            return Err(Error::usage("--kernel needs a GPU; use --backend cuda, or a key"));
        }
        (BackendName::Auto, None) => Backend::Auto,
        (BackendName::Auto | BackendName::Cuda, ordinal) => Backend::Cuda { ordinal: ordinal.unwrap_or(0) },
        (BackendName::Cpu, None) => Backend::Cpu,
        (BackendName::CpuBitsliced, None) => Backend::CpuBitsliced,
        (BackendName::Cpu | BackendName::CpuBitsliced, Some(_)) => {
            return Err(Error::usage("--device picks a GPU; leave it out, or use --backend cuda"));
        }
    };
    Ok(Engine::open(backend)?)
}
