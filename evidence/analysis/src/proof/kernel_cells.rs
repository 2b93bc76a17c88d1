//! What kernels put through S-boxes besides the blocks of the data: other blocks of their tiles, the first rounds of counters for all
//! values of a byte, and numbers of units that contain no block of the data.
//!
//! The definition of a mode has no such S-boxes, and so no cells for them. They are made here, which proves and assumes nothing: a cell
//! says which bits are multiplied together.

use crate::proof::aes::{self, Block};
use crate::proof::anf::Cells;
use crate::proof::mode::{Given, Start, no_cell, of_number, swap_if};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::{Mode, State};

/// Blocks that a warp works on at a time.
pub(crate) const TILE: usize = 256;

impl Given<'_> {
    /// Makes these cells, for a number of blocks of data, in XTS of whole ones.
    ///
    /// # Errors
    /// In words, if something has no form as sums of products within S-boxes.
    pub(crate) fn make_kernel_cells(&self, cells: &mut Cells, blocks: usize) -> Result<(), String> {
        let start = swap_if(self.mode, self.start.number);
        // The other blocks of the tiles that contain the data: zeros, and counters.
        let skipped = if self.mode.state() == State::Counters { start % TILE as u128 } else { 0 };
        let number = swap_if(self.mode, start - skipped);
        let around = Given {
            start: Start { number, unit_bytes: self.start.unit_bytes / 16 * 16, ..self.start },
            iv: &of_number(0),
            ..*self
        };
        let tiles = (skipped as usize + blocks).next_multiple_of(TILE);
        if tiles != blocks {
            let zeros = vec![of_number(0); tiles];
            if self.mode.has_tweaks() {
                around.of_units(cells, zeros.as_flattened())?;
            } else {
                around.of_blocks(cells, &zeros)?;
            }
        }
        let mut rounds = |block: u128, keys: &[Block], direction| {
            aes::process(cells, &of_number(block), keys, direction).map(drop).map_err(no_cell)
        };
        match self.mode {
            // Two rounds of counters whose four lowest bytes take all values, including those of the next run of 2^32.
            Mode::Ctr | Mode::Keystream | Mode::CtrLe32 => {
                for run in [start, start.wrapping_add(blocks as u128)] {
                    for byte in 0..TILE as u128 {
                        let counter = (run >> 32 << 32) | (byte * 0x0101_0101);
                        let block = if self.mode == Mode::CtrLe32 { counter } else { counter.swap_bytes() };
                        rounds(block, &self.keys[..3], Direction::Encrypt)?;
                    }
                }
            }
            // The numbers of as many units as a tile has blocks, from any unit of the data on; and where a tile has the ends of fewer units,
            // zeros.
            Mode::XtsEncrypt | Mode::XtsDecrypt => {
                rounds(0, self.keys, self.mode.direction())?;
                let units = (self.start.before + blocks) / (self.start.unit_bytes / 16);
                for unit in 0..(units + TILE) as u128 {
                    rounds(start.wrapping_add(unit), self.tweak_keys, Direction::Encrypt)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}
