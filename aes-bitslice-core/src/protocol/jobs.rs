//! Many keys at a time, as described to kernels: *jobs*, each with a key, a range of the data and a first counter; or the same number of
//! blocks for each of many keys, which needs no description.
//!
//! # Entry points
//!
//! Keys are unexpanded, 16, 24 or 32 bytes each and all of one length, contiguous from a multiple of four bytes. Kernels expand them:
//! kernels of ECB encryption for the cipher, kernels of ECB decryption for its inverse.
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in`, `out` | start of the data | any alignment; fast at multiples of four bytes. `in` may equal `out` |
//! | `cipher_keys`, `key_words` | buffer of u32; u32 | the keys; 4, 6 or 8 |
//! | `counts`, `adds` | u32 | 0 or 1: whether the cipher takes counters instead of `in`; whether its output is added to `in` instead of being `out` itself |
//! | `each`, `blocks` of `each` | u32 | blocks of 16 bytes per key; blocks in total |
//! | `counter` of `each` | 4 words | the first counter of every key, least significant word first |
//! | `all`, `round_keys` of `expand` | u32; buffer of u32 | the number of keys; the output for their round keys in order of use, `4 (rounds + 1)` words each |
//! | `round_keys` of `jobs` | buffer of u32 | these round keys, one key for each job |
//! | `jobs`, `runs`, `all`, `wide` of `jobs` | buffers, the first aligned to 16 bytes; u32 | the tables below; the number of runs; the `wide` of [`run_blocks`], which gives their length |
//! | `stride` of `jobs` | u64 | 0, or the distance from each job to the next, where all are equally long: then the table has the first alone, and there is none of runs |
//! | `counters` of `jobs` | buffer, aligned to 16 bytes | where `counts` is 1: the first counter block of each job, 16 bytes |
//!
//! A *run* is [`run_blocks`] adjacent blocks of a job, where `wide` is at most 3. A tile of 256 blocks holds whole runs, of one job or of
//! several.
//!
//! | table | words | what |
//! |---|---|---|
//! | `jobs` | 8 per job | 0, 1: its offset; 2, 3: its bytes; 4: its first run |
//! | `runs` | 1 per run | the index of its job |
//!
//! The description of the work is public. Keys, round keys and data are secret: the code that launches these kernels clears the round keys.

use super::messages::{RUN, TILE};
use crate::memory::{NoMemory, room};

/// The largest `wide`: runs have up to [`run_blocks`] of this.
pub const WIDEST: u32 = 3;

/// Blocks in a run: the number of counters in a run of a message, or 2, 4 or 8 times that number.
pub const fn run_blocks(wide: u32) -> u64 {
    RUN << wide
}

/// A job, without its key and its counter.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The offset of its first byte in the data.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Job {
    /// The number of its runs.
    pub fn runs(&self, wide: u32) -> u64 {
        // Divisions would take most of the time spent on tables of short jobs.
        let run_bytes = 16 * run_blocks(wide);
        (self.bytes + (run_bytes - 1)) >> run_bytes.ilog2()
    }
}

/// The longest runs for which jobs take no more tiles than with others, from the number of runs with each `wide`: longer runs are read and
/// written in larger pieces.
pub fn widest(runs: impl Fn(u32) -> u64) -> u32 {
    let tiles = |wide: &u32| runs(*wide).div_ceil(TILE as u64 >> wide);
    (0..=WIDEST).rev().min_by_key(tiles).expect("several")
}

/// The tables of jobs and of runs, in little-endian words; with a stride, that of runs is empty, and `all` is the first job alone.
pub fn tables(
    all: impl ExactSizeIterator<Item = Job> + Clone,
    stride: u64,
    wide: u32,
) -> Result<[Vec<[u8; 4]>; 2], NoMemory> {
    let count: u64 = if stride == 0 { all.clone().map(|job| job.runs(wide)).sum() } else { 0 };
    let (mut jobs, mut runs) = (room(8 * all.len())?, room(count as usize)?);
    for (n, job) in all.enumerate() {
        let [at, bytes] = [job.at, job.bytes].map(|x| [x as u32, (x >> 32) as u32]);
        jobs.extend([at[0], at[1], bytes[0], bytes[1], runs.len() as u32, 0, 0, 0].map(u32::to_le_bytes));
        if stride == 0 {
            runs.resize(runs.len() + job.runs(wide) as usize, (n as u32).to_le_bytes());
        }
    }
    Ok([jobs, runs])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_in_their_tables() {
        let job = |at, bytes| Job { at, bytes };
        let all = [job(0, 512), job(1 << 33, 513), job(7, 0), job(9, 1)];
        let words = |stride| {
            tables(all.into_iter(), stride, 0)
                .unwrap()
                .map(|table| table.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>())
        };
        let [jobs, runs] = words(0);
        assert_eq!(runs, [0, 1, 1, 3]);
        assert_eq!(jobs.len(), 32);
        assert_eq!(jobs[8..13], [0, 2, 513, 0, 1]);
        assert_eq!([jobs[20], jobs[28]], [3, 3]);
        assert_eq!(words(512)[1], [0; 0]);
    }

    #[test]
    fn runs_are_as_long_as_costs_nothing() {
        let widest = |bytes, n| widest(|wide| n * Job { at: 0, bytes }.runs(wide));
        assert_eq!(
            [(1 << 16, 8), (512, 8), (1024, 8), (16, 64), (16, 1)].map(|(bytes, n)| widest(bytes, n)),
            [3, 0, 1, 0, 3]
        );
        assert_eq!(widest(0, 0), 3);
    }
}
