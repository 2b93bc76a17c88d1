//! A fault planted in what the library returns, before anything looks at it: if no comparison finds it, a comparison is missing.
//!
//! All that a call returns is counted on its way through here: whether it was refused, what it returned, and the bytes that it may have
//! changed. One of these is changed.

use crate::random::Random;
use aes_bitslice_runtime::{Error, OpenedBatch, PartialHash, Tag};

/// Counts what a call returns, and changes one of it.
pub struct Planted {
    random: Random,
    /// Values up to now.
    count: u64,
    /// The number of the one that is changed.
    at: Option<u64>,
}

impl Planted {
    pub fn new(at: Option<u64>, random: Random) -> Self {
        Self { random, count: 0, at }
    }

    /// Values that were returned.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the next value is the one that is changed.
    fn next(&mut self) -> bool {
        let is_changed = self.at == Some(self.count);
        self.count += 1;
        is_changed
    }

    /// Bytes that a call may have written.
    pub fn bytes(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() && self.next() {
            flip(bytes, &mut self.random);
        }
    }

    /// Whether a call was refused.
    pub fn refusal(&mut self, is_refused: bool) -> bool {
        self.next() != is_refused
    }

    /// What a call returned: whether it failed, and if not, its value.
    pub fn outcome<T: Returned>(&mut self, outcome: Result<T, Error>) -> Result<T::Seen, Error> {
        match (outcome, self.next()) {
            (Ok(_), true) => Err(Error::Unauthenticated),
            (Err(_), true) => Ok(T::Seen::default()),
            (Err(error), false) => Err(error),
            (Ok(value), false) => {
                let mut seen = value.seen();
                if T::IS_VALUE && self.next() {
                    T::change(&mut seen, &mut self.random);
                }
                Ok(seen)
            }
        }
    }
}

/// What calls return, and how it is compared.
pub trait Returned {
    /// Whether there is anything to compare.
    const IS_VALUE: bool = true;
    type Seen: Default;

    fn seen(self) -> Self::Seen;

    /// Makes another of it.
    fn change(seen: &mut Self::Seen, random: &mut Random);
}

impl Returned for () {
    const IS_VALUE: bool = false;
    type Seen = ();

    fn seen(self) {}

    fn change((): &mut (), _: &mut Random) {}
}

impl Returned for Tag {
    type Seen = Vec<u8>;

    fn seen(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }

    fn change(seen: &mut Vec<u8>, random: &mut Random) {
        flip(seen, random);
    }
}

/// Tags, one after the other.
impl Returned for Vec<Tag> {
    type Seen = Vec<u8>;

    fn seen(self) -> Vec<u8> {
        self.iter().flat_map(|tag| tag.as_bytes().iter().copied()).collect()
    }

    fn change(seen: &mut Vec<u8>, random: &mut Random) {
        if seen.is_empty() { seen.push(0) } else { flip(seen, random) }
    }
}

/// The messages that were refused.
impl Returned for OpenedBatch {
    type Seen = Vec<usize>;

    fn seen(self) -> Vec<usize> {
        self.failed().to_vec()
    }

    fn change(seen: &mut Vec<usize>, _: &mut Random) {
        if seen.pop().is_none() {
            seen.push(0);
        }
    }
}

impl Returned for PartialHash {
    type Seen = Self;

    fn seen(self) -> Self {
        self
    }

    fn change(seen: &mut Self, random: &mut Random) {
        flip(&mut seen.hash, random);
    }
}

/// Changes a bit of some bytes.
fn flip(bytes: &mut [u8], random: &mut Random) {
    bytes[random.below(bytes.len() as u64) as usize] ^= 1 << random.below(8);
}
