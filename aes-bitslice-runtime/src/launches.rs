//! What one call asks of a kernel: its launches one by one, and the arguments of each, whatever drives the device.
//!
//! ```text
//! ECB        (input, output, blocks, keys)
//! CTR        (input, output, blocks, counter, keys)            any byte: (input, output, bytes, skip, counter, keys)
//! CBC        (input, output, blocks, previous, stride, iv, keys)
//! ```

use crate::Error;
use crate::work::Work;
use aes_bitslice_gen::emit::{Grid, Manifest, ManifestError};
use aes_bitslice_gen::kernel::Mode;

/// What one must know of a kernel and a device to lay work out over thread blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Geometry {
    pub(crate) mode: Mode,
    pub(crate) threads: u32,
    /// Blocks of 16 bytes that a thread block works on at a time.
    pub(crate) blocks_at_a_time: u32,
    pub(crate) grid: Grid,
    /// CTR: whether thread blocks begin where the counter is a multiple of what they work on at a time.
    pub(crate) aligned_counters: bool,
    pub(crate) multiprocessors: u32,
}

/// One launch, on a part of the call's data. It is through the entry point for any alignment where `by_bytes`, and through
/// that for aligned blocks elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) by_bytes: bool,
    /// Where the part begins, in bytes.
    pub(crate) at: u64,
    pub(crate) thread_blocks: u32,
    /// CBC in place: the blocks of ciphertext between shares, which have to be copied before the launch.
    pub(crate) between: Option<Between>,
    values: [Option<Argument>; 6],
}

/// Blocks of 16 bytes that are to lie side by side: block b (from 1 on) is that before byte `share * b` of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Between {
    /// Shares there are, two at least: one more than there are blocks.
    pub(crate) shares: u64,
    /// Bytes of each share but the last.
    pub(crate) share: u64,
}

/// What an entry point is launched with, in its order, before the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Where the part begins that is read.
    Input,
    /// Where the part begins that is written.
    Output,
    /// CBC: where the block of ciphertext before share b is, less b strides. There is none before the first.
    Previous,
    /// How many blocks or bytes, or how far apart.
    Number(u64),
    /// How many bytes to skip.
    Skip(u32),
    /// The counter of the first block, least significant word first, or the IV, its bytes in order.
    Block([u32; 4]),
}

impl Launch {
    /// The arguments, in the entry point's order, but for the keys, which come last.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.values.iter().flatten()
    }

    /// What an entry point for a mode takes, with some values.
    pub(crate) fn example(mode: Mode, by_bytes: bool) -> Self {
        let geometry = Geometry {
            mode,
            threads: 32,
            blocks_at_a_time: 1,
            grid: Grid::Covers,
            aligned_counters: false,
            multiprocessors: 1,
        };
        let all = geometry.launches(Work::of_mode(mode, 0), 16, false, |_| !by_bytes);
        all.ok().and_then(|all| all.into_iter().flatten().next()).expect("a block is a launch")
    }
}

impl Geometry {
    /// That of a kernel, on a device of so many multiprocessors.
    pub(crate) fn new(manifest: &Manifest, multiprocessors: u32) -> Result<Self, ManifestError> {
        Ok(Self {
            mode: manifest.mode()?,
            threads: manifest.threads,
            blocks_at_a_time: manifest.blocks,
            grid: manifest.grid,
            aligned_counters: manifest.aligned_counters,
            multiprocessors,
        })
    }

    /// The launches of a call on `len` bytes, in order; ECB and CBC have whole blocks. `is_aligned` tells whether input and
    /// output both are at a multiple of 16 bytes so many bytes from where they begin.
    ///
    /// Each launch works on bytes of its own, and the order in which they are done makes no difference.
    pub(crate) fn launches(
        &self,
        work: Work,
        len: u64,
        in_place: bool,
        is_aligned: impl Fn(u64) -> bool,
    ) -> Result<[Option<Launch>; 3], Error> {
        use Argument::{Block, Input, Number, Output, Previous};
        let blocks = len / 16;
        Ok(match work {
            Work::Ecb(_) => {
                let values = [Some(Input), Some(Output), Some(Number(blocks)), None, None, None];
                [self.launch(!is_aligned(0), 0, blocks, 0, values)?, None, None]
            }
            Work::CbcDecrypt { iv } => {
                let (shares, share) = self.shares(blocks);
                let between = (in_place && shares > 1).then_some(Between { shares, share });
                let stride = if between.is_some() { 16 } else { share };
                let iv = std::array::from_fn(|i| u32::from_le_bytes(iv.as_chunks().0[i]));
                let values = [Input, Output, Number(blocks), Previous, Number(stride), Block(iv)].map(Some);
                let launch = self.launch(!is_aligned(0), 0, blocks, 0, values)?;
                [launch.map(|launch| Launch { between, ..launch }), None, None]
            }
            Work::Ctr { counter, skip } => {
                // Whole blocks of key stream that meet aligned data go the fast way: what comes before them, and after.
                let head = work.head().min(len);
                let whole = len - head;
                let body = if is_aligned(head) { whole - whole % 16 } else { 0 };
                if body == 0 {
                    return Ok([self.ctr_bytes(0, len, counter, skip)?, None, None]);
                }
                let first = counter.wrapping_add(u128::from(skip > 0));
                let after = first.wrapping_add(u128::from(body / 16));
                let done = head + body;
                [
                    self.ctr_bytes(0, head, counter, skip)?,
                    self.ctr_blocks(head, body, first)?,
                    self.ctr_bytes(done, len - done, after, 0)?,
                ]
            }
        })
    }

    fn ctr_blocks(&self, at: u64, len: u64, counter: u128) -> Result<Option<Launch>, Error> {
        use Argument::{Block, Input, Number, Output};
        let blocks = len / 16;
        let values = [Some(Input), Some(Output), Some(Number(blocks)), Some(Block(counter_words(counter))), None, None];
        self.launch(false, at, blocks, self.skipped(counter), values)
    }

    fn ctr_bytes(&self, at: u64, len: u64, counter: u128, skip: usize) -> Result<Option<Launch>, Error> {
        use Argument::{Block, Input, Number, Output, Skip};
        if len == 0 {
            return Ok(None);
        }
        let values = [
            Some(Input),
            Some(Output),
            Some(Number(len)),
            Some(Skip(skip as u32)),
            Some(Block(counter_words(counter))),
            None,
        ];
        let blocks = (u128::from(len) + skip as u128).div_ceil(16) as u64;
        self.launch(true, at, blocks, self.skipped(counter), values)
    }

    /// A launch for so many blocks, of which the first is `skipped` blocks into the first thread block's share.
    fn launch(
        &self,
        by_bytes: bool,
        at: u64,
        blocks: u64,
        skipped: u32,
        values: [Option<Argument>; 6],
    ) -> Result<Option<Launch>, Error> {
        if blocks == 0 {
            return Ok(None);
        }
        // 2^31 - 1 thread blocks take 32 TiB or more: no device has that, but a length may say so.
        let thread_blocks = u32::try_from(self.thread_blocks(blocks + u64::from(skipped)));
        match thread_blocks.ok().filter(|&n| n <= i32::MAX as u32) {
            Some(thread_blocks) => Ok(Some(Launch { by_bytes, at, thread_blocks, between: None, values })),
            None => Err(Error::OutOfDeviceMemory { what: format!("{blocks} blocks of 16 bytes") }),
        }
    }

    /// Where in the share of the first thread block the counter lies.
    fn skipped(&self, counter: u128) -> u32 {
        if self.aligned_counters { counter as u32 % self.blocks_at_a_time } else { 0 }
    }

    /// How many thread blocks share so many blocks of 16 bytes, and the bytes of each one's share; the last may be shorter.
    fn shares(&self, blocks: u64) -> (u64, u64) {
        let thread_blocks = self.thread_blocks(blocks).max(1);
        let runs = blocks.div_ceil(self.blocks_at_a_time.into());
        (thread_blocks, 16 * u64::from(self.blocks_at_a_time) * runs.div_ceil(thread_blocks))
    }

    /// How many runs the share of a thread block has, of so many blocks (not none) of 16 bytes.
    pub(crate) fn runs(&self, blocks: u64) -> u64 {
        self.shares(blocks).1 / (16 * u64::from(self.blocks_at_a_time))
    }

    /// How many thread blocks so many blocks of 16 bytes are for.
    fn thread_blocks(&self, blocks: u64) -> u64 {
        self.grid.thread_blocks(blocks.div_ceil(self.blocks_at_a_time.into()), self.multiprocessors)
    }
}

/// A counter as the kernels take it: least significant word first.
fn counter_words(counter: u128) -> [u32; 4] {
    std::array::from_fn(|i| (counter >> (32 * i)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    fn geometry(mode: Mode) -> Geometry {
        let grid = Grid::Shares { most: 4, left: 2 };
        Geometry {
            mode,
            threads: 128,
            blocks_at_a_time: 64,
            grid,
            aligned_counters: mode == Mode::Ctr,
            multiprocessors: 2,
        }
    }

    fn launches(mode: Mode, work: Work, len: u64, in_place: bool, misaligned: u64) -> Vec<Launch> {
        let all = geometry(mode).launches(work, len, in_place, |at| (at + misaligned).is_multiple_of(16)).unwrap();
        all.into_iter().flatten().collect()
    }

    #[test]
    fn ctr_is_cut_into_what_is_whole_and_aligned_and_the_rest() {
        let work = |skip| Work::Ctr { counter: u128::MAX, skip };
        let seen = |skip, len, misaligned| -> Vec<_> {
            let launches = launches(Mode::Ctr, work(skip), len, true, misaligned);
            launches.iter().map(|l| (l.by_bytes, l.at, l.arguments().skip(2).copied().collect::<Vec<_>>())).collect()
        };
        use Argument::{Block, Number, Skip};
        let (max, zero, two) = (Block([u32::MAX; 4]), Block([0; 4]), Block([2, 0, 0, 0]));
        assert_eq!(seen(0, 0, 0), []);
        assert_eq!(seen(0, 32, 0), [(false, 0, vec![Number(2), max])]);
        assert_eq!(
            seen(5, 11 + 32 + 3, 5),
            [
                (true, 0, vec![Number(11), Skip(5), max]),
                (false, 11, vec![Number(2), zero]),
                (true, 43, vec![Number(3), Skip(0), two])
            ]
        );
        assert_eq!(seen(5, 11 + 32 + 3, 0), [(true, 0, vec![Number(46), Skip(5), max])]);
        assert_eq!(seen(15, 1, 3), [(true, 0, vec![Number(1), Skip(15), max])]);
    }

    #[test]
    fn aligned_counters_take_room_for_what_they_skip() {
        let grid = |counter| {
            let work = Work::Ctr { counter, skip: 0 };
            let geometry = Geometry { grid: Grid::Covers, ..geometry(Mode::Ctr) };
            geometry.launches(work, 16 * 64, true, |_| true).unwrap()[1].unwrap().thread_blocks
        };
        assert_eq!((grid(0), grid(1), grid(63), grid(64)), (1, 2, 2, 1));
    }

    #[test]
    fn blocks_between_shares_are_copied_in_place_and_where_there_are_several() {
        let work = Work::CbcDecrypt { iv: std::array::from_fn(|i| i as u8) };
        let run = 64 * 16;
        // 80 runs for two multiprocessors: four each, so twenty thread blocks.
        for (len, in_place, between, stride) in [
            (80 * run, true, Some(Between { shares: 20, share: 4 * run }), 16),
            (80 * run, false, None, 4 * run),
            (run, true, None, run),
        ] {
            let launches = launches(Mode::CbcDecrypt, work, len, in_place, 0);
            let [launch] = launches.as_slice() else { panic!("one launch") };
            assert_eq!((launch.by_bytes, launch.between), (false, between));
            let iv = Argument::Block([0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c]);
            let expected = [Argument::Number(len / 16), Argument::Previous, Argument::Number(stride), iv];
            assert!(launch.arguments().skip(2).eq(&expected));
        }
    }

    #[test]
    fn every_entry_point_has_its_arguments() {
        let arguments = |mode, by_bytes| Launch::example(mode, by_bytes).arguments().count();
        for mode in Mode::ALL {
            let expected = match mode {
                Mode::EcbEncrypt | Mode::EcbDecrypt => [3, 3],
                Mode::Ctr => [4, 5],
                Mode::CbcDecrypt => [6, 6],
            };
            assert_eq!([false, true].map(|by_bytes| arguments(mode, by_bytes)), expected, "{mode}");
        }
    }

    #[test]
    fn more_than_any_device_has_is_refused() {
        let work = Work::Ecb(Direction::Encrypt);
        let refused = geometry(Mode::EcbEncrypt).launches(work, u64::MAX - 15, true, |_| true);
        assert!(matches!(refused, Err(Error::OutOfDeviceMemory { .. })));
        assert!(launches(Mode::EcbEncrypt, work, 0, true, 0).is_empty());
    }
}
