//! A fault planted in the library's results, before anything looks at them: if no comparison finds it, a comparison is missing.
//!
//! Everything that a call returns is counted as it passes through here: whether it was refused, its result, and the bytes that it may
//! have changed. One of these is changed.

use crate::random::Random;
use aes_bitslice_runtime::{Error, OpenedBatch, PartialHash, Tag};

/// Counts the values that a call returns, and changes one of them.
pub struct Planted {
    random: Random,
    /// Values so far.
    count: u64,
    /// The number of the value to change.
    at: Option<u64>,
}

impl Planted {
    pub fn new(at: Option<u64>, random: Random) -> Self {
        Self { random, count: 0, at }
    }

    /// The number of values returned.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the next value is the one to change.
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

    /// The outcome of a call: whether it failed, and if not, its value.
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

/// Values that calls return, and their form for comparison.
pub trait Returned {
    /// Whether there is anything to compare.
    const IS_VALUE: bool = true;
    type Seen: Default;

    fn seen(self) -> Self::Seen;

    /// Changes it.
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
