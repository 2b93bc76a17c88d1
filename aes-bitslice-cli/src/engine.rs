//! From `--backend` and `--device` to an open engine.

use aes_bitslice_runtime::{Backend, Engine};

use crate::args::{BackendName, EngineArgs};
use crate::error::{Error, Result};

/// Opens the engine that the options ask for.
pub fn open(args: &EngineArgs) -> Result<Engine> {
    let backend = match (args.backend, args.device) {
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
