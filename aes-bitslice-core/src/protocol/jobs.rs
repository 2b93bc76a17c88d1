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
//!
//! A *run* is [`run_blocks`] adjacent blocks of a job, where `wide` is at most 3. A tile of 256 blocks holds whole runs, of one job or of
//! several.
//!
//! | table | words | what |
//! |---|---|---|
//! | `jobs` | 12 per job | 0 to 3: the first counter, least significant word first; 4, 5: its offset; 6, 7: its bytes; 8: its first run |
//! | `runs` | 1 per run | the index of its job |
//!
//! The description of the work is public. Keys, round keys and data are secret: the code that launches these kernels clears the round keys.

use super::messages::{RUN, TILE};

/// Words per job.
pub const JOB_WORDS: usize = 12;
/// The largest `wide`: runs have up to [`run_blocks`] of this.
pub const WIDEST: u32 = 3;

/// Blocks in a run: the number of counters in a run of a message, or 2, 4 or 8 times that number.
pub const fn run_blocks(wide: u32) -> u64 {
    RUN << wide
}

/// A job, without its key.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The first counter.
    pub counter: u128,
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

/// The longest runs for which jobs take no more tiles than with others: longer runs are read and written in larger pieces.
pub fn widest(jobs: &[Job]) -> u32 {
    let tiles = |wide: &u32| jobs.iter().map(|job| job.runs(*wide)).sum::<u64>().div_ceil(TILE as u64 >> wide);
    (0..=WIDEST).rev().min_by_key(tiles).expect("several")
}

/// Writes both tables in little-endian words: [`JOB_WORDS`] per job, and one word for each run of all jobs.
///
/// # Panics
/// If a table has the wrong number of words.
pub fn write_tables(all: &[Job], wide: u32, jobs: &mut [[u8; 4]], runs: &mut [[u8; 4]]) {
    let (words, rest) = jobs.as_chunks_mut::<JOB_WORDS>();
    assert!(rest.is_empty() && words.len() == all.len(), "a place for each job");
    let mut run = 0;
    for (n, (job, words)) in all.iter().zip(words).enumerate() {
        let counter = |i: u32| (job.counter >> (32 * i)) as u32;
        let [at, bytes] = [job.at, job.bytes].map(|x| [x as u32, (x >> 32) as u32]);
        *words =
            [counter(0), counter(1), counter(2), counter(3), at[0], at[1], bytes[0], bytes[1], run as u32, 0, 0, 0]
                .map(u32::to_le_bytes);
        let end = run + job.runs(wide) as usize;
        runs[run..end].fill((n as u32).to_le_bytes());
        run = end;
    }
    assert_eq!(run, runs.len(), "a word for each run");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_in_their_tables() {
        let job = |at, bytes| Job { counter: 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10, at, bytes };
        let all = [job(0, 512), job(1 << 33, 513), job(7, 0), job(9, 1)];
        let (mut jobs, mut runs) = (vec![[0; 4]; 48], vec![[9; 4]; 4]);
        write_tables(&all, 0, &mut jobs, &mut runs);
        let [jobs, runs] = [jobs, runs].map(|table| table.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>());
        assert_eq!(runs, [0, 1, 1, 3]);
        assert_eq!(jobs[12..21], [0x0d0e_0f10, 0x090a_0b0c, 0x0506_0708, 0x0102_0304, 0, 2, 513, 0, 1]);
        assert_eq!([jobs[32], jobs[44]], [3, 3]);
    }

    #[test]
    fn runs_are_as_long_as_costs_nothing() {
        let jobs = |bytes: u64, n: u64| (0..n).map(|i| Job { counter: 0, at: i * bytes, bytes }).collect::<Vec<_>>();
        assert_eq!(
            [jobs(1 << 16, 8), jobs(512, 8), jobs(1024, 8), jobs(16, 64), jobs(16, 1)].map(|j| widest(&j)),
            [3, 0, 1, 0, 3]
        );
        assert_eq!(widest(&[]), 3);
    }
}
