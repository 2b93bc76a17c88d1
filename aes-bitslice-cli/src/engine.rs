//! From `--backend` and `--device` to an open engine.

use aes_bitslice_runtime::{Backend, Engine};

use crate::args::{BackendName, EngineArgs};
use crate::error::{Error, Result};

/// Opens the engine that the options ask for; `baked` says that it is to run a kernel with a key baked in, as only a
/// GPU can.
pub fn open(args: &EngineArgs, baked: bool) -> Result<Engine> {
    let backend = match (args.backend, args.device) {
        (BackendName::Auto, None) if baked => Backend::Cuda { ordinal: 0 },
        (BackendName::Cpu | BackendName::CpuBitsliced, _) if baked => {
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
