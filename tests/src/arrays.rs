//! Ranges of messages as arrays of integers, in every form and of every type that callers may have.

use aes_bitslice_runtime::Ranges;
use std::ops::Range;

/// Ranges, and their numbers in every type of integer.
pub struct Arrays {
    list: Vec<Range<u64>>,
    of_u32: Columns<u32>,
    of_i32: Columns<i32>,
    of_u64: Columns<u64>,
    of_i64: Columns<i64>,
}

/// First bytes and ends side by side; first bytes; lengths.
type Columns<T> = [Vec<T>; 3];

impl Arrays {
    /// Of these ranges, which end before byte 2^31.
    pub fn of(ranges: &[Range<u64>]) -> Self {
        fn columns<T: TryFrom<u64>>(ranges: &[Range<u64>]) -> Columns<T> {
            let number = |number: u64| T::try_from(number).ok().expect("before byte 2^31");
            [
                ranges.iter().flat_map(|range| [range.start, range.end]).map(number).collect(),
                ranges.iter().map(|range| number(range.start)).collect(),
                ranges.iter().map(|range| number(range.end - range.start)).collect(),
            ]
        }
        Self {
            list: ranges.to_vec(),
            of_u32: columns(ranges),
            of_i32: columns(ranges),
            of_u64: columns(ranges),
            of_i64: columns(ranges),
        }
    }

    /// In every form.
    pub fn forms(&self) -> Vec<Ranges<'_>> {
        let Self { list, of_u32, of_i32, of_u64, of_i64 } = self;
        vec![
            Ranges::from(&**list),
            Ranges::pairs(&*of_u32[0]),
            Ranges::pairs(&*of_i32[0]),
            Ranges::pairs(&*of_u64[0]),
            Ranges::pairs(&*of_i64[0]),
            Ranges::lengths(&*of_u32[1], &*of_u32[2]),
            Ranges::lengths(&*of_i32[1], &*of_i32[2]),
            Ranges::lengths(&*of_u64[1], &*of_u64[2]),
            Ranges::lengths(&*of_i64[1], &*of_i64[2]),
            Ranges::lengths(&*of_i64[1], &*of_u32[2]),
        ]
    }
}

/// The ranges of messages of these lengths, each after a gap: bytes of a message and of the gap before it. And where the last one ends.
pub fn after_gaps(lengths: impl Iterator<Item = (usize, usize)>) -> (Vec<Range<u64>>, usize) {
    let mut at = 0;
    let range = |(bytes, gap)| {
        let start = at + gap;
        at = start + bytes;
        start as u64..at as u64
    };
    (lengths.map(range).collect(), at)
}
