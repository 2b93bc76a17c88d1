//! Computations on the processor that the papers compare with, timed by the host's clock.

use crate::case::Processor;
use crate::measure::data::{Data, Keys};
use crate::measure::runs::Runs;
use crate::measure::word_major;
use aes_bitslice_core::aes::{Direction, KeyBits};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::key_source::{ExpandedKey, KeySource};
use aes_bitslice_gen::table::boxes;
use aes_bitslice_papers::kernels::representation::{BYTES, planes};
use anyhow::{Result, anyhow};
use std::thread;
use std::time::Instant;

/// The time of each run on the first bytes of the data, in seconds. The T-boxes' output was correct.
pub fn time(what: Processor, keys: &Keys, bytes: usize, data: &mut Data, runs: Runs) -> Result<Vec<f64>> {
    let tables = Tables::new(keys.get(KeyBits::Aes128).expose()).ok_or_else(|| anyhow!("a key of no AES length"))?;
    let timed = |data: &mut Data| {
        let (input, output) = (&data.input[..bytes], &mut data.output[..bytes]);
        let start = Instant::now();
        match what {
            Processor::Tables => tables.encrypt(input, output),
            Processor::Representation => to_planes(input, output),
            Processor::WordMajor => word_major::reorder(input, output),
        }
        start.elapsed().as_secs_f64()
    };
    // The first run warms up.
    let runs = runs.count(timed(data));
    let times = (0..runs).map(|_| timed(data)).collect();
    if what == Processor::Tables {
        data.check(&data.output[..bytes], 0)?;
    }
    Ok(times)
}

/// Changes the representation of every 32 neighbouring blocks, on all cores.
fn to_planes(input: &[u8], output: &mut [u8]) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let each = input.len().div_ceil(threads).next_multiple_of(BYTES);
    thread::scope(|scope| {
        for (input, output) in input.chunks(each).zip(output.chunks_mut(each)) {
            scope.spawn(|| {
                for (blocks, to) in input.as_chunks::<BYTES>().0.iter().zip(output.as_chunks_mut::<BYTES>().0) {
                    let blocks: &[[u8; 16]; 32] = blocks.as_chunks().0.try_into().expect("32 blocks");
                    for (plane, to) in planes(blocks).into_iter().zip(to.as_chunks_mut().0) {
                        *to = plane.to_le_bytes();
                    }
                }
            });
        }
    });
}

/// AES-128 by four T-boxes, as in programs for processors without AES instructions.
struct Tables {
    t: [[u32; 256]; 4],
    s: &'static [u8; 256],
    keys: [[u32; 4]; 11],
}

impl Tables {
    fn new(key: &[u8]) -> Option<Self> {
        let words = KeySource::Schedule.words(&ExpandedKey::new(key)?, Direction::Encrypt, Basis::STANDARD);
        let keys = std::array::from_fn(|round| std::array::from_fn(|c| words[4 * round + c]));
        Some(Self { t: boxes::t_boxes(Direction::Encrypt), s: boxes::last_round(Direction::Encrypt), keys })
    }

    fn encrypt(&self, input: &[u8], output: &mut [u8]) {
        let byte = |word: u32, row: usize| (word >> (8 * row)) as u8 as usize;
        for (block, to) in input.as_chunks::<16>().0.iter().zip(output.as_chunks_mut::<16>().0) {
            let words = block.as_chunks::<4>().0;
            let mut s: [u32; 4] = std::array::from_fn(|c| u32::from_le_bytes(words[c]) ^ self.keys[0][c]);
            for key in &self.keys[1..10] {
                s = std::array::from_fn(|c| {
                    (0..4).fold(key[c], |sum, row| sum ^ self.t[row][byte(s[(c + row) % 4], row)])
                });
            }
            for (c, to) in to.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let last = |row: usize| u32::from(self.s[byte(s[(c + row) % 4], row)]) << (8 * row);
                *to = ((0..4).fold(0, |sum, row| sum | last(row)) ^ self.keys[10][c]).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::mode::Mode;

    #[test]
    fn all_are_timed_and_the_cipher_is_checked() {
        let keys = Keys::generate().unwrap();
        let mut data = Data::new(&keys, 64 << 10).unwrap();
        data.expect(Mode::EcbEncrypt, KeyBits::Aes128).unwrap();
        for what in [Processor::Representation, Processor::WordMajor, Processor::Tables] {
            assert!(time(what, &keys, 64 << 10, &mut data, Runs::QUICK).unwrap()[0] > 0.0);
        }
        data.expect(Mode::EcbDecrypt, KeyBits::Aes128).unwrap();
        assert!(time(Processor::Tables, &keys, 4096, &mut data, Runs::QUICK).is_err());
    }
}
