//! The nonces of many messages: as the caller has them in memory ([`Nonces`]), the check that none is there twice, and their first counter
//! blocks.

use crate::op::ranges::Fault;
use aes_bitslice_core::count::counted;
use aes_bitslice_core::memory::{NoMemory, collected, filled, room};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use zeroize::Zeroize;

/// The nonces of messages of GCM, in the order of the messages.
#[derive(Clone, Copy, Debug)]
pub struct Nonces<'a>(Form<'a>);

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Counted { first: [u8; 12], bits: u32 },
    Twelve(&'a [[u8; 12]]),
    Listed(&'a [&'a [u8]]),
}

impl<'a> Nonces<'a> {
    /// Nonces that count up from the first: the last `counter_bits` bits, 32 or 64, are a big-endian number, to which the number of the
    /// message is added, and the others are the same in all (SP 800-38D, section 8.2.1: the invocation field and the fixed field). Another
    /// number of bits, and a number that would start again from zero, are refused by the operation.
    pub fn counted(first: [u8; 12], counter_bits: u32) -> Self {
        Self(Form::Counted { first, bits: counter_bits })
    }

    /// The J0 of each of `count` messages; of nonces that do not have 12 bytes it depends on the key, and `others` gets them, with their
    /// numbers. Or what is wrong. With `fresh`, two messages with the same nonce are.
    pub(crate) fn first_counters(
        &self,
        count: usize,
        fresh: bool,
        others: &mut Others,
    ) -> Result<FirstCounters, Fault> {
        let check_number = |nonces| {
            let (found, messages) = (counted(nonces, "nonce"), counted(count, "message"));
            if nonces == count { Ok(()) } else { Err(format!("{found} for {messages}: give one for each")) }
        };
        match self.0 {
            Form::Counted { first, bits } => Ok(FirstCounters::counted(&first, bits, count)?),
            Form::Twelve(all) => {
                check_number(all.len())?;
                let first = FirstCounters::Each(collected(all.iter().map(|nonce| of_twelve(nonce).to_be_bytes()))?);
                if fresh {
                    let mixer = Mixer::new();
                    let number = |n: usize| of_twelve(&all[n]) >> 32;
                    refuse_repeated(NEW, count, number, |nonce| mixer.mix(nonce as u64, (nonce >> 64) as u64))?;
                }
                Ok(first)
            }
            Form::Listed(all) => {
                check_number(all.len())?;
                Self::of_list(count, |n| all[n], fresh, others)
            }
        }
    }

    /// For nonces of any lengths, given by the numbers of their messages; none is empty.
    pub(crate) fn of_list<'b>(
        count: usize,
        nonce: impl Fn(usize) -> &'b [u8],
        fresh: bool,
        others: &mut Others,
    ) -> Result<FirstCounters, Fault> {
        if fresh {
            let mixer = Mixer::new();
            refuse_repeated(NEW, count, &nonce, |nonce| {
                let word = |bytes: &[u8]| bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
                nonce.chunks(8).fold(nonce.len() as u64, |mixed, bytes| mixer.mix(mixed, word(bytes)))
            })?;
        }
        *others = Others::with_room((0..count).map(&nonce).filter(|nonce| nonce.len() != 12))?;
        let first = |n| match nonce(n).try_into() {
            Ok(twelve) => of_twelve(twelve).to_be_bytes(),
            Err(_) => {
                others.push(n, nonce(n));
                [0; 16]
            }
        };
        Ok(FirstCounters::Each(collected((0..count).map(first))?))
    }
}

/// Nonces of 12 bytes.
impl<'a> From<&'a [[u8; 12]]> for Nonces<'a> {
    fn from(nonces: &'a [[u8; 12]]) -> Self {
        Self(Form::Twelve(nonces))
    }
}

/// Nonces of any lengths from 1 on.
impl<'a> From<&'a [&'a [u8]]> for Nonces<'a> {
    fn from(nonces: &'a [&'a [u8]]) -> Self {
        Self(Form::Listed(nonces))
    }
}

/// The nonces that do not have 12 bytes, with the numbers of their messages.
#[derive(Debug, Default)]
pub(crate) struct Others {
    /// The number of each message, and where in the bytes its nonce is.
    each: Vec<(usize, Range<usize>)>,
    bytes: Vec<u8>,
}

impl Others {
    /// None, with room for these.
    fn with_room<'b>(nonces: impl Iterator<Item = &'b [u8]> + Clone) -> Result<Self, NoMemory> {
        Ok(Self { each: room(nonces.clone().count())?, bytes: room(nonces.map(<[u8]>::len).sum())? })
    }

    fn push(&mut self, n: usize, nonce: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(nonce);
        self.each.push((n, start..self.bytes.len()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.each.iter().map(|(n, range)| (*n, &self.bytes[range.clone()]))
    }
}

/// J0 of each message (SP 800-38D, section 7.1).
#[derive(Debug)]
pub(crate) enum FirstCounters {
    /// Of the first; of each message it is higher by this for each message before.
    Counted {
        first: u128,
        step: u128,
    },
    Each(Vec<[u8; 16]>),
}

impl FirstCounters {
    pub(crate) fn counted(first: &[u8; 12], bits: u32, count: usize) -> Result<Self, String> {
        if bits != 32 && bits != 64 {
            return Err(format!("nonces with a counter of {bits} bits: it has 32 or 64"));
        }
        let nonce = of_twelve(first) >> 32;
        let left = (1 << bits) - nonce % (1 << bits);
        if count as u128 > left {
            return Err(format!(
                "nonces would start again: the first one leaves a counter of {bits} bits room for {left}, and there are {}",
                counted(count, "message")
            ));
        }
        Ok(Self::Counted { first: nonce << 32 | 1, step: 1 << 32 })
    }

    /// J0 of the message with this number.
    #[inline]
    pub(crate) fn get(&self, n: usize) -> [u8; 16] {
        match self {
            Self::Counted { first, step } => (first + n as u128 * step).to_be_bytes(),
            Self::Each(all) => all[n],
        }
    }

    /// Replaces the one of a message whose nonce does not have 12 bytes.
    pub(crate) fn set(&mut self, n: usize, counter: [u8; 16]) {
        if let Self::Each(all) = self {
            all[n] = counter;
        }
    }

    pub(crate) fn copied(&self) -> Result<Self, NoMemory> {
        Ok(match self {
            Self::Counted { first, step } => Self::Counted { first: *first, step: *step },
            Self::Each(all) => Self::Each(collected(all.iter().copied())?),
        })
    }

    /// Overwrites them.
    pub(crate) fn wipe(&mut self) {
        if let Self::Each(all) = self {
            all.zeroize();
        }
    }
}

/// J0 of a nonce of 12 bytes, as a big-endian number (SP 800-38D, section 7.1, step 2).
pub(crate) fn of_twelve(nonce: &[u8; 12]) -> u128 {
    let (first, last) = nonce.split_first_chunk().expect("8 bytes");
    let last = last.try_into().expect("4 bytes");
    u128::from(u64::from_be_bytes(*first)) << 64 | u128::from(u32::from_be_bytes(last)) << 32 | 1
}

/// A hash of public numbers, another one in each call: no choice of nonces makes many of them collide.
struct Mixer([u64; 2]);

impl Mixer {
    fn new() -> Self {
        let random = RandomState::new();
        Self([0, 1].map(|n: u8| random.hash_one(n)))
    }

    #[inline]
    fn mix(&self, a: u64, b: u64) -> u64 {
        let product = u128::from(a ^ self.0[0]) * u128::from(b ^ self.0[1]);
        product as u64 ^ (product >> 64) as u64
    }
}

/// What two messages under one key do not have.
const NEW: &str = "the same nonce, which must be new for every message";
const NEW_UNDER_A_KEY: &str = "the same key number and the same nonce, which must be new for every message under a key";

/// Refuses two messages with the same number of a key and the same J0; `first` gets the number of a message, and returns its J0.
pub(crate) fn refuse_repeated_under_a_key(keys: &[u32], first: impl Fn(usize) -> [u8; 16]) -> Result<(), Fault> {
    let both = |n: usize| (u128::from_be_bytes(first(n)), keys[n]);
    let swapped = |n: usize| (keys[n], first(n));
    // Those of each key, one after the other, need no table either.
    if (1..keys.len()).all(|n| swapped(n - 1) < swapped(n)) {
        return Ok(());
    }
    let mixer = Mixer::new();
    refuse_repeated(NEW_UNDER_A_KEY, keys.len(), both, |(first, key)| {
        mixer.mix(first as u64, mixer.mix((first >> 64) as u64, key.into()))
    })
}

/// Refuses two messages with the same nonce, which under one key give away both messages and the hash key. Nonces are public: branches and
/// addresses may depend on them. `what` names what they would have in common.
fn refuse_repeated<T: Ord>(
    what: &str,
    count: usize,
    nonce: impl Fn(usize) -> T,
    hash: impl Fn(T) -> u64,
) -> Result<(), Fault> {
    // Nonces that count up need no table.
    if (1..count).all(|n| nonce(n - 1) < nonce(n)) {
        return Ok(());
    }
    /// No message.
    const NONE: (u32, u32) = (0, u32::MAX);
    // The numbers of messages with a part of their hash, each in the first free place from the one that the rest of its hash says.
    let places = (2 * count).next_power_of_two();
    let mut table = filled(NONE, places)?;
    for n in 0..count {
        let hash = hash(nonce(n));
        let (tag, mut place) = ((hash >> 32) as u32, hash as usize % places);
        while table[place] != NONE {
            let (other_tag, other) = table[place];
            if other_tag == tag && nonce(other as usize) == nonce(n) {
                return Err(format!("messages {other} and {n} have {what}").into());
            }
            place = (place + 1) % places;
        }
        table[place] = (tag, n as u32);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(fault: Fault) -> String {
        match fault {
            Fault::Wrong(what) => what,
            Fault::NoMemory(error) => panic!("{error}"),
        }
    }

    fn counters(nonces: Nonces<'_>, count: usize) -> Result<Vec<[u8; 16]>, String> {
        let (mut others, again) = (Others::default(), &mut Others::default());
        let first = nonces.first_counters(count, true, &mut others).map_err(refused)?;
        assert!(others.is_empty());
        let all: Vec<_> = (0..count).map(|n| first.get(n)).collect();
        assert!(nonces.first_counters(count, false, again).is_ok());
        Ok(all)
    }

    #[test]
    fn what_is_wiped_is_gone() {
        let mut first = FirstCounters::Each(vec![Default::default(); 3]);
        first.wipe();
        assert!(matches!(first, FirstCounters::Each(all) if all.is_empty()));
    }

    /// The fixed field stays, also where the counter has no carry left.
    #[test]
    fn nonces_count_up_and_do_not_start_again() {
        for (bits, at) in [(32, 8), (64, 4)] {
            let mut first = [0xff; 12];
            first[11] = 0xfd;
            let all = counters(Nonces::counted(first, bits), 3).unwrap();
            for (n, counter) in all.iter().enumerate() {
                first[11] = 0xfd + n as u8;
                assert_eq!(counter[..], [&first[..], &[0, 0, 0, 1]].concat());
            }
            first[11] = 0xfd;
            let refused = counters(Nonces::counted(first, bits), 4).unwrap_err();
            assert!(refused.contains("room for 3, and there are 4 messages"), "{refused}");
            first[at..].fill(0);
            assert_eq!(counters(Nonces::counted(first, bits), 300).unwrap()[299][10..12], [1, 43]);
            first[at - 1] = 1;
            first[at..].fill(0xff);
            assert!(counters(Nonces::counted(first, bits), 1).is_ok(), "one more");
            assert!(counters(Nonces::counted(first, bits), 2).is_err(), "no more");
            assert!(counters(Nonces::counted(first, bits), 0).unwrap().is_empty());
        }
        for bits in [0, 31, 33, 96, 128] {
            assert!(counters(Nonces::counted([0; 12], bits), 1).is_err(), "{bits}");
        }
    }

    /// In any order, with the equal ones anywhere, as arrays and as lists.
    #[test]
    fn a_nonce_that_is_there_twice_is_found() {
        let mixed = |n: u32| {
            let [a, b, c, d] = n.wrapping_mul(0x9e37_79b1).to_be_bytes();
            [9, 9, a, 9, b, 9, 9, c, 9, 9, d, 9]
        };
        for count in [0, 1, 2, 3, 17, 1000] {
            let nonces: Vec<[u8; 12]> = (0..count).map(mixed).collect();
            let twice = |nonces: &[[u8; 12]]| {
                let list: Vec<&[u8]> = nonces.iter().map(|nonce| &nonce[..]).collect();
                let outcomes = [Nonces::from(nonces), Nonces::from(&*list)].map(|all| counters(all, nonces.len()));
                let [one, other] = outcomes;
                assert_eq!(one, other);
                one
            };
            let expected: Vec<_> = nonces.iter().map(|nonce| of_twelve(nonce).to_be_bytes()).collect();
            assert_eq!(twice(&nonces), Ok(expected));
            for (a, b) in [(0, 1), (0, nonces.len().wrapping_sub(1)), (nonces.len() / 2, nonces.len() / 3)] {
                if a != b && a < nonces.len() && b < nonces.len() {
                    let mut nonces = nonces.clone();
                    nonces[b] = nonces[a];
                    let refused = twice(&nonces).unwrap_err();
                    assert!(refused.contains(&format!("messages {} and {} have the same", a.min(b), a.max(b))));
                }
            }
        }
        let in_any_byte: [[u8; 12]; 12] = std::array::from_fn(|n| std::array::from_fn(|i| u8::from(i == n)));
        assert!(counters(Nonces::from(&in_any_byte[..]), 12).is_ok());
        assert!(refuse_repeated(NEW, 3, |n| [3, 1, 2][n], |_| 7).is_ok(), "others with the same hash");
        // A nonce of another length is another nonce.
        let lengths: Vec<&[u8]> = vec![&[7; 13], &[7; 12], &[7; 8], &[7; 16], &[0, 7], &[7]];
        let mut others = Others::default();
        assert!(Nonces::from(&*lengths).first_counters(6, true, &mut others).is_ok());
        let found: Vec<_> = others.iter().collect();
        assert_eq!(found, [0, 2, 3, 4, 5].map(|n| (n, lengths[n])));
        let refused = Nonces::from(&[[7; 12]][..]).first_counters(2, true, &mut others).map_err(refused).unwrap_err();
        assert!(refused.contains("1 nonce for 2 messages"), "{refused}");
    }
}
