//! The engines that are measured, and which of them are devices.

use aes_bitslice_runtime::{self as runtime, Backend, Engine};

use crate::args::bench::TransferArgs;
use crate::error::Result;

/// The requested engines; or all that open, and why the others do not.
pub fn open(backends: Option<&[Backend]>, transfers: TransferArgs) -> Result<(Vec<Engine>, Vec<String>)> {
    let open = |backend| Ok(Engine::open(backend)?.with_transfers(transfers.transfers()));
    if let Some(backends) = backends {
        let engines =
            backends.iter().map(|&backend| open(backend)).collect::<std::result::Result<_, runtime::Error>>()?;
        return Ok((engines, Vec::new()));
    }
    let (mut engines, mut skipped) = (Vec::new(), Vec::new());
    let first = [Backend::Cuda { ordinal: 0 }].into_iter().chain(runtime::opencl::first_gpu());
    for backend in first.chain([Backend::Cpu, Backend::CpuBitsliced]) {
        match open(backend) {
            Ok(engine) => engines.push(engine),
            Err(error) => skipped.push(format!("{backend}: {error}")),
        }
    }
    Ok((engines, skipped))
}

/// Whether it is a CUDA GPU, or several: with links, pinned memory, and kernels to choose from.
pub fn is_gpu(engine: &Engine) -> bool {
    engine.backend().is_cuda()
}

/// Whether it is one device, or several, through CUDA or OpenCL.
pub fn is_device(engine: &Engine) -> bool {
    engine.backend().is_cuda() || engine.backend().is_opencl()
}
