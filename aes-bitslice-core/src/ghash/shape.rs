//! How a GHASH kernel divides a message.
//!
//! ```text
//! message   ..., tile, tile, tile           counted from the end; zero blocks in front of the first tile change no hash
//! unit      every W-th tile                 a thread block, of W that there are at most
//! tile      segment, segment, ...           `rows` / 8 of them
//! segment   8 `powers` blocks               neighbouring blocks
//! row       every eighth block of a segment the row's sum: block t times C^(powers - 1 - t), where C = H^8
//! ```
//!
//! From tile to tile of a unit, the sum of a row is multiplied by H^(W · blocks of a tile). At the end, each row is multiplied by its power
//! of H, the rows are summed, and then the units.

crate::named::named_enum! {
    /// The contents and order of a kernel's tables.
    Arrangement, "arrangement" {
        /// Matrices over GF(2) as operands of `wgmma.mma_async.m64n128k256` on single bits, in shared memory.
        Wgmma = "wgmma",
        /// Matrices over GF(2) as operands of `mma.m16n8k256` on single bits, in the order of a warp's registers.
        Mma = "mma",
        /// An element of the field.
        Element = "element",
    }
}

/// How a kernel divides a message, and the contents of its tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "manifest", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct Shape {
    /// The contents of the tables.
    pub arrangement: Arrangement,
    /// Blocks per row of a tile.
    pub powers: u32,
    /// Rows per tile.
    pub rows: u32,
}

/// The error for a shape that has no tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError(pub(super) &'static str);

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for ShapeError {}

impl Shape {
    /// Blocks of 16 bytes in a tile.
    pub fn tile_blocks(&self) -> u32 {
        self.powers * self.rows
    }

    /// Rejects shapes that have no tables.
    ///
    /// # Errors
    /// [`ShapeError`] says what is wrong.
    pub fn check(&self) -> Result<(), ShapeError> {
        if self.rows == 0 || !self.rows.is_multiple_of(8) || self.rows > 1024 {
            return Err(ShapeError("rows come in segments of eight, and there are at most 1024"));
        }
        match self.arrangement {
            Arrangement::Element if self.powers != 1 => Err(ShapeError("without matrices, a tile has a block a row")),
            Arrangement::Wgmma | Arrangement::Mma
                if self.powers == 0 || !self.powers.is_multiple_of(2) || self.powers > 64 =>
            {
                Err(ShapeError("matrices come in pairs, and there are at most 64"))
            }
            _ => Ok(()),
        }
    }

    /// 32-bit words before the elements: the matrices, or their replacement.
    pub fn matrix_words(&self) -> usize {
        match self.arrangement {
            // One more matrix, for the step from tile to tile.
            Arrangement::Wgmma => 512 * (self.powers as usize + 1),
            Arrangement::Mma => 512 * (self.powers as usize + 2),
            Arrangement::Element => 8,
        }
    }

    /// 32-bit words of the tables for this number of units.
    pub fn table_words(&self, units: u32) -> usize {
        self.matrix_words() + 4 * (self.rows as usize + units as usize)
    }

    /// Tiles in a message of this length in bytes.
    pub fn tiles(&self, length: u64) -> u64 {
        length.div_ceil(16).div_ceil(self.tile_blocks().into())
    }
}
