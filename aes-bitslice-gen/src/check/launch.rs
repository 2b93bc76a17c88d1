//! A launch of a printed kernel on the CPU.

use aes_bitslice_core::reference::Units;
use std::fmt;

/// How a launch reaches its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The entry point for whole blocks, aligned to 16 bytes.
    Aligned,
    /// The entry point for bytes: the offsets of input and output past a multiple of 16, in bytes, below 16. In place, the output's offset
    /// counts.
    Bytes {
        /// The input's offset.
        input: usize,
        /// The output's offset.
        output: usize,
    },
}

/// One launch of a kernel over a grid that covers the data. Values that its entry point does not take are ignored.
#[derive(Clone, Copy)]
pub struct Launch<'a> {
    /// The entry point and the alignment.
    pub access: Access,
    /// Whether the output replaces the input.
    pub in_place: bool,
    /// Counter mode: the counter block of the first block; CBC: the IV. As a big-endian number.
    pub start: u128,
    /// Counter mode, by bytes: the position in the first block of key stream where the data begins, below 16.
    pub skip: usize,
    /// The words of the key ([`key_words`](aes_bitslice_core::manifest::Manifest::key_words)); empty for a kernel with a key baked in.
    pub key: &'a [u32],
    /// Additional values for a mode with tweaks; `None` for other modes.
    pub tweaks: Option<Tweaks<'a>>,
    /// Tiles per thread block: 1, or more where the grid need not cover all.
    pub tiles: usize,
    /// Warps per thread block, for [`Grid::Warps`](aes_bitslice_core::grid::Grid::Warps); limited to the maximum.
    pub warps: usize,
    /// The input; for a kernel that only writes, only its length counts. Whole blocks unless the entry point takes any length.
    pub data: &'a [u8],
}

/// Additional values of a launch of a mode with tweaks.
#[derive(Clone, Copy)]
pub struct Tweaks<'a> {
    /// The data units.
    pub units: Units,
    /// The words of the tweak key ([`tweak_words`](aes_bitslice_core::key_source::ExpandedKey::tweak_words)).
    pub key: &'a [u32],
}

impl<'a> Launch<'a> {
    /// The values of a mode with tweaks.
    pub(super) fn tweaks(&self) -> Tweaks<'a> {
        self.tweaks.expect("checked before")
    }

    /// The number of blocks of 16 bytes that the data is in; in a mode with tweaks, of whole ones.
    pub(super) fn blocks(&self) -> u64 {
        let bytes = self.data.len() as u64;
        self.tweaks.map_or_else(|| (self.skip as u64 + bytes).div_ceil(16), |tweaks| tweaks.units.blocks(bytes).0)
    }

    /// In a mode with tweaks, the number of bytes after the last whole block.
    pub(super) fn ragged(&self) -> u64 {
        self.tweaks().units.blocks(self.data.len() as u64).1
    }
}

impl fmt::Display for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_place { "in place" } else { "to another buffer" };
        match self.access {
            Access::Aligned => write!(f, "{} aligned bytes, {place}", self.data.len())?,
            Access::Bytes { input, output } => {
                write!(f, "{} bytes at offsets {input} and {output}, {place}", self.data.len())?
            }
        }
        write!(f, ", start {:#x}, skip {}, {} tiles, {} warps", self.start, self.skip, self.tiles, self.warps)?;
        self.tweaks.map_or(Ok(()), |tweaks| write!(f, ", {:?}", tweaks.units))
    }
}
