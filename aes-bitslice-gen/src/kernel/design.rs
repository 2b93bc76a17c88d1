//! Everything that can be printed and launched in the same way.

use super::spec::{KernelSpec, Mode};
use crate::aes::KeySchedule;
use crate::table::{Bytewise, ConflictFree, TableSpec};

/// A kernel to print.
#[derive(Clone, Debug)]
pub enum Design {
    /// The cipher as circuits on bit-planes: constant-time.
    Bitsliced(KernelSpec),
    /// The cipher as look-ups in tables: not constant-time.
    Table(TableSpec),
    /// The same, with a copy of the tables for each lane of a warp.
    ConflictFree(ConflictFree),
    /// The cipher as the standard has it, byte by byte: not constant-time.
    Bytewise(Bytewise),
}

impl Design {
    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        match self {
            Self::Bitsliced(spec) => spec.name(),
            Self::Table(spec) => spec.name(),
            Self::ConflictFree(spec) => spec.name(),
            Self::Bytewise(spec) => spec.name(),
        }
    }

    /// The mode and direction.
    pub fn mode(&self) -> Mode {
        match self {
            Self::Bitsliced(spec) => spec.mode,
            Self::Table(spec) => spec.mode(),
            Self::ConflictFree(spec) => spec.mode,
            Self::Bytewise(spec) => spec.mode(),
        }
    }

    /// The round keys that are baked in, if any.
    pub fn baked(&self) -> Option<&KeySchedule> {
        match self {
            Self::Bitsliced(spec) => spec.round_keys.baked(),
            Self::Table(_) | Self::ConflictFree(_) | Self::Bytewise(_) => None,
        }
    }
}

impl From<KernelSpec> for Design {
    fn from(spec: KernelSpec) -> Self {
        Self::Bitsliced(spec)
    }
}

impl From<TableSpec> for Design {
    fn from(spec: TableSpec) -> Self {
        Self::Table(spec)
    }
}

impl From<ConflictFree> for Design {
    fn from(spec: ConflictFree) -> Self {
        Self::ConflictFree(spec)
    }
}

impl From<Bytewise> for Design {
    fn from(spec: Bytewise) -> Self {
        Self::Bytewise(spec)
    }
}
