//! The size of a launch.

use crate::layout::{BLOCKS_PER_WORD, Layout};

/// How many thread blocks to launch, and of how many threads. Except for [`Covers`](Self::Covers), any number is correct: each thread block
/// takes an equal share of the tiles, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "manifest", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Grid {
    /// One thread block for each tile.
    Covers,
    /// A fixed number of thread blocks on each multiprocessor, whatever the size of the data.
    Persistent {
        /// Thread blocks per multiprocessor.
        each: u32,
    },
    /// A fixed number of thread blocks on each multiprocessor, with as many warps as they have tiles, because a warp works on one tile at a
    /// time. Every size then keeps as much of the device busy as it can, and all thread blocks end together.
    Warps {
        /// Thread blocks per multiprocessor.
        each: u32,
        /// The minimum number of warps per thread block.
        least: u32,
    },
}

/// Schedulers of a multiprocessor, among which its warps are divided.
pub(super) const SCHEDULERS: u64 = 4;

/// The maximum number of bytes of shared memory that a kernel with a share for each warp needs in addition to those shares: what its code
/// declares, and 1 KiB that CUDA reserves in each thread block.
pub const DECLARED_BYTES: u32 = 17 << 10;

/// The size of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GridSize {
    /// Thread blocks.
    pub thread_blocks: u64,
    /// Threads per thread block.
    pub threads: u32,
}

impl Grid {
    /// The launch for `tiles` on a device with `multiprocessors`; `threads` is the value in the kernel's manifest.
    pub fn size(self, tiles: u64, multiprocessors: u32, threads: u32) -> GridSize {
        let resident = |each: u32| (u64::from(multiprocessors) * u64::from(each)).max(1);
        match self {
            Self::Covers => GridSize { thread_blocks: tiles, threads },
            Self::Persistent { each } => {
                let each = tiles.div_ceil(resident(each)).max(1);
                GridSize { thread_blocks: tiles.div_ceil(each), threads }
            }
            Self::Warps { each, least } => {
                let (thread_blocks, most) = (tiles.min(resident(each)), u64::from(threads / 32));
                let tiles = tiles.div_ceil(thread_blocks.max(1)).max(1);
                // With several turns, no turn is for a few warps only, and every scheduler has the same number of warps.
                let warps = match tiles.div_ceil(most) {
                    1 => tiles,
                    turns => tiles.div_ceil(turns).next_multiple_of(SCHEDULERS).min(most),
                };
                GridSize { thread_blocks, threads: (32 * warps as u32).max(32 * least).min(threads) }
            }
        }
    }

    /// Blocks of 16 bytes per tile of a bitsliced kernel in a layout; `threads` is the value in its manifest.
    pub fn tile_blocks(self, layout: Layout, threads: u32) -> u32 {
        let threads = if matches!(self, Self::Warps { .. }) { 32 } else { threads };
        BLOCKS_PER_WORD * threads / layout.threads()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tile_has_a_warp_and_no_thread_block_is_without() {
        for (grid, threads) in [
            (Grid::Warps { each: 1, least: 1 }, 512),
            (Grid::Warps { each: 1, least: 4 }, 512),
            (Grid::Warps { each: 3, least: 4 }, 128),
            (Grid::Warps { each: 1, least: 16 }, 512),
        ] {
            let Grid::Warps { each, least } = grid else { unreachable!() };
            for tiles in (1..5000).chain([1 << 20, u64::from(u32::MAX)]) {
                let size = grid.size(tiles, 132, threads);
                assert!(size.thread_blocks <= tiles.min(132 * u64::from(each)), "{tiles}");
                assert!(size.threads.is_multiple_of(32) && (32 * least..=threads).contains(&size.threads), "{tiles}");
                // Enough warps for all tiles at once, or for no more turns than with the maximum number of warps.
                let turns = |warps: u32| tiles.div_ceil(size.thread_blocks).div_ceil(warps.into());
                assert_eq!(turns(size.threads / 32), turns(threads / 32), "{tiles}");
                assert!(turns(threads / 32) == 1 || size.thread_blocks == 132 * u64::from(each), "{tiles}");
            }
        }
        let none = Grid::Warps { each: 1, least: 1 }.size(0, 132, 512);
        assert_eq!(none, GridSize { thread_blocks: 0, threads: 32 });
        // 1 MiB in tiles of 4 KiB: two warps on nearly every multiprocessor.
        let mebibyte = Grid::Warps { each: 1, least: 1 }.size(256, 132, 512);
        assert_eq!(mebibyte, GridSize { thread_blocks: 132, threads: 64 });
        // 10 MiB are 19.4 tiles per multiprocessor: twelve warps with two turns, not sixteen and then four.
        let ten = Grid::Warps { each: 1, least: 1 }.size(2560, 132, 512);
        assert_eq!(ten, GridSize { thread_blocks: 132, threads: 384 });
    }
}
