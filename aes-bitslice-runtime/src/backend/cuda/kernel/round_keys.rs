//! Round keys as kernels take them: with the launch, or in memory of the device.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::base::error::Error;
use aes_bitslice_core::layout::PLANES;
use cudarc::driver::sys::CUdeviceptr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Round keys as a kernel is launched with them.
pub(crate) enum RoundKeys {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// So do those of a key of XTS.
    Two { data: Zeroizing<Vec<u32>>, tweaks: Zeroizing<Vec<u32>> },
    /// Their planes lie in memory of the device, which outlives the launches that are given it.
    Memory { planes: KeyMemory, rounds: u32 },
}

impl RoundKeys {
    /// For a kernel that reads their planes in memory of the device, whose context was entered on this thread.
    pub(crate) fn in_memory(context: &Arc<Context>, planes: &[u32]) -> Result<Self, Error> {
        Ok(Self::Memory { planes: KeyMemory::new(context, planes)?, rounds: (planes.len() / PLANES) as u32 - 1 })
    }

    /// The words that travel with a launch; `None` if none do.
    pub(crate) fn words(&self) -> Option<&[u32]> {
        match self {
            Self::Argument(words) | Self::Two { data: words, .. } => Some(words),
            Self::Memory { .. } => None,
        }
    }

    /// Those of the key of tweaks; `None` if there is none.
    pub(crate) fn tweak_words(&self) -> Option<&[u32]> {
        match self {
            Self::Two { tweaks, .. } => Some(tweaks),
            Self::Argument(_) | Self::Memory { .. } => None,
        }
    }

    /// Where the planes lie; `None` if the keys travel with the launch.
    pub(crate) fn planes(&self) -> Option<CUdeviceptr> {
        match self {
            Self::Argument(_) | Self::Two { .. } => None,
            Self::Memory { planes, .. } => Some(planes.pointer()),
        }
    }

    /// The number of rounds, where it is an argument of its own.
    pub(crate) fn rounds(&self) -> Option<&u32> {
        match self {
            Self::Argument(_) | Self::Two { .. } => None,
            Self::Memory { rounds, .. } => Some(rounds),
        }
    }
}
