//! A call: its inputs, how it is made at a random place, and the comparison of its results.

use crate::place::{Outcome, Place, Places, Streams};
use crate::planted::{Planted, Returned};
use crate::random::Random;
use crate::wrong::{Wrong, wrong};
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaStream, CudaViewMut};
use aes_bitslice_runtime::{Cipher, Engine, Error, Operation, Tag};
use std::ops::Range;
use std::sync::Arc;

/// A call and its inputs.
pub struct Call<'a> {
    pub engine: &'a Engine,
    /// The CPU's engine, for comparison.
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
    /// Whether data, additional data or a tag is changed before it is decrypted or verified; this must be refused.
    pub forged: bool,
    /// The fault planted in the library's results.
    pub planted: Planted,
}

/// Fails if bytes are not as expected, naming the first.
pub fn compare(found: &[u8], expected: &[u8], what: &str) -> Result<(), Wrong> {
    if found == expected {
        return Ok(());
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => Err(format!("{what}: byte {at} of {} is wrong", expected.len())),
        None => Err(format!("{what}: {} bytes, not {}", found.len(), expected.len())),
    }
}

/// Fails if a batch refused other messages than the changed one, if there is one.
pub fn verdict(failed: &[usize], changed: Option<usize>) -> Result<(), Wrong> {
    if failed == changed.as_slice() {
        Ok(())
    } else {
        Err(format!("messages {failed:?} were refused, and {changed:?} was changed"))
    }
}

impl Call<'_> {
    /// Whether the data is small enough for other implementations, which are slow.
    pub fn is_small(&self) -> bool {
        self.bytes <= 64 << 10
    }

    /// Chooses this call's place for data of a length.
    pub fn place(&mut self, places: Places, len: usize) -> Place {
        self.place = Place::random(self.random, self.streams, places, len);
        self.place.clone()
    }

    /// Chooses a stream of the GPU and where data begins there, if there is a GPU.
    pub fn on_gpu(&mut self) -> Option<(Arc<CudaStream>, usize)> {
        let stream = self.streams.one(self.random)?.clone();
        let from = self.random.one_of(&[0, 0, 4, 3]);
        self.place = Place::Gpu(stream.clone(), from);
        Some((stream, from))
    }

    pub fn run<O: Operation<Output = ()>>(
        &mut self,
        cipher: &Cipher,
        operation: O,
        places: Places,
        data: Vec<u8>,
    ) -> Result<Vec<u8>, Wrong> {
        let (outcome, data) = self.place(places, data.len()).run(&mut self.planted, cipher, operation, places, data)?;
        outcome.map(|()| data).map_err(wrong)
    }

    /// Its result is as it comes, with the data.
    pub fn run_with_output<O: Operation<Output: Returned>>(
        &mut self,
        cipher: &Cipher,
        operation: O,
        places: Places,
        data: Vec<u8>,
    ) -> Outcome<O::Output> {
        self.place(places, data.len()).run_with_output(&mut self.planted, cipher, operation, data)
    }

    /// Makes a call in place, with one function in GPU memory and another in host memory.
    pub fn run_in_place(
        &mut self,
        places: Places,
        data: &mut [u8],
        on_gpu: impl FnOnce(&Arc<CudaStream>, &mut CudaViewMut<'_, u8>) -> Result<Result<(), Error>, Wrong>,
        on_host: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Wrong> {
        let place = self.place(places, data.len()).or_host();
        self.place = place.clone();
        let outcome = match place.on_gpu(&mut self.planted, data, on_gpu)? {
            Some(outcome) => outcome,
            None => {
                let outcome = on_host(data);
                self.planted.bytes(data);
                outcome
            }
        };
        self.planted.outcome(outcome).map_err(wrong)
    }

    /// A nonce of a length that all implementations have.
    pub fn nonce(&mut self) -> Vec<u8> {
        let len = self.random.one_of(&[12, 12, 12, 12, 1, 16, 60]);
        self.random.bytes(len)
    }

    /// A tag with one bit changed.
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
