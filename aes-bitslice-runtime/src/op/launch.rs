//! The work of one call for a kernel: its launches one by one, with their arguments, whatever drives the device.
//!
//! The arguments that an operation gives are documented with the operation; a kernel itself declares which arguments it takes,
//! and in which order (`aes_bitslice_core::signature`). `in` and `out` point to the start of the launch's part of the data.

use crate::base::error::Error;
use aes_bitslice_core::argument::Argument;
pub(crate) use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::grid::{Grid, GridSize};
#[cfg(feature = "manifest")]
use aes_bitslice_core::manifest::Manifest;
use zeroize::Zeroize;

/// The properties of a kernel and a device that are needed to lay data out over thread blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    /// Threads in a thread block; the maximum if the grid determines the number.
    pub(crate) threads: u32,
    /// Blocks of 16 bytes in a tile: the amount that a thread block or a warp works on at a time.
    pub(crate) tile_blocks: u32,
    pub(crate) grid: Grid,
    /// Whether tiles begin where the counter is a multiple of the number of blocks in a tile.
    pub(crate) aligned_counters: bool,
    /// Whether there is an entry point for secret counters.
    pub(crate) takes_secret_counters: bool,
    pub(crate) multiprocessors: u32,
}

/// One launch, on a part of the call's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    pub(crate) entry: Entry,
    /// The first byte of its part of the data.
    pub(crate) at: u64,
    pub(crate) thread_blocks: u32,
    /// Threads in each thread block.
    pub(crate) threads: u32,
    /// The arguments, except the data and the key.
    pub(crate) values: Vec<(Argument, Value)>,
}

/// The value of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    U32(u32),
    U64(u64),
    /// 16 bytes.
    Words([u32; 4]),
    /// An address in device memory that is not within the call's data.
    Address(u64),
    /// The address this many bytes before the first byte of the call's input.
    BeforeInput(u64),
    /// Device memory into which blocks of the input are copied before the launch, and which is freed after it.
    Gathered(Gather),
}

/// Blocks of 16 bytes of the input that are gathered in separate memory, contiguously, the first of them at byte 16 there: block b, from 1
/// on, is at 16 b.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Gather {
    /// The first byte of the first block, in the call's input.
    pub(crate) first: u64,
    /// Bytes from the start of a block to the start of the next.
    pub(crate) apart: u64,
    /// The number of blocks; at least one.
    pub(crate) blocks: u64,
}

impl Gather {
    /// Bytes of the memory that they are copied to, which includes room before the first.
    pub(crate) fn bytes(&self) -> u64 {
        16 * (self.blocks + 1)
    }
}

/// A counter may be secret.
impl Drop for Launch {
    fn drop(&mut self) {
        for (_, value) in &mut self.values {
            if let Value::Words(words) = value {
                words.zeroize();
            }
        }
    }
}

impl Launch {
    /// The value of an argument, if there is one.
    pub(crate) fn value(&self, argument: Argument) -> Option<&Value> {
        self.values.iter().find(|(of, _)| *of == argument).map(|(_, value)| value)
    }
}

impl Geometry {
    /// The geometry of a kernel on a device with `multiprocessors` multiprocessors.
    #[cfg(feature = "manifest")]
    pub(crate) fn new(manifest: &Manifest, multiprocessors: u32) -> Self {
        Self {
            threads: manifest.threads,
            tile_blocks: manifest.tile_blocks,
            grid: manifest.grid,
            aligned_counters: manifest.aligned_counters,
            takes_secret_counters: manifest.entries.contains_key(&Entry::SecretCounter),
            multiprocessors,
        }
    }

    /// For tests: tiles of 64 blocks on two multiprocessors, and counters anywhere.
    #[cfg(test)]
    pub(crate) fn small(grid: Grid) -> Self {
        let (aligned_counters, takes_secret_counters) = (false, false);
        Self { threads: 128, tile_blocks: 64, grid, aligned_counters, takes_secret_counters, multiprocessors: 2 }
    }

    /// Divides `blocks` chained blocks of 16 bytes into equal shares: one for each warp if warps have their own tiles, else one for each
    /// thread block. Returns the number of shares with data in them, and the bytes of each; the last may be shorter.
    pub(crate) fn shares(&self, blocks: u64) -> (u64, u64) {
        let GridSize { thread_blocks, threads } = self.size(blocks);
        let all = match self.grid {
            Grid::Warps { .. } => thread_blocks * u64::from(threads / 32),
            Grid::Covers | Grid::Persistent { .. } => thread_blocks,
        };
        let tiles = blocks.div_ceil(self.tile_blocks.into());
        let each = tiles.div_ceil(all.max(1)).max(1);
        (tiles.div_ceil(each).max(1), 16 * u64::from(self.tile_blocks) * each)
    }

    /// The launch for `blocks` blocks of 16 bytes.
    fn size(&self, blocks: u64) -> GridSize {
        self.grid.size(blocks.div_ceil(self.tile_blocks.into()), self.multiprocessors, self.threads)
    }

    /// The position in the first tile of the block with this counter, if it is the counter of the first block.
    fn skipped(&self, counter: u128) -> u32 {
        if self.aligned_counters { counter as u32 % self.tile_blocks } else { 0 }
    }
}

/// The properties of a call's data that an operation needs to lay out its launches.
pub struct Shape<'a> {
    pub(crate) geometry: &'a Geometry,
    /// Bytes of data.
    pub(crate) len: u64,
    /// Whether the output replaces the input.
    pub(crate) in_place: bool,
    /// Whether byte `at` is at an address that is a multiple of 16 bytes, in the input and in the output where there are both.
    pub(crate) is_aligned: &'a dyn Fn(u64) -> bool,
}

impl Shape<'_> {
    /// The entry point for whole blocks from byte `at` on.
    pub(crate) fn entry(&self, at: u64) -> Entry {
        if (self.is_aligned)(at) { Entry::Blocks } else { Entry::Bytes }
    }

    /// A launch for `blocks` blocks of 16 bytes from byte `at` of the data on; `None` for no blocks.
    ///
    /// # Errors
    /// [`Error::OutOfDeviceMemory`] for more thread blocks than a grid can have.
    pub(crate) fn launch(
        &self,
        entry: Entry,
        at: u64,
        blocks: u64,
        values: Vec<(Argument, Value)>,
    ) -> Result<Option<Launch>, Error> {
        self.launch_from(entry, at, blocks, 0, values)
    }

    /// A launch for `blocks` blocks from byte `at` of the data on, which count from `counter` on; `None` for no blocks.
    pub(crate) fn launch_from(
        &self,
        entry: Entry,
        at: u64,
        blocks: u64,
        counter: u128,
        values: Vec<(Argument, Value)>,
    ) -> Result<Option<Launch>, Error> {
        if blocks == 0 {
            return Ok(None);
        }
        let blocks_and_skipped = blocks + u64::from(self.geometry.skipped(counter));
        let GridSize { thread_blocks, threads } = self.geometry.size(blocks_and_skipped);
        // A grid has at most 2^31 - 1 thread blocks, and warps number their tiles in 32 bits: that is 8 TiB or more, which no device has,
        // but a length may claim it.
        let tiles = blocks_and_skipped.div_ceil(self.geometry.tile_blocks.into());
        match u32::try_from(thread_blocks.max(tiles)).ok().filter(|&n| n <= i32::MAX as u32) {
            Some(_) => Ok(Some(Launch { entry, at, thread_blocks: thread_blocks as u32, threads, values })),
            None => Err(Error::OutOfDeviceMemory { what: format!("{blocks} blocks of 16 bytes") }),
        }
    }
}

/// A counter as kernels take it: least significant word first.
pub(crate) fn counter_words(counter: u128) -> [u32; 4] {
    std::array::from_fn(|i| (counter >> (32 * i)) as u32)
}

/// A block as kernels take it: its bytes in order, as little-endian words.
pub(crate) fn block_words(block: &[u8; 16]) -> [u32; 4] {
    std::array::from_fn(|i| u32::from_le_bytes(block.as_chunks().0[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grids of 2^31 - 1 thread blocks, and as many tiles.
    #[test]
    fn a_grid_has_no_more_than_a_device_can_count() {
        const TILES: u64 = i32::MAX as u64;
        for grid in [Grid::Covers, Grid::Warps { each: 1, least: 1 }] {
            let geometry = Geometry { aligned_counters: true, ..Geometry::small(grid) };
            let shape = Shape { geometry: &geometry, len: 0, in_place: true, is_aligned: &|_| true };
            let blocks = |blocks, counter| shape.launch_from(Entry::Blocks, 0, blocks, counter, vec![]);
            assert!(blocks(0, 0).unwrap().is_none());
            let most = blocks(64 * TILES, 1 << 40).unwrap().unwrap();
            assert!(grid != Grid::Covers || u64::from(most.thread_blocks) == TILES);
            for (number, counter) in [(64 * TILES + 1, 0), (64 * TILES, 1), (64 << 32, 0), (u64::MAX >> 4, 0)] {
                let refused = blocks(number, counter);
                assert!(matches!(refused, Err(Error::OutOfDeviceMemory { .. })), "{number} blocks: {refused:?}");
            }
        }
    }

    #[test]
    fn counters_and_blocks_as_words() {
        let bytes: [u8; 16] = std::array::from_fn(|i| i as u8);
        assert_eq!(counter_words(u128::from_be_bytes(bytes)), [0x0c0d_0e0f, 0x0809_0a0b, 0x0405_0607, 0x0001_0203]);
        assert_eq!(block_words(&bytes), [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c]);
    }

    /// A counter, and a hash, may be secret.
    #[cfg(target_os = "linux")]
    #[test]
    fn words_are_wiped_with_the_launch() {
        use std::fs::File;
        use std::os::unix::fs::FileExt;
        let words = *b"words, be wiped!";
        let values = vec![(Argument::Counter, Value::Words(block_words(&words))); 64];
        // Made before: it must not take the place of what is freed.
        let mut memory = vec![0; size_of_val(&*values)];
        let at = values.as_ptr().addr() as u64;
        let launch = Launch { entry: Entry::Blocks, at: 0, thread_blocks: 1, threads: 128, values };
        let mut found = || {
            File::open("/proc/self/mem").unwrap().read_exact_at(&mut memory, at).unwrap();
            memory.windows(16).filter(|bytes| **bytes == words).count()
        };
        assert_eq!(found(), 64);
        drop(launch);
        assert_eq!(found(), 0);
    }
}
