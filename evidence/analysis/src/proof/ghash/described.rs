//! The claim about messages of GCM that arrays in device memory describe: the first of two launches writes the table of the messages, and finds
//! the first one that is wrong; the second writes that fault and, if there is none, the number of each message once, those with the most blocks
//! first, else that there are no messages. Nothing else is written, and nothing beside the arrays is read.
//!
//! All of it is public, so numbers are known here: the claim is about the arrays of a case.
//!
//! # Atomic operations in any order
//!
//! A launch runs in one of two orders ([`Turns`]), and the claim must hold in both. For all other orders there is an argument on paper. The
//! operations on one place are of one kind, which the prover checks, additions or maxima: what they leave there is independent of their order.
//! What they return is used by the second launch only: each thread block takes places for its messages of a length by one addition, and each
//! message one of these by another. In every order, what additions return divides the places of a length among thread blocks, and those of a
//! thread block among its messages. It becomes the address of a store, on which no branch depends. So each order has the stores of this one,
//! except that messages of one length, in steps of 32 blocks, exchange places.

use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::ghash::messages::{MESSAGES, ORDER};
use crate::proof::kernel::Proved;
use crate::proof::launch::{Launch, compare};
use crate::proof::machine::Turns;
use crate::proof::memory::{Byte, Memory, known, number};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::described::{Array, Fault, IntegerType, NO_MESSAGE, NonceArray, TALLY_WORDS, WrongRange};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::messages::{MESSAGE_WORDS, Message, words_of};

/// Addresses of nonces, of the other arrays, of what is counted, and of the fault.
const NONCES: u64 = buffer(1);
const ARRAYS: [u64; 4] = [buffer(2), buffer(3), buffer(7), buffer(8)];
const TALLY: u64 = buffer(9);
const FAULT: u64 = buffer(10);

/// The most bytes of a message (SP 800-38D, section 5.2.1.1), and of its additional data.
pub const LONGEST: [i128; 2] = [(1 << 36) - 32, u32::MAX as i128];
/// From this many steps of 32 blocks on, messages are equally long.
const LENGTHS: u64 = 1024;

/// An array.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Its type, if its numbers are in memory, each at twice the distance that it needs. Without one, the first two say what all are.
    pub integers: Option<IntegerType>,
    /// Whether they are lengths, where they could also be ends.
    pub are_lengths: bool,
    /// The numbers.
    pub numbers: Vec<i128>,
}

impl Numbers {
    /// As a kernel takes it, and what is in memory at this address.
    fn given(&self, at: u64) -> (Vec<Byte>, Vec<(u64, Vec<Byte>)>) {
        let bytes = self.integers.map(IntegerType::bytes);
        let array = Array {
            integers: self.integers,
            first: bytes.map_or(self.at(0) as u64, |_| at),
            step: bytes.map_or((self.at(1) - self.at(0)) as u64, |bytes| 2 * bytes),
            are_lengths: self.are_lengths,
        };
        let put = |(n, integer): (u64, &i128)| {
            let bytes = bytes?;
            Some((at + 2 * bytes * n, number(*integer as u64, bytes as usize)))
        };
        let words = array.words().into_iter().flat_map(|word| number(word.into(), 4));
        (words.collect(), (0..).zip(&self.numbers).filter_map(put).collect())
    }

    fn at(&self, n: usize) -> i128 {
        let first = |n: usize| self.numbers.get(n).copied().unwrap_or_default();
        if self.integers.is_some() { first(n) } else { first(0) + n as i128 * (first(1) - first(0)).max(0) }
    }
}

/// The nonces of messages.
#[derive(Clone, Debug)]
pub enum Nonces {
    /// One for each message.
    Each,
    /// The first one, to whose last words, this many, the number of a message is added.
    Counted(u32, [u8; 12]),
}

impl Nonces {
    /// The nonce of a message, and whether there is none left for it.
    fn of(&self, n: usize) -> ([u8; 12], bool) {
        let Self::Counted(words, first) = self else {
            return (std::array::from_fn(|i| (29 * n + 7 * i) as u8), false);
        };
        let (fixed, counted) = first.split_at(12 - 4 * *words as usize);
        let sum = counted.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte)) + n as u128;
        let all = [fixed, &sum.to_be_bytes()[16 - counted.len()..]].concat();
        (std::array::from_fn(|i| all[i]), sum >> (8 * counted.len()) > 0)
    }
}

/// Arrays, and how they are launched.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where messages begin, and where they end or how long they are.
    pub data: [Numbers; 2],
    /// Likewise, of additional data.
    pub aad: [Numbers; 2],
    /// Bytes of data and of additional data that there are.
    pub lengths: [u64; 2],
    /// The nonces.
    pub nonces: Nonces,
    /// The number of messages.
    pub count: usize,
    /// Thread blocks.
    pub thread_blocks: u64,
    /// The order of turns.
    pub turns: Turns,
}

impl Case {
    /// The range with this number of data or of additional data, and what is wrong with it by itself.
    fn range(&self, of: usize, n: usize) -> ([i128; 2], Option<WrongRange>) {
        let [begins, ends] = [&self.data, &self.aad][of];
        let (begin, other) = (begins.at(n), ends.at(n));
        let end = other + if ends.are_lengths { begin } else { 0 };
        let wrong = [
            (begin < 0 || other < 0 || end >> 64 > 0, WrongRange::NoPosition),
            (end < begin, WrongRange::EndsFirst),
            (end - begin > LONGEST[of], WrongRange::TooLong),
            (end > self.lengths[of].into(), WrongRange::Beyond),
        ];
        ([begin, end], wrong.into_iter().find_map(|(is_so, wrong)| is_so.then_some(wrong)))
    }

    /// What is wrong with a message, if those before are right.
    fn wrong(&self, n: usize) -> Option<Fault> {
        let (([begin, _], of_data), (_, of_aad)) = (self.range(0, n), self.range(1, n));
        let overlaps = n > 0 && begin < self.range(0, n - 1).0[1];
        let of_data = of_data.or(overlaps.then_some(WrongRange::Overlaps)).map(Fault::Range);
        of_data.or(of_aad.map(Fault::Aad)).or(self.nonces.of(n).1.then_some(Fault::Nonce))
    }

    /// The first fault, and the number of its message.
    pub fn fault(&self) -> Option<(Fault, u32)> {
        (0..self.count).find_map(|n| Some((self.wrong(n)?, n as u32)))
    }

    fn message(&self, n: usize) -> Message {
        let [(data, _), (aad, _)] = [0, 1].map(|of| self.range(of, n));
        let first = [&self.nonces.of(n).0[..], &[0, 0, 0, 1]].concat();
        Message {
            first: std::array::from_fn(|i| first[i]),
            at: data[0] as u64,
            bytes: (data[1] - data[0]) as u64,
            aad_at: aad[0] as u32,
            aad_bytes: (aad[1] - aad[0]) as u32,
            tag_bytes: 13,
            first_run: 0,
        }
    }
}

/// What a launch left in memory.
fn bytes_at(memory: &Memory, at: u64, count: usize) -> Result<Vec<Byte>, String> {
    (at..at + count as u64).map(|at| memory.byte(at)).collect()
}

fn words_at(memory: &Memory, at: u64, count: usize) -> Result<Vec<u32>, String> {
    let bit = |word, (i, bit): (usize, &Bit)| Some(word | u32::from(bit.as_constant()?) << i);
    let word = |bytes: &[Byte; 4]| bytes.as_flattened().iter().enumerate().try_fold(0, bit);
    let words = bytes_at(memory, at, 4 * count)?.as_chunks().0.iter().map(word).collect::<Option<_>>();
    words.ok_or_else(|| "a number was expected that is known".into())
}

/// Proves that two launches describe the messages of a case, or say what is wrong with them.
///
/// # Errors
/// In words: what differs, the instruction that cannot be followed, or why there is no such launch.
pub fn prove_described(manifest: &Manifest<Hash>, ptx: &str, case: &Case) -> Result<Proved, String> {
    let cells = &mut Cells::new();
    let grid = Grid { blocks: case.thread_blocks, threads: manifest.threads as usize };
    let mut launch =
        |entry, given: &[(Argument, Vec<Byte>)], memory: &[(u64, Vec<Byte>)], writable: &[(u64, usize)]| {
            let entry = manifest.entry(entry).map_err(|e| e.to_string())?;
            let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: 0 };
            let argument = |name| given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.clone());
            let memory: Vec<(u64, &[Byte])> = memory.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
            launch.run_by(case.turns, cells, argument, &memory, writable)
        };
    let address = |at| number(at, 8);
    let [table_bytes, tally_bytes] = [4 * MESSAGE_WORDS * case.count, 4 * TALLY_WORDS];
    let tables = [
        (Argument::All, number(case.count as u64, 4)),
        (Argument::Messages, address(MESSAGES)),
        (Argument::Tally, address(TALLY)),
    ];

    let arrays = [&case.data[0], &case.data[1], &case.aad[0], &case.aad[1]];
    let arrays: [_; 4] = std::array::from_fn(|n| arrays[n].given(ARRAYS[n]));
    let names = [Argument::Starts, Argument::Ends, Argument::AadStarts, Argument::AadEnds];
    let (nonce_array, nonces) = match case.nonces {
        Nonces::Each => (NonceArray::Each(NONCES), case.count),
        Nonces::Counted(words, _) => (NonceArray::Counted(NONCES, words), 1),
    };
    let mut given = tables.to_vec();
    given.extend(names.into_iter().zip(&arrays).map(|(name, (words, _))| (name, words.clone())));
    given.extend([
        (Argument::Nonces, nonce_array.words().into_iter().flat_map(|word| number(word.into(), 4)).collect()),
        (Argument::Length, number(case.lengths[0], 8)),
        (Argument::AadLength, number(case.lengths[1], 8)),
        (Argument::TagBytes, number(13, 4)),
    ]);
    let mut memory: Vec<(u64, Vec<Byte>)> = arrays.into_iter().flat_map(|(_, memory)| memory).collect();
    memory.push((NONCES, (0..nonces).flat_map(|n| case.nonces.of(n).0).map(known).collect()));
    memory.push((TALLY, vec![known(0); tally_bytes]));
    let described = launch(Entry::BatchDescribe, &given, &memory, &[(MESSAGES, table_bytes), (TALLY, tally_bytes)])?;
    // Of a message that is wrong there is no description.
    for n in (0..case.count).filter(|&n| case.wrong(n).is_none()) {
        let expected: Vec<Byte> = words_of(&case.message(n)).as_flattened().iter().copied().map(known).collect();
        let at = MESSAGES + 4 * (MESSAGE_WORDS * n) as u64;
        compare(&described, at, &expected).map_err(|why| format!("message {n}: {why}"))?;
    }

    let mut given = tables.to_vec();
    given.extend([(Argument::Order, address(ORDER)), (Argument::Fault, address(FAULT))]);
    let memory = [(MESSAGES, table_bytes), (TALLY, tally_bytes)]
        .map(|(at, bytes)| bytes_at(&described, at, bytes).map(|bytes| (at, bytes)));
    let memory: Vec<_> = memory.into_iter().collect::<Result<_, _>>()?;
    let ordered =
        launch(Entry::BatchOrder, &given, &memory, &[(TALLY, tally_bytes), (ORDER, 4 * case.count), (FAULT, 8)])?;
    let fault = words_at(&ordered, FAULT, 2)?;
    let found = Fault::read([fault[0], fault[1]]);
    if found != Ok(case.fault()) {
        return Err(format!("the fault is {found:?}, not {:?}", case.fault()));
    }
    let order = words_at(&ordered, ORDER, case.count)?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let steps = |n: &u32| (case.message(*n as usize).hashed_blocks() / 32).min(LENGTHS - 1);
    let is_right = match found {
        Ok(None) => sorted.into_iter().eq(0..case.count as u32) && order.is_sorted_by(|a, b| steps(a) >= steps(b)),
        _ => sorted.iter().all(|number| *number == NO_MESSAGE),
    };
    if is_right { Ok(Proved { bits: 8 * table_bytes + 32 * case.count }) } else { Err("the order differs".into()) }
}
