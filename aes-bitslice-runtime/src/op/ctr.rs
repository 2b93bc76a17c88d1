//! Counter mode: XOR with the key stream (SP 800-38A, section 6.5).
//!
//! | argument | value |
//! |---|---|
//! | `blocks` | entry point for blocks: blocks of 16 bytes |
//! | `length`, `skip` | entry point for bytes: bytes, and how many bytes of the first block of key stream come before them |
//! | `counter` | the counter of the first block, least significant word first |
//! | `secret_counter` | entry point for secret counters, which also takes `length`: the counter of the first block, least significant word first |

use crate::base::counter::{Counter, CounterMode};
use crate::base::error::Error;
use crate::cpu::key::CpuKey;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::KernelsNeeded;
use crate::op::launch::{Entry, Launch, Shape, Value, counter_words};
use crate::op::operation::{Cut, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::mode::Mode;
use std::ops::Range;

/// CTR from a given byte of the key stream on: both encryption and decryption, on any number of bytes.
///
/// Byte 0 of the key stream is the first byte of the encrypted initial counter block, so a long message may be cut
/// anywhere and its parts processed in any order, each with its own offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ctr {
    counter: Counter,
    /// Bytes of key stream before the data. Wider than the caller's offset, because a call extends beyond it.
    position: u128,
}

impl Ctr {
    /// Starts at byte `offset` of the key stream that begins with `counter`.
    ///
    /// Every offset is accepted here, and a call may run past byte 2^64. Only where fewer than 128 bits count does the key
    /// stream end: a call that needs more of it is refused with [`Error::CounterOverflow`], even one that starts past
    /// that end.
    pub fn new(counter: &Counter, offset: u64) -> Self {
        Self { counter: *counter, position: offset.into() }
    }

    /// Starts at a counter block, given as a big-endian number, which wraps mod 2^128.
    pub(crate) fn from_block(block: u128) -> Self {
        Self::new(&Counter::new(CounterMode::Ctr128BE, block.to_be_bytes()), 0)
    }

    /// Bytes of key stream before the data.
    #[cfg(test)]
    pub(crate) fn position(&self) -> u128 {
        self.position
    }

    /// The counter of the first block.
    pub(crate) fn first(&self) -> u128 {
        self.counter.at(self.position)
    }
}

impl Operation for Ctr {
    type Output = ();
    const NAME: &'static str = "CTR";
    const ACCESS: Access = Access::Maps;

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.counter.check(self.position, bytes)
    }

    fn kernels(&self) -> KernelsNeeded {
        KernelsNeeded::of(Mode::Ctr)
    }

    one_pass!();
}

ready_as_it_is!(Ctr);

impl Ready for Ctr {
    returns_nothing!();

    fn cut(&self) -> Option<Cut<Self>> {
        Cut::anywhere(Self::at).map(|cut| Cut { skip: self.skip(), ..cut })
    }

    fn launches(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        let mut launches = Vec::new();
        for run in self.runs(shape.len) {
            self.launches_of(run, shape, &mut launches)?;
        }
        Ok(launches)
    }

    fn on_cpu(&self, cipher: &CpuKey, data: Buffers<'_>) {
        cipher.add_key_stream(self.counter.block_at(self.position), self.skip(), data.into_in_out());
    }
}

impl Ctr {
    /// The number of bytes (fewer than 16) into a block at which the data begins.
    pub(crate) fn skip(&self) -> usize {
        (self.position % 16) as usize
    }

    /// This operation for the data that begins `bytes` bytes later.
    pub(crate) fn at(&self, bytes: u64) -> Self {
        Self { position: self.position + u128::from(bytes), ..*self }
    }

    /// The launch of a call from a whole block on whose counter is secret, and wraps in 32 bits: it depends on nothing but the length.
    pub(crate) fn launch_of_secret(&self, shape: &Shape<'_>) -> Result<Vec<Launch>, Error> {
        debug_assert!(self.skip() == 0, "parts of messages begin with blocks");
        let counter = Value::Words(counter_words(self.first()));
        let values = vec![(Argument::Length, Value::U64(shape.len)), (Argument::SecretCounter, counter)];
        Ok(shape.launch(Entry::SecretCounter, 0, shape.len.div_ceil(16), values)?.into_iter().collect())
    }

    /// The bytes of a call of `len` bytes, cut where the counter wraps within its field: one range, or two.
    fn runs(&self, len: u64) -> impl Iterator<Item = Range<u64>> + use<> {
        let cut = self.counter.bytes_to_wrap(self.position).map_or(len, |bytes| bytes.min(len.into()) as u64);
        [0..cut, cut..len].into_iter().filter(|run| !run.is_empty())
    }

    /// The launches for a range of bytes in which the counter does not wrap. Whole blocks of key stream that meet
    /// aligned data go through the entry point for blocks; the bytes before and after them go through the entry point
    /// for bytes.
    fn launches_of(&self, run: Range<u64>, shape: &Shape<'_>, launches: &mut Vec<Launch>) -> Result<(), Error> {
        let bytes = |at: u64, len: u64| {
            let from = self.at(at);
            let (counter, skip) = (from.first(), from.skip() as u64);
            let values = vec![
                (Argument::Length, Value::U64(len)),
                (Argument::Skip, Value::U32(skip as u32)),
                (Argument::Counter, Value::Words(counter_words(counter))),
            ];
            let blocks = if len == 0 { 0 } else { (u128::from(len) + u128::from(skip)).div_ceil(16) as u64 };
            shape.launch_from(Entry::Bytes, at, blocks, counter, values)
        };
        let len = run.end - run.start;
        let head = ((16 - self.at(run.start).skip() as u64) % 16).min(len);
        let first = run.start + head;
        let whole = len - head;
        let body = if (shape.is_aligned)(first) { whole - whole % 16 } else { 0 };
        if body == 0 {
            launches.extend(bytes(run.start, len)?);
            return Ok(());
        }
        let counter = self.at(first).first();
        let values =
            vec![(Argument::Blocks, Value::U64(body / 16)), (Argument::Counter, Value::Words(counter_words(counter)))];
        let blocks = shape.launch_from(Entry::Blocks, first, body / 16, counter, values)?;
        launches.extend([bytes(run.start, head)?, blocks, bytes(first + body, whole - body)?].into_iter().flatten());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::launch::Geometry;
    use aes_bitslice_core::grid::Grid;

    fn shape_of(
        geometry: &Geometry,
        len: u64,
        misaligned: u64,
        call: impl FnOnce(&Shape<'_>) -> Vec<Launch>,
    ) -> Vec<Launch> {
        call(&Shape { geometry, len, in_place: true, is_aligned: &|at| (at + misaligned).is_multiple_of(16) })
    }

    fn geometry(grid: Grid) -> Geometry {
        Geometry { aligned_counters: true, takes_secret_counters: true, ..Geometry::small(grid) }
    }

    #[test]
    fn what_is_whole_and_aligned_goes_by_blocks_and_the_rest_by_bytes() {
        let counter = Counter::new(CounterMode::Ctr128BE, [0xff; 16]);
        let seen = |skip, len, misaligned| -> Vec<_> {
            let geometry = geometry(Grid::Warps { each: 1, least: 1 });
            let launches =
                shape_of(&geometry, len, misaligned, |shape| Ctr::new(&counter, skip).launches(shape).unwrap());
            launches.iter().map(|l| (l.entry, l.at, l.values.clone())).collect()
        };
        let by_blocks = |at, blocks, counter| {
            (
                Entry::Blocks,
                at,
                vec![(Argument::Blocks, Value::U64(blocks)), (Argument::Counter, Value::Words(counter))],
            )
        };
        let by_bytes = |at, length, skip, counter| {
            let values = [
                (Argument::Length, Value::U64(length)),
                (Argument::Skip, Value::U32(skip)),
                (Argument::Counter, Value::Words(counter)),
            ];
            (Entry::Bytes, at, values.to_vec())
        };
        let (max, zero, two) = ([u32::MAX; 4], [0; 4], [2, 0, 0, 0]);
        assert_eq!(seen(0, 0, 0), []);
        assert_eq!(seen(0, 32, 0), [by_blocks(0, 2, max)]);
        let three = [by_bytes(0, 11, 5, max), by_blocks(11, 2, zero), by_bytes(43, 3, 0, two)];
        assert_eq!(seen(5, 11 + 32 + 3, 5), three);
        assert_eq!(seen(5, 11 + 32 + 3, 0), [by_bytes(0, 46, 5, max)]);
        assert_eq!(seen(15, 1, 3), [by_bytes(0, 1, 15, max)]);
    }

    #[test]
    fn a_counter_that_wraps_in_its_field_is_launched_in_two() {
        let mut block = [0xff; 16];
        block[15] = 0xfe;
        let ctr = Ctr::new(&Counter::new(CounterMode::Inc32, block), 5);
        let geometry = geometry(Grid::Warps { each: 1, least: 1 });
        let launches = shape_of(&geometry, 100, 5, |shape| ctr.launches(shape).unwrap());
        let seen: Vec<_> =
            launches.iter().map(|l| (l.entry, l.at, l.value(Argument::Counter).cloned().unwrap())).collect();
        let words = |low| Value::Words([low, u32::MAX, u32::MAX, u32::MAX]);
        let expected = [
            (Entry::Bytes, 0, words(u32::MAX - 1)),
            (Entry::Blocks, 11, words(u32::MAX)),
            (Entry::Blocks, 27, words(0)),
            (Entry::Bytes, 91, words(4)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_launch_does_not_depend_on_a_secret_counter() {
        let launch = |low: u8, len| {
            let ctr = Ctr::new(
                &Counter::new(CounterMode::Inc32, [[0xff; 15].as_slice(), &[low]].concat().try_into().unwrap()),
                0,
            );
            let mut launches = shape_of(&geometry(Grid::Covers), len, 3, |shape| ctr.launch_of_secret(shape).unwrap());
            let [launch] = &mut launches[..] else { panic!("{len} bytes: {launches:?}") };
            launch.values.retain(|(name, _)| *name != Argument::SecretCounter);
            launch.clone()
        };
        for len in [1, 16 * 64, 16 * 64 + 1] {
            assert_eq!(launch(0xff, len), launch(0x41, len));
            assert_eq!(launch(0, len).thread_blocks, len.div_ceil(16 * 64) as u32);
        }
    }

    #[test]
    fn aligned_counters_take_room_for_what_they_skip() {
        let grid = |counter| {
            let launches = shape_of(&geometry(Grid::Covers), 16 * 64, 0, |shape| {
                Ctr::from_block(counter).launches(shape).unwrap()
            });
            launches[0].thread_blocks
        };
        assert_eq!((grid(0), grid(1), grid(63), grid(64)), (1, 2, 2, 1));
    }

    /// A call may extend beyond byte 2^64 of the key stream.
    #[test]
    fn chunks_beyond_the_last_offset_have_their_counters() {
        let counter = Counter::new(CounterMode::Ctr128BE, [0; 16]);
        let after = |offset, bytes| {
            let ctr = Ctr::new(&counter, offset).at(bytes);
            (ctr.first(), ctr.skip())
        };
        assert_eq!(after(u64::MAX, 0), ((1 << 60) - 1, 15));
        assert_eq!(after(u64::MAX, 1), (1 << 60, 0));
        assert_eq!(after(u64::MAX, u64::MAX), ((1 << 61) - 1, 14));
        assert_eq!(after(5, 16 << 32), (1 << 32, 5));
    }

    /// Where a counter of 32 bits wraps in a long call: at a byte of more than 32 bits.
    #[test]
    fn a_long_call_is_cut_where_the_counter_wraps() {
        let ctr = Ctr::new(&Counter::new(CounterMode::Inc32, [0; 16]), 3);
        let runs = |len| ctr.runs(len).collect::<Vec<_>>();
        let wraps = (16 << 32) - 3;
        let whole = |len| std::iter::once(0..len).collect::<Vec<_>>();
        assert_eq!(runs(wraps), whole(wraps));
        assert_eq!(runs(wraps + 1), [0..wraps, wraps..wraps + 1]);
        let wide = Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 3);
        assert_eq!(wide.runs(u64::MAX).collect::<Vec<_>>(), whole(u64::MAX));
    }
}
