//! A call: what it is made with, how it is made at a random place, and the comparison of what it returns.

use crate::Wrong;
use crate::place::{Can, Place, Returned, Streams, wrong};
use crate::random::Random;
use aes_bitslice_runtime::{Cipher, Engine, Operation, Tag};
use std::ops::Range;

/// A call, and what it is made with.
pub struct Call<'a> {
    pub engine: &'a Engine,
    /// That of the CPU, which is compared with.
    pub cpu: &'a Engine,
    pub key: &'a [u8],
    /// The key on both.
    pub cipher: &'a Cipher,
    pub reference: &'a Cipher,
    pub streams: &'a Streams,
    pub random: &'a mut Random,
    /// Bytes of data.
    pub bytes: usize,
    /// Where the data was in the last call.
    pub place: Place,
    /// Whether data, additional data or a tag is changed before it is decrypted or verified, which must then be refused.
    pub forged: bool,
    /// Comparisons up to now.
    pub comparisons: u64,
    /// The number of the comparison that is given changed bytes, which it must find.
    pub planted: Option<u64>,
}

impl Call<'_> {
    /// Whether the data is little enough for other implementations, which take their time.
    pub fn is_small(&self) -> bool {
        self.bytes <= 64 << 10
    }

    /// Fails where bytes are not as expected, with the first.
    pub fn compare(&mut self, found: &[u8], expected: &[u8], what: &str) -> Result<(), Wrong> {
        let mut changed = Vec::new();
        let found = match self.planted == Some(self.comparisons) {
            false => found,
            true => {
                changed.extend_from_slice(found);
                let at = self.random.below(found.len() as u64) as usize;
                match changed.get_mut(at) {
                    Some(byte) => *byte ^= 1 << self.random.below(8),
                    None => changed.push(0),
                }
                &changed
            }
        };
        self.comparisons += 1;
        if found == expected {
            return Ok(());
        }
        match found.iter().zip(expected).position(|(found, expected)| found != expected) {
            Some(at) => Err(format!("{what}: byte {at} of {} is wrong", expected.len())),
            None => Err(format!("{what}: {} bytes, not {}", found.len(), expected.len())),
        }
    }

    /// Fails where a batch refused other messages than the one that was changed, if one was.
    pub fn verdict(&mut self, failed: &[usize], changed: Option<usize>) -> Result<(), Wrong> {
        let bytes = |numbers: &[usize]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        let what = format!("messages {failed:?} were refused, and {changed:?} was changed");
        self.compare(&bytes(failed), &bytes(changed.as_slice()), &what)
    }

    /// A place for data of a length, as this call's.
    pub fn place(&mut self, can: Can, len: usize) -> Place {
        self.place = Place::random(self.random, self.streams, can, len);
        self.place.clone()
    }

    pub fn run<O: Operation<Output = ()>>(
        &mut self,
        cipher: &Cipher,
        operation: O,
        can: Can,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, Wrong> {
        let (value, data) = self.place(can, data.len()).run(cipher, operation, can, data)?;
        value.map(|()| data).map_err(wrong)
    }

    /// What it returns is as it comes, with the data.
    pub fn run_with_output<O: Operation>(
        &mut self,
        cipher: &Cipher,
        operation: O,
        can: Can,
        data: Vec<u8>,
    ) -> Returned<O::Output> {
        self.place(can, data.len()).run_with_output(cipher, operation, data)
    }

    /// A nonce of a length that all implementations have.
    pub fn nonce(&mut self) -> Vec<u8> {
        let len = self.random.one_of(&[12, 12, 12, 12, 1, 16, 60]);
        self.random.bytes(len)
    }

    /// A tag of which a bit is another.
    pub fn changed(&mut self, tag: &Tag) -> Tag {
        let mut bytes = tag.as_bytes().to_vec();
        let bit = self.random.below(8 * bytes.len() as u64) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
        Tag::new(&bytes).expect("as long as it was")
    }

    /// Random ranges of the data for messages or jobs, in ascending order: at most `number` of them, each a multiple of `unit` bytes long,
    /// with or without gaps. Their mean length is at most `most` bytes, or more where the data is more than `number` times that.
    pub fn ranges(&mut self, most: usize, number: usize, unit: usize) -> Vec<Range<u64>> {
        let most = self.random.size(most.min(self.bytes) as u64) as usize;
        let most = most.max(self.bytes / number).max(unit);
        let gap = self.random.one_of(&[0, 0, 17]);
        let (mut ranges, mut at) = (Vec::new(), 0);
        while ranges.len() < number {
            let begin = at + self.random.below(gap) as usize;
            let end = begin + self.random.below(2 * most as u64) as usize / unit * unit;
            if end > self.bytes {
                break;
            }
            ranges.push(begin as u64..end as u64);
            at = end;
        }
        ranges
    }
}
