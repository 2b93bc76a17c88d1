//! Round keys in the form that kernels take: with the launch, or in device memory.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::base::error::Error;
use aes_bitslice_core::layout::PLANES;
use cudarc::driver::sys::CUdeviceptr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Round keys in the form that a kernel is launched with.
pub(crate) enum RoundKeys {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// The two keys of XTS, which also travel with the launch.
    Two { data: Zeroizing<Vec<u32>>, tweaks: Zeroizing<Vec<u32>> },
    /// Their bit-planes are in device memory, which outlives the launches that are given it.
    Memory { planes: KeyMemory, rounds: u32 },
}

impl RoundKeys {
    /// For a kernel that reads their bit-planes in the memory of the device, whose context was entered on this thread.
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

    /// The words of the tweak key; `None` if there is none.
    pub(crate) fn tweak_words(&self) -> Option<&[u32]> {
        match self {
            Self::Two { tweaks, .. } => Some(tweaks),
            Self::Argument(_) | Self::Memory { .. } => None,
        }
    }

    /// The address of the bit-planes; `None` if the keys travel with the launch.
    pub(crate) fn planes(&self) -> Option<CUdeviceptr> {
        match self {
            Self::Argument(_) | Self::Two { .. } => None,
            Self::Memory { planes, .. } => Some(planes.pointer()),
        }
    }

    /// The number of rounds, where it is a separate argument.
    pub(crate) fn rounds(&self) -> Option<&u32> {
        match self {
            Self::Argument(_) | Self::Two { .. } => None,
            Self::Memory { rounds, .. } => Some(rounds),
        }
    }
}
