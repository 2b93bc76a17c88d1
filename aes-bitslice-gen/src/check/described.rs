//! Printed kernels for messages that arrays describe as programs for the CPU, and their check against tables that the host makes.

use super::error::CheckError;
use super::program::{Given, Program, Threads};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::described::{Array, Fault, IntegerType, NO_MESSAGE, NonceArray, TALLY_WORDS, WrongRange};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::messages::{Message, words_of};
use std::ops::Range;

/// The longest message (SP 800-38D, section 5.2.1.1).
const LONGEST: u64 = (1 << 36) - 32;

/// An array whose first number is at an offset in this memory, which is empty for one that has none.
#[derive(Clone)]
struct Numbers {
    words: [u32; 4],
    memory: Vec<u8>,
}

impl Numbers {
    fn given(&self) -> Given<'_> {
        if self.memory.is_empty() { Given::Words(&self.words) } else { Given::Within(self.words, &self.memory) }
    }
}

/// Ranges in all forms, the last of which can only describe some.
fn forms(ranges: &[Range<u64>]) -> Vec<[Numbers; 2]> {
    let put = |memory: &mut Vec<u8>, integers: IntegerType, n: u64| {
        memory.extend(&n.to_le_bytes()[..integers.bytes() as usize]);
    };
    let largest = ranges.iter().map(|range| range.start.max(range.end)).max().unwrap_or_default();
    let pairs = [IntegerType::U64, IntegerType::I64, IntegerType::U32, IntegerType::I32].into_iter().map(|integers| {
        let mut memory = vec![];
        ranges.iter().flat_map(|range| [range.start, range.end]).for_each(|n| put(&mut memory, integers, n));
        let width = integers.bytes();
        let one = |first| Array { integers: Some(integers), first, step: 2 * width, are_lengths: false };
        (integers, [0, width].map(|first| Numbers { words: one(first).words(), memory: memory.clone() }))
    });
    let fits = |integers: &IntegerType| match integers {
        IntegerType::U32 => largest < 1 << 32,
        IntegerType::I32 => largest < 1 << 31,
        _ => true,
    };
    let mut all: Vec<[Numbers; 2]> = pairs.filter(|(integers, _)| fits(integers)).map(|(_, given)| given).collect();
    if ranges.iter().all(|range| range.start <= range.end) {
        let longest = ranges.iter().map(|range| range.end - range.start).max().unwrap_or_default();
        for [starts, lengths] in [[IntegerType::U64, IntegerType::I32], [IntegerType::I64, IntegerType::U64]] {
            if longest >= 1 << 31 && lengths == IntegerType::I32 {
                continue;
            }
            let array = |integers: IntegerType, are_lengths, n: fn(&Range<u64>) -> u64| {
                let mut memory = vec![];
                ranges.iter().for_each(|range| put(&mut memory, integers, n(range)));
                Numbers {
                    words: Array { integers: Some(integers), first: 0, step: integers.bytes(), are_lengths }.words(),
                    memory,
                }
            };
            all.push([
                array(starts, false, |range| range.start),
                array(lengths, true, |range| range.end - range.start),
            ]);
        }
    }
    if let [first, others @ ..] = ranges {
        let (step, bytes) =
            (others.first().map_or(0, |next| next.start.wrapping_sub(first.start)), first.end - first.start);
        let is_spaced =
            |(n, range): (usize, &Range<u64>)| *range == (first.start + n as u64 * step..first.end + n as u64 * step);
        if step < 1 << 50 && ranges.iter().enumerate().all(is_spaced) {
            let spaced = |array: Array| Numbers { words: array.words(), memory: vec![] };
            let lengths = Array { are_lengths: true, ..Array::spaced(bytes, 0) };
            all.push([spaced(Array::spaced(first.start, step)), spaced(lengths)]);
        }
    }
    all
}

/// Messages, and the first of them that is wrong.
struct Case {
    ranges: Vec<Range<u64>>,
    aads: Vec<Range<u64>>,
    length: u64,
    aad_length: u64,
    wrong: Option<(Fault, u32)>,
}

impl Case {
    /// Messages one after the other, with additional data anywhere, and all of it right.
    fn right(lengths: &[(u64, u64)]) -> Self {
        let mut at = 5;
        let range = |(n, (bytes, _)): (usize, &(u64, u64))| {
            let start = at + n as u64 % 3;
            at = start + bytes;
            start..at
        };
        let ranges: Vec<_> = lengths.iter().enumerate().map(range).collect();
        let aads: Vec<_> =
            lengths.iter().enumerate().map(|(n, (_, aad))| n as u64 * 7 % 100..n as u64 * 7 % 100 + aad).collect();
        let aad_length = aads.iter().map(|aad| aad.end).max().unwrap_or_default();
        Self { length: ranges.last().map_or(0, |range| range.end), ranges, aads, aad_length, wrong: None }
    }

    fn wrong(mut self, fault: Fault, n: u32, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self.wrong = Some((fault, n));
        self
    }
}

fn cases() -> Vec<Case> {
    let mixed = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let some: Vec<(u64, u64)> = (0..700).map(|n| (mixed(n) % 3000, mixed(n + 1000) % 40)).collect();
    let large =
        [(700 << 10, 0), (1 << 30, 300), (0, 0), (512, 1), (511 << 10, 511), (LONGEST, 0), (3 << 32, 7), (16, 1 << 20)];
    let few = || Case::right(&some[..9]);
    let mut all = vec![
        Case::right(&[]),
        Case::right(&[(0, 0)]),
        Case::right(&some),
        Case::right(&large),
        Case { aads: vec![3..16; 40], aad_length: 16, ..Case::right(&[(1500, 0); 40]) },
    ];
    let equal = (0..300).map(|n| 2048 * n..2048 * n + 2048).collect();
    all.push(Case { ranges: equal, aads: vec![0..0; 300], length: 300 << 11, aad_length: 0, wrong: None });
    use WrongRange::*;
    let (of_data, of_aad) = (Fault::Range, Fault::Aad);
    all.extend([
        few().wrong(of_data(EndsFirst), 4, |case| case.ranges[4].end = case.ranges[4].start - 1),
        few().wrong(of_data(Overlaps), 5, |case| case.ranges[5].start = case.ranges[4].end - 1),
        few().wrong(of_data(Beyond), 8, |case| case.length -= 1),
        few().wrong(of_data(Beyond), 0, |case| case.length = 0),
        few().wrong(of_aad(EndsFirst), 2, |case| (case.aads[2].start, case.aads[2].end) = (9, 8)),
        few().wrong(of_aad(Beyond), 3, |case| case.aads[3].end = case.aad_length + 1),
        // The fault that is reported is that of the first wrong message.
        few().wrong(of_aad(Beyond), 3, |case| {
            case.aads[3].end = case.aad_length + 1;
            case.ranges[7].start = 0;
        }),
        Case::right(&[(LONGEST + 1, 0)]).wrong(of_data(TooLong), 0, |_| ()),
        Case::right(&[(8, 1 << 32)]).wrong(of_aad(TooLong), 0, |_| ()),
    ]);
    all
}

/// Compiles the entry points that describe messages, and compares what they write with tables that the host makes: arrays
/// of all forms, lengths that count as the longest and others, nonces with carries, and everything that can be wrong. Returns `false` if
/// there is no C compiler.
pub fn printed_descriptions(hash: &Printed<Hash>) -> Result<bool, CheckError> {
    let manifest = &hash.manifest;
    let Some(mut program) = Program::compile(&hash.source, manifest)? else { return Ok(false) };
    let mut launches = 0;
    for case in cases() {
        let (ranges, aads) = (forms(&case.ranges), forms(&case.aads));
        for n in 0..ranges.len().max(aads.len()) {
            let ([starts, ends], [aad_starts, aad_ends]) = (&ranges[n % ranges.len()], &aads[n % aads.len()]);
            let arrays = [starts, ends, aad_starts, aad_ends];
            let nonces = [Nonces::Each, Nonces::Counted(1), Nonces::Counted(2)][n % 3];
            run(&mut program, manifest.threads, &case, arrays, nonces, launches)
                .map_err(|launch| launch.of(&manifest.kernel, launches))?;
            launches += 1;
        }
    }
    // Signs, ends that wrap, and nonces that start again.
    let few = Case::right(&[(30, 3); 9]);
    let (ranges, aads) = (forms(&few.ranges), &forms(&few.aads)[1]);
    let [starts, ends] = &ranges[1];
    // In both numbers of a pair of signed integers, of which an array has one.
    let negative = |given: &Numbers, n: usize| {
        let (mut given, pair) = (given.clone(), given.memory.len() / few.ranges.len());
        [pair * n + pair / 2 - 1, pair * (n + 1) - 1].into_iter().for_each(|last| given.memory[last] |= 0x80);
        given
    };
    let wraps =
        Numbers { words: Array { are_lengths: true, ..Array::spaced(u64::MAX - 2, 0) }.words(), memory: vec![] };
    let no_position = WrongRange::NoPosition;
    let wrong = [
        ([&negative(starts, 3), ends, &aads[0], &aads[1]], Nonces::Each, (Fault::Range(no_position), 3)),
        ([&negative(&ranges[3][0], 5), ends, &aads[0], &aads[1]], Nonces::Each, (Fault::Range(no_position), 5)),
        ([starts, &negative(ends, 0), &aads[0], &aads[1]], Nonces::Each, (Fault::Range(no_position), 0)),
        ([starts, ends, &negative(&aads[0], 8), &aads[1]], Nonces::Each, (Fault::Aad(no_position), 8)),
        ([starts, &wraps, &aads[0], &aads[1]], Nonces::Each, (Fault::Range(no_position), 0)),
        ([starts, ends, &aads[0], &aads[1]], Nonces::Ending(1), (Fault::Nonce, 2)),
        ([starts, ends, &aads[0], &aads[1]], Nonces::Ending(2), (Fault::Nonce, 2)),
    ];
    for (arrays, nonces, fault) in wrong {
        let case = Case { ranges: few.ranges.clone(), aads: few.aads.clone(), wrong: Some(fault), ..few };
        run(&mut program, manifest.threads, &case, arrays, nonces, launches)
            .map_err(|launch| launch.of(&manifest.kernel, launches))?;
        launches += 1;
    }
    Ok(true)
}

/// The nonces of a launch: different ones, or such as count up in as many words.
#[derive(Clone, Copy)]
enum Nonces {
    Each,
    Counted(u32),
    /// With room for two only.
    Ending(u32),
}

impl Nonces {
    fn given(self, count: usize) -> Numbers {
        let (array, memory) = match self {
            Self::Each => (NonceArray::Each(0), (0..12 * count).map(|i| ((i * 31) >> 2) as u8).collect()),
            Self::Counted(words) => {
                let last = if words == 1 { [0, 0, 0xff, 0xfd] } else { [0xff, 0xff, 0xff, 0xfd] };
                (NonceArray::Counted(0, words), [[9, 8, 7, 0xff], [0, 1, 0xff, 0xff], last].as_flattened().to_vec())
            }
            Self::Ending(words) => {
                let mut first = vec![0xff; 12];
                first[7 - 4 * (words as usize - 1)] = 3;
                first[11] = 0xfe;
                (NonceArray::Counted(0, words), first)
            }
        };
        Numbers { words: array.words(), memory }
    }

    /// That of a message.
    fn of(self, memory: &[u8], n: usize) -> [u8; 12] {
        let (Self::Counted(words) | Self::Ending(words)) = self else {
            return memory[12 * n..][..12].try_into().expect("12 bytes");
        };
        let mut nonce: [u8; 12] = memory.try_into().expect("12 bytes");
        let counter = &mut nonce[12 - 4 * words as usize..];
        let sum = counter.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) + n as u64;
        let bytes = sum.to_be_bytes();
        counter.copy_from_slice(&bytes[8 - counter.len()..]);
        nonce
    }
}

/// Why a launch failed.
enum Failed {
    Error(CheckError),
    Wrong(&'static str),
}

impl Failed {
    fn of(self, kernel: &str, launch: usize) -> CheckError {
        match self {
            Self::Error(error) => error,
            Self::Wrong(what) => {
                CheckError::Hash { kernel: kernel.into(), launch: format!("{what}, description {launch}") }
            }
        }
    }
}

/// Describes a case, and compares.
fn run(
    program: &mut Program,
    threads: u32,
    case: &Case,
    [starts, ends, aad_starts, aad_ends]: [&Numbers; 4],
    nonces: Nonces,
    n: usize,
) -> Result<(), Failed> {
    let count = case.ranges.len();
    let of_nonces = nonces.given(count);
    let tag_bytes = [16, 12, 4][n % 3];
    let threads = Threads { thread_blocks: 1 + n as u64 % 3, threads };
    let (table, tally) = (vec![0x5a; 48 * count], vec![0; 4 * TALLY_WORDS]);
    let written = program.run(Entry::BatchDescribe, threads, &"a description", &|name| {
        Some(match name {
            Argument::Starts => starts.given(),
            Argument::Ends => ends.given(),
            Argument::Nonces => of_nonces.given(),
            Argument::AadStarts => aad_starts.given(),
            Argument::AadEnds => aad_ends.given(),
            Argument::Length => Given::Number(case.length),
            Argument::AadLength => Given::Number(case.aad_length),
            Argument::TagBytes => Given::Number(tag_bytes.into()),
            Argument::All => Given::Number(count as u64),
            Argument::Messages => Given::Written(&table, 0),
            Argument::Tally => Given::Written(&tally, 0),
            _ => return None,
        })
    });
    let [table, tally]: [Vec<u8>; 2] = written.map_err(Failed::Error)?.try_into().expect("table and tally");
    let (order, fault) = (vec![0x5a; 4 * count], vec![0x5a; 8]);
    let written = program.run(Entry::BatchOrder, threads, &"an order", &|name| {
        Some(match name {
            Argument::All => Given::Number(count as u64),
            Argument::Messages => Given::Read(&table, 0),
            Argument::Tally => Given::Written(&tally, 0),
            Argument::Order => Given::Written(&order, 0),
            Argument::Fault => Given::Written(&fault, 0),
            _ => return None,
        })
    });
    let [_, order, fault]: [Vec<u8>; 3] = written.map_err(Failed::Error)?.try_into().expect("tally, order and fault");
    let numbers =
        |bytes: &[u8]| -> Vec<u32> { bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect() };
    let [code, message] = numbers(&fault).try_into().expect("two words");
    if Fault::read([code, message]) != Ok(case.wrong) {
        return Err(Failed::Wrong("the fault"));
    }
    let order = numbers(&order);
    if case.wrong.is_some() {
        let has_none = order.iter().all(|number| *number == NO_MESSAGE);
        return if has_none { Ok(()) } else { Err(Failed::Wrong("the order of no messages")) };
    }
    let message = |n: usize| {
        let (range, aad) = (&case.ranges[n], &case.aads[n]);
        let first = [&nonces.of(&of_nonces.memory, n)[..], &[0, 0, 0, 1]].concat();
        Message {
            first: first.try_into().expect("16 bytes"),
            at: range.start,
            bytes: range.end - range.start,
            aad_at: aad.start as u32,
            aad_bytes: (aad.end - aad.start) as u32,
            tag_bytes,
            first_run: 0,
        }
    };
    let expected: Vec<_> = (0..count).map(|n| words_of(&message(n))).collect();
    if table != expected.as_flattened().as_flattened() {
        return Err(Failed::Wrong("the table"));
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let steps = |n: &u32| (message(*n as usize).hashed_blocks() / 32).min(1023);
    if !sorted.into_iter().eq(0..count as u32) || !order.is_sorted_by(|one, next| steps(one) >= steps(next)) {
        return Err(Failed::Wrong("the order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::faults::{faults_show, with_source};
    use crate::check::sample::{all_or, sample};
    use crate::emit::gcm;

    #[test]
    fn messages_are_described_and_what_is_wrong_is_found() {
        let printed = gcm::print("a test");
        let check = |source: &str| printed_descriptions(&with_source(&printed, source));
        check(&printed.source).unwrap();
        let faults = [
            ("wrong ? NO_MESSAGE : n", "n"),
            ("end - begin.value > longest ", "end - begin.value > longest + 1 "),
            ("data.begin < range_in", "data.begin <= range_in"),
            ("is_signed && word >> 31", "0"),
            ("is_signed && p.value >> 63", "0"),
            ("if (bits == 32 || !carry) return carry;", "if (bits == 32 || !carry) return 0;"),
            ("return before == 0;", "return 0;"),
            ("(u64)(0xffffffff - n) << 32", "(u64)n << 32"),
            ("at >= apart ?", "at > apart ?"),
            ("if (counts[i]) places[i] +=", "places[i] -="),
            ("steps < LENGTHS ? LENGTHS - 1", "steps < LENGTHS ? LENGTHS - 2"),
            ("(u32)aad.begin, aad_bytes, 0, tag_bytes", "(u32)aad.begin, aad_bytes, 0, 16"),
        ];
        faults_show(&printed.source, sample(0, all_or(1, 4), faults), check);
    }
}
