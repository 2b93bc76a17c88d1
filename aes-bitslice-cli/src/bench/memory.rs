//! Where an engine has data, besides host memory.

use std::time::Duration;

use aes_bitslice_runtime::{Backend, Cipher, Engine};

use super::case::Case;
use super::host_data::HostData;
use super::sizes::Sizes;
use super::{cuda, opencl, sharded};
use crate::args::bench::Timing;
use crate::error::Result;

/// Memory of devices.
pub enum Memory {
    None,
    /// Of a CUDA GPU.
    Cuda(cuda::Memory),
    /// Sharded over several, made for each case.
    Sharded,
    /// Of an OpenCL device.
    OpenCl(opencl::Memory),
}

impl Memory {
    /// The memory that the sizes need; the host has `host` bytes of the input.
    pub fn new(engine: &Engine, host: usize, sizes: &Sizes) -> Result<Self> {
        let bytes = sizes.largest_on_device();
        Ok(match engine.backend() {
            Backend::Cuda { .. } => Self::Cuda(cuda::Memory::random(engine, bytes)?),
            Backend::CudaAll => Self::Sharded,
            backend if backend.is_opencl() && sizes.is_on_device() => {
                Self::OpenCl(opencl::Memory::new(engine, host, bytes)?)
            }
            _ => Self::None,
        })
    }

    /// Whether it belongs to one device.
    pub fn is_of_one(&self) -> bool {
        matches!(self, Self::Cuda(_) | Self::OpenCl(_))
    }

    /// Whether all operations run on it: sharded memory and OpenCL buffers have no keys of one call, and no batches.
    pub fn takes_all_operations(&self) -> bool {
        !matches!(self, Self::Sharded | Self::OpenCl(_))
    }

    /// The time of each run of a case; `None` if there is no such memory, no stream, or no such description.
    pub fn time(
        &mut self,
        case: &Case,
        cipher: &Cipher,
        timing: Timing,
        data: &mut HostData,
    ) -> Result<Option<Vec<Duration>>> {
        match self {
            Self::None => Ok(None),
            Self::Cuda(memory) => memory.time_case(case, cipher, timing, data),
            Self::Sharded | Self::OpenCl(_) if timing != Timing::Device => Ok(None),
            Self::Sharded => sharded::time(case, cipher, data).map(Some),
            Self::OpenCl(memory) => memory.time(case, cipher, data).map(Some),
        }
    }
}
