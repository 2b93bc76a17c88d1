//! Where the messages of a call are in its data: as the caller has it in memory ([`Ranges`]), and checked and owned by an operation
//! (`Placed`). The additional data of messages is described in the same way, as ranges of one byte string.

use crate::base::error::Error;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, room};
use std::ops::Range;
use std::sync::Arc;

/// Where messages are in data: the range of bytes of each, in the order of the messages, as arrays or by a rule. Nothing is copied before
/// an operation is made of it, which also checks it.
#[derive(Clone, Copy, Debug)]
pub struct Ranges<'a>(Form<'a>);

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Spaced { count: usize, bytes: u64, stride: u64 },
    List(&'a [Range<u64>]),
    Pairs(Integers<'a>),
    Lengths { offsets: Integers<'a>, lengths: Integers<'a> },
}

/// An array of integers, of 32 or 64 bits, signed or not, in the machine's byte order. As positions or lengths, negative ones are refused.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "they are named after their types")]
pub enum Integers<'a> {
    U32(&'a [u32]),
    I32(&'a [i32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
}

impl Integers<'_> {
    fn len(&self) -> usize {
        match self {
            Self::U32(all) => all.len(),
            Self::I32(all) => all.len(),
            Self::U64(all) => all.len(),
            Self::I64(all) => all.len(),
        }
    }
}

macro_rules! integers {
    ($($kind:ident($integer:ty)),*) => {
        $(
            impl<'a> From<&'a [$integer]> for Integers<'a> {
                fn from(all: &'a [$integer]) -> Self {
                    Self::$kind(all)
                }
            }
        )*
    };
}

integers!(U32(u32), I32(i32), U64(u64), I64(i64));

/// Calls `$work` with a slice of integers, whatever their type.
macro_rules! with {
    ($integers:expr, $all:ident => $work:expr) => {
        match $integers {
            Integers::U32($all) => $work,
            Integers::I32($all) => $work,
            Integers::U64($all) => $work,
            Integers::I64($all) => $work,
        }
    };
}

impl<'a> Ranges<'a> {
    /// `count` messages of `bytes` bytes each, one after the other, from the first byte of the data on.
    pub fn equal(count: usize, bytes: u64) -> Self {
        Self::spaced(count, bytes, bytes)
    }

    /// `count` messages of `bytes` bytes each, of which the first begins at byte 0 of the data, and each of the others `stride` bytes after
    /// the one before.
    pub fn spaced(count: usize, bytes: u64, stride: u64) -> Self {
        Self(Form::Spaced { count, bytes, stride })
    }

    /// Two integers for each message, as an array of `n` rows and two columns has them: its first byte, and the byte after its last. An odd
    /// number of integers is refused by the operation.
    pub fn pairs(integers: impl Into<Integers<'a>>) -> Self {
        Self(Form::Pairs(integers.into()))
    }

    /// The first byte of each message, and its number of bytes. Arrays of different lengths are refused by the operation.
    pub fn lengths(offsets: impl Into<Integers<'a>>, lengths: impl Into<Integers<'a>>) -> Self {
        Self(Form::Lengths { offsets: offsets.into(), lengths: lengths.into() })
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Spaced { count, .. } => *count,
            Form::List(ranges) => ranges.len(),
            Form::Pairs(integers) => integers.len() / 2,
            Form::Lengths { offsets, .. } => offsets.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ranges, if they follow these rules; or what is wrong.
    pub(crate) fn placed(&self, rules: &Rules) -> Result<Placed, Fault> {
        let count = self.len();
        match self.0 {
            Form::Spaced { bytes, stride, .. } => Placed::spaced(count, 0..bytes, stride, rules),
            Form::List(ranges) => Placed::of(count, |n| Some(ranges[n].clone()), rules),
            Form::Pairs(integers) => {
                if !integers.len().is_multiple_of(2) {
                    let integers = counted(integers.len(), "integer");
                    let what = format!("{integers} for pairs: give the first byte and the byte after the last of each");
                    return Err(what.into());
                }
                with!(integers, all => {
                    let pairs = all.as_chunks::<2>().0;
                    Placed::of(count, |n| Some(position(pairs[n][0])?..position(pairs[n][1])?), rules)
                })
            }
            Form::Lengths { offsets, lengths } => {
                if lengths.len() != count {
                    let (offsets, lengths) = (counted(count, "offset"), counted(lengths.len(), "length"));
                    return Err(format!("{offsets} and {lengths}: give one of each for each {}", rules.what).into());
                }
                with!(offsets, offsets => with!(lengths, lengths => {
                    let range = |n: usize| {
                        let start = position(offsets[n])?;
                        Some(start..start.checked_add(position(lengths[n])?)?)
                    };
                    Placed::of(count, range, rules)
                }))
            }
        }
    }
}

impl<'a> From<&'a [Range<u64>]> for Ranges<'a> {
    fn from(ranges: &'a [Range<u64>]) -> Self {
        Self(Form::List(ranges))
    }
}

/// An integer as a position or a length; none if it is negative.
fn position(integer: impl TryInto<u64>) -> Option<u64> {
    integer.try_into().ok()
}

/// Why the description of messages is not taken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What is wrong with it.
    Wrong(String),
    /// There is no memory for a copy.
    NoMemory(NoMemory),
}

impl Fault {
    /// The error, which is this one if the description is wrong.
    pub(crate) fn error(self, wrong: impl FnOnce(String) -> Error) -> Error {
        match self {
            Self::Wrong(what) => wrong(what),
            Self::NoMemory(error) => error.into(),
        }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self::Wrong(what)
    }
}

impl From<NoMemory> for Fault {
    fn from(error: NoMemory) -> Self {
        Self::NoMemory(error)
    }
}

/// What ranges have to be.
pub(crate) struct Rules {
    /// What a range is of, for errors.
    pub(crate) what: &'static str,
    /// Whether each begins where the one before it ends, or later.
    pub(crate) ascending: bool,
    /// The maximum number of bytes of each.
    pub(crate) longest: u64,
}

impl Rules {
    /// The range with this number, of which the one before ends at this byte.
    fn check(&self, n: usize, range: Option<Range<u64>>, end_of_last: u64) -> Result<Range<u64>, String> {
        match range {
            Some(range)
                if range.start <= range.end
                    && (range.start >= end_of_last || !self.ascending)
                    && range.end - range.start <= self.longest =>
            {
                Ok(range)
            }
            wrong => Err(self.fault(n, wrong, end_of_last)),
        }
    }

    #[cold]
    fn fault(&self, n: usize, range: Option<Range<u64>>, end_of_last: u64) -> String {
        let what = self.what;
        let Some(Range { start, end }) = range else {
            return format!(
                "{what} {n} has a number that is not a position in the data: it must be 0 to 2^64 - 1, and so must its end"
            );
        };
        if end < start {
            return format!("{what} {n} ends at byte {end}, before it begins at byte {start}");
        }
        if self.ascending && start < end_of_last {
            return format!(
                "{what} {n} begins at byte {start}, and the one before it ends at byte {end_of_last}: ranges ascend and do not overlap"
            );
        }
        format!("{what} {n} has {} bytes, and there is room for {}: make several of it", end - start, self.longest)
    }
}

/// Ranges that follow rules. If they are equally long and equally far apart, they are not stored one by one. A clone shares what is stored.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    count: usize,
    /// The end of the one that extends furthest.
    end: u64,
    each: Each,
}

#[derive(Clone, Debug)]
enum Each {
    Spaced { first: Range<u64>, stride: u64 },
    Listed(Arc<Vec<Range<u64>>>),
}

impl Placed {
    /// `count` ranges, given by their numbers; `None` is one that has a number out of range.
    pub(crate) fn of(count: usize, range: impl Fn(usize) -> Option<Range<u64>>, rules: &Rules) -> Result<Self, Fault> {
        if let Some((first, stride)) = evenly_spaced(count, &range) {
            return Self::spaced(count, first, stride, rules);
        }
        let (mut all, mut end_of_last, mut end) = (room(count)?, 0, 0);
        for n in 0..count {
            let range = rules.check(n, range(n), end_of_last)?;
            end_of_last = range.end;
            end = end.max(range.end);
            all.push(range);
        }
        Ok(Self { count, end, each: Each::Listed(Arc::new(all)) })
    }

    /// `count` ranges as long as the first, each `stride` bytes after the one before.
    fn spaced(count: usize, first: Range<u64>, stride: u64, rules: &Rules) -> Result<Self, Fault> {
        let after = |n: u64| {
            let before = stride.checked_mul(n)?;
            Some(first.start.checked_add(before)?..first.end.checked_add(before)?)
        };
        let mut end = 0;
        if let Some(last) = (count as u64).checked_sub(1) {
            rules.check(0, Some(first.clone()), 0)?;
            if last > 0 {
                rules.check(1, after(1), first.end)?;
            }
            end = rules.check(last as usize, after(last), 0)?.end;
        }
        Ok(Self { count, end, each: Each::Spaced { first, stride } })
    }

    /// The number of ranges.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The end of the range that extends furthest; 0 if there is none.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Refuses ranges of which one ends after byte `bytes`, where the data ends. The error names the first of them, as `what` and its
    /// number, and the data, as `data`.
    pub(crate) fn within(&self, bytes: u64, what: &str, data: &str) -> Result<(), String> {
        if self.end <= bytes {
            return Ok(());
        }
        let (n, Range { end, .. }) =
            self.iter().enumerate().find(|(_, range)| range.end > bytes).expect("the one that ends last is one");
        Err(format!("{what} {n} ends at byte {end}, and {data} has {}", counted(bytes, "byte")))
    }

    /// The range with this number.
    #[inline]
    pub(crate) fn get(&self, n: usize) -> Range<u64> {
        match &self.each {
            Each::Spaced { first, stride } => {
                let before = n as u64 * stride;
                first.start + before..first.end + before
            }
            Each::Listed(all) => all[n].clone(),
        }
    }

    /// All ranges.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Range<u64>> {
        (0..self.count).map(|n| self.get(n))
    }

    /// Whether no range has any bytes.
    pub(crate) fn have_no_bytes(&self) -> bool {
        self.iter().all(|range| range.is_empty())
    }

    /// The distance from each range to the next, if the first and this distance say where all are; else 0.
    pub(crate) fn stride(&self) -> u64 {
        match &self.each {
            Each::Spaced { stride, .. } => *stride,
            Each::Listed(_) => 0,
        }
    }

    /// The number of ranges that have to be listed: the first alone where there is a stride.
    pub(crate) fn listed(&self) -> usize {
        if self.stride() == 0 { self.count } else { self.count.min(1) }
    }

    /// The number of bytes of each range, if all have the same number.
    pub(crate) fn equal_length(&self) -> Option<u64> {
        match &self.each {
            Each::Spaced { first, .. } => Some(first.end - first.start),
            Each::Listed(_) => None,
        }
    }
}

/// The first range and the distance from one to the next, if all are equally long and equally far apart, forwards.
fn evenly_spaced(count: usize, range: impl Fn(usize) -> Option<Range<u64>>) -> Option<(Range<u64>, u64)> {
    if count == 0 {
        return Some((0..0, 0));
    }
    let first = range(0)?;
    let stride = if count > 1 { range(1)?.start.checked_sub(first.start)? } else { 0 };
    let mut expected = first.clone();
    for n in 1..count {
        expected = expected.start.checked_add(stride)?..expected.end.checked_add(stride)?;
        if range(n)? != expected {
            return None;
        }
    }
    Some((first, stride))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of ranges, of which some have one")]
mod tests {
    use super::*;

    const ANY: Rules = Rules { what: "message", ascending: false, longest: u64::MAX };
    const ASCENDING: Rules = Rules { ascending: true, longest: 1000, ..ANY };

    fn listed(ranges: Ranges<'_>, rules: &Rules) -> Result<Vec<Range<u64>>, String> {
        let refused = |fault| match fault {
            Fault::Wrong(what) => what,
            Fault::NoMemory(error) => panic!("{error}"),
        };
        ranges.placed(rules).map(|placed| placed.iter().collect()).map_err(refused)
    }

    #[test]
    fn every_form_says_where_messages_are() {
        let list = [3..5, 5..5, 9..40, 40..47];
        let flat: Vec<u64> = list.iter().flat_map(|range| [range.start, range.end]).collect();
        let (starts, lengths): (Vec<u64>, Vec<u64>) =
            list.iter().map(|range| (range.start, range.end - range.start)).unzip();
        macro_rules! of_type {
            ($($integer:ty)*) => {
                $(
                    let [flat, starts, lengths] =
                        [&flat, &starts, &lengths].map(|all| all.iter().map(|&n| n as $integer).collect::<Vec<_>>());
                    for ranges in [Ranges::pairs(&*flat), Ranges::lengths(&*starts, &*lengths)] {
                        assert_eq!(ranges.len(), 4);
                        assert_eq!(listed(ranges, &ASCENDING).unwrap(), list);
                    }
                )*
            };
        }
        of_type!(u32 i32 u64 i64);
        assert_eq!(listed(Ranges::from(&list[..]), &ASCENDING).unwrap(), list);
        assert_eq!(listed(Ranges::equal(3, 7), &ASCENDING).unwrap(), [0..7, 7..14, 14..21]);
        assert_eq!(listed(Ranges::spaced(3, 7, 10), &ASCENDING).unwrap(), [0..7, 10..17, 20..27]);
        assert_eq!(listed(Ranges::spaced(2, 7, 0), &ANY).unwrap(), [0..7, 0..7]);
        assert_eq!(listed(Ranges::lengths(&[1_u64 << 40][..], &[9_i32][..]), &ANY).unwrap(), [1 << 40..(1 << 40) + 9]);
        assert!(!Ranges::equal(1, 9).is_empty() && Ranges::equal(0, 9).is_empty());
        assert!(listed(Ranges::equal(0, 9), &ASCENDING).unwrap().is_empty());
    }

    /// Whether they are described by a rule or one by one: what is stored, what has to be listed, and the end.
    #[test]
    fn what_is_evenly_spaced_is_not_stored() {
        let even = |placed: &Placed| placed.equal_length().is_some();
        for (list, is_even) in [
            (vec![], true),
            (vec![5..9], true),
            (vec![5..9, 9..13, 13..17], true),
            (vec![5..9, 20..24, 35..39], true),
            (vec![5..9, 20..24, 35..40], false),
            (vec![5..9, 20..24, 36..40], false),
            (vec![20..24, 5..9], false),
            (vec![7..9, 7..9], true),
            (vec![0..u64::MAX, 1..u64::MAX], false),
        ] {
            let placed = Ranges::from(&*list).placed(&ANY).unwrap();
            assert_eq!((placed.iter().collect::<Vec<_>>(), even(&placed)), (list.clone(), is_even), "{list:?}");
            assert_eq!((placed.len(), placed.end()), (list.len(), list.iter().map(|r| r.end).max().unwrap_or(0)));
            let stride = if is_even && list.len() > 1 { list[1].start - list[0].start } else { 0 };
            assert_eq!((placed.stride(), placed.listed()), (stride, if stride > 0 { 1 } else { list.len() }));
        }
    }

    #[test]
    fn the_first_range_beyond_the_data_is_named() {
        for (list, bytes, wrong) in [
            (vec![0..5, 20..30, 7..9, 2..40], 40, None),
            (vec![0..5, 20..30, 7..9, 2..40], 39, Some("job 3 ends at byte 40, and the data has 39 bytes")),
            (vec![0..5, 20..30, 7..9, 2..40], 29, Some("job 1 ends at byte 30, and the data has 29 bytes")),
            (vec![0..5, 2..6], 5, Some("job 1 ends at byte 6, and the data has 5 bytes")),
            (vec![0..4, 4..8, 8..12], 7, Some("job 1 ends at byte 8, and the data has 7 bytes")),
            (vec![1..2], 1, Some("job 0 ends at byte 2, and the data has 1 byte")),
            (vec![], 0, None),
        ] {
            let within = Ranges::from(&*list).placed(&ANY).unwrap().within(bytes, "job", "the data");
            assert_eq!(within.err().as_deref(), wrong, "{list:?}");
        }
    }

    #[test]
    fn what_is_no_range_is_refused_and_named() {
        let says = |ranges: Ranges<'_>, rules: &Rules, what: &str| {
            let refused = listed(ranges, rules).expect_err(what);
            assert!(refused.contains(what), "{refused}");
        };
        let pairs: fn(&[i64]) -> Ranges<'_> = |all| Ranges::pairs(all);
        says(pairs(&[0, 4, 4, -8]), &ANY, "message 1 has a number that is not a position");
        says(pairs(&[-1, 4]), &ANY, "message 0 has a number that is not a position");
        says(pairs(&[0, 4, 4]), &ANY, "3 integers for pairs");
        says(pairs(&[0, 4, 9, 8]), &ANY, "message 1 ends at byte 8, before it begins at byte 9");
        says(pairs(&[0, 4, 3, 8]), &ASCENDING, "message 1 begins at byte 3, and the one before it ends at byte 4");
        says(pairs(&[0, 4, 3, 3]), &ASCENDING, "message 1 begins at byte 3, and the one before it ends at byte 4");
        says(pairs(&[0, 4, 3, 7, 6, 10]), &ASCENDING, "message 1 begins at byte 3");
        says(pairs(&[9, 12, 0, 4]), &ASCENDING, "message 1 begins at byte 0");
        says(pairs(&[0, 9, 9, 1010]), &ASCENDING, "message 1 has 1001 bytes, and there is room for 1000");
        says(pairs(&[0, 1001]), &ASCENDING, "message 0 has 1001 bytes");
        let lengths = |offsets: &'static [u64], lengths: &'static [i32]| Ranges::lengths(offsets, lengths);
        says(lengths(&[0, 4], &[4]), &ANY, "2 offsets and 1 length");
        says(lengths(&[0, u64::MAX], &[4, 1]), &ANY, "message 1 has a number that is not a position");
        says(lengths(&[0, 7], &[4, -1]), &ANY, "message 1 has a number that is not a position");
        says(Ranges::spaced(3, 7, 6), &ASCENDING, "message 1 begins at byte 6, and the one before it ends at byte 7");
        says(Ranges::equal(3, 1001), &ASCENDING, "message 0 has 1001 bytes");
        says(Ranges::equal(1 << 40, 1 << 30), &ANY, "message 1099511627775 has a number that is not a position");
        says(Ranges::spaced(2, 1, u64::MAX), &ANY, "message 1 has a number that is not a position");
        assert_eq!(listed(Ranges::lengths(&[u64::MAX - 1][..], &[1_u32][..]), &ANY).unwrap(), [u64::MAX - 1..u64::MAX]);
    }
}
