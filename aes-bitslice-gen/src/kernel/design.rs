//! All kernels that are printed and launched in the same way.

use super::spec::KernelSpec;
use crate::table::conflict_free::spec::ConflictFree;
use aes_bitslice_core::aes::KeySchedule;
use aes_bitslice_core::mode::Mode;

/// A kernel to print.
#[derive(Clone, Debug)]
pub enum Design {
    /// The cipher as circuits on bit-planes: constant-time.
    Bitsliced(KernelSpec),
    /// The cipher as table look-ups, with a copy of the tables for each lane of a warp: not constant-time.
    ConflictFree(ConflictFree),
}

impl Design {
    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        match self {
            Self::Bitsliced(spec) => spec.name(),
            Self::ConflictFree(spec) => spec.name(),
        }
    }

    /// The mode and direction.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Bitsliced(spec) => spec.mode,
            Self::ConflictFree(spec) => spec.mode(),
        }
    }

    /// The round keys that are baked in, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Bitsliced(spec) => spec.round_keys.baked(),
            Self::ConflictFree(_) => None,
        }
    }
}

impl From<KernelSpec> for Design {
    fn from(spec: KernelSpec) -> Self {
        Self::Bitsliced(spec)
    }
}

impl From<ConflictFree> for Design {
    fn from(spec: ConflictFree) -> Self {
        Self::ConflictFree(spec)
    }
}
