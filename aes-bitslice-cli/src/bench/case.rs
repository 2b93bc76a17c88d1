//! One mode with one key, and whether an engine computes it rightly.

use std::thread;
use std::time::{Duration, Instant};

use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Counter, CounterMode, Engine, Key, KeyBits};

use super::device::Memory;
use crate::args::BenchMode;
use crate::error::{Error, Exit, Result};

/// The initial counter block: near the end of its low 64 bits, so that a carry is part of what is checked.
const COUNTER: [u8; 16] = *b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xff\xff\xff\xff\xff\xff\xfe\x00";

/// The IV of every case of CBC.
pub const IV: [u8; 16] = COUNTER;

/// The counter of every case of CTR.
pub fn counter() -> Counter {
    Counter::new(CounterMode::Ctr128BE, COUNTER)
}

/// Host memory of the largest size: random input, where an engine writes, and what it ought to have written.
pub struct Buffers {
    pub input: Vec<u8>,
    pub output: Vec<u8>,
    pub expected: Vec<u8>,
}

impl Buffers {
    pub fn new(bytes: usize) -> Result<Self> {
        let mut buffers = Buffers { input: Vec::new(), output: Vec::new(), expected: Vec::new() };
        for buffer in [&mut buffers.input, &mut buffers.output, &mut buffers.expected] {
            let reserved = buffer.try_reserve_exact(bytes);
            reserved.map_err(|_| {
                let what = format!("not enough memory for three buffers of {bytes} bytes; use smaller --sizes");
                Error::new(Exit::Failure, what)
            })?;
        }
        for buffer in [&mut buffers.input, &mut buffers.output, &mut buffers.expected] {
            buffer.resize(bytes, 0);
        }
        // A keystream of a random key is as good as random bytes, and fast.
        let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes128)?)?;
        cipher.ctr_apply(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0, &mut buffers.input)?;
        Ok(buffers)
    }
}

/// A mode with a key.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The key's place among those that are measured.
    pub index: usize,
    pub key: &'a Key,
    pub mode: BenchMode,
    pub runs: u32,
}

impl Case<'_> {
    /// Computes it from host memory to host memory.
    pub fn apply(&self, cipher: &Cipher, input: &[u8], output: &mut [u8]) -> std::result::Result<(), runtime::Error> {
        match self.mode {
            BenchMode::EcbEncrypt => cipher.ecb_encrypt_to(input, output),
            BenchMode::EcbDecrypt => cipher.ecb_decrypt_to(input, output),
            BenchMode::CbcDecrypt => cipher.cbc_decrypt_to(&IV, input, output),
            BenchMode::Ctr => cipher.ctr_apply_to(&counter(), 0, input, output),
        }
    }

    /// The time of each run from host memory to host memory on the first `bytes`, checked before and after.
    pub fn time_on_host(&self, cipher: &Cipher, bytes: usize, buffers: &mut Buffers) -> Result<Vec<Duration>> {
        let Buffers { input, output, expected } = buffers;
        let (input, output, expected) = (&input[..bytes], &mut output[..bytes], &expected[..bytes]);
        self.apply(cipher, input, output)?;
        self.check(cipher.engine(), output, expected)?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            // What an earlier run left behind must not pass for the work of this one.
            output.fill(0);
            let start = Instant::now();
            self.apply(cipher, input, output)?;
            times.push(start.elapsed());
        }
        self.check(cipher.engine(), output, expected)?;
        Ok(times)
    }

    /// The time of each run on the first `bytes` in device memory, by the GPU's events, checked before and after.
    pub fn time_on_device(
        &self,
        cipher: &Cipher,
        bytes: usize,
        memory: &mut Memory,
        buffers: &mut Buffers,
    ) -> Result<Vec<Duration>> {
        let (output, expected) = (&mut buffers.output[..bytes], &buffers.expected[..bytes]);
        let enough = |times: &[Duration]| times.len() == self.runs as usize;
        memory.time(&cipher.device()?, self.mode, bytes, enough, |done| {
            done.output(0, output)?;
            self.check(cipher.engine(), output, expected)
        })
    }

    /// An error if an engine's `output` is not what is `expected`.
    pub fn check(&self, engine: &Engine, output: &[u8], expected: &[u8]) -> Result<()> {
        let Some(first) = first_difference(output, expected) else { return Ok(()) };
        let message = format!(
            "{} computes {} with a key of {} bits wrongly: byte {first} of {} is the first to differ from `cpu`; do not use it",
            engine.description(),
            self.mode.name(),
            self.key.bits().bits(),
            output.len(),
        );
        Err(Error::new(Exit::Failure, message))
    }
}

/// Where two texts of the same length begin to differ, looked for on all cores.
fn first_difference(ours: &[u8], theirs: &[u8]) -> Option<usize> {
    /// Shorter ones are not worth a thread.
    const SMALLEST: usize = 1 << 20;
    assert_eq!(ours.len(), theirs.len());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = ours.len().div_ceil(threads).max(SMALLEST);
    let in_part = |(index, (ours, theirs)): (usize, (&[u8], &[u8]))| {
        // Comparing slices is far faster than comparing bytes, and most are equal.
        let differ = (ours != theirs).then(|| ours.iter().zip(theirs).position(|(ours, theirs)| ours != theirs));
        differ.flatten().map(|at| index * part + at)
    };
    thread::scope(|scope| {
        let parts = ours.chunks(part).zip(theirs.chunks(part)).enumerate();
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || in_part(part))).collect();
        threads.into_iter().filter_map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))).min()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found() {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 16]).unwrap());
        let case = Case { index: 0, key: &key, mode: BenchMode::Ctr, runs: 2 };
        let mut buffers = Buffers::new(64).unwrap();
        let cipher = engine.cipher(&key).unwrap();
        case.apply(&cipher, &buffers.input, &mut buffers.expected).unwrap();
        assert_eq!(case.time_on_host(&cipher, 48, &mut buffers).unwrap().len(), 2);
        buffers.expected[47] ^= 1;
        let error = case.time_on_host(&cipher, 48, &mut buffers).unwrap_err();
        assert!(error.message().contains("byte 47 of 48"));
    }

    #[test]
    fn the_first_difference_is_found_in_any_part() {
        let ours = vec![5; (5 << 20) + 3];
        assert_eq!(first_difference(&ours, &ours), None);
        assert_eq!(first_difference(&[], &[]), None);
        let mut theirs = ours.clone();
        for at in [(5 << 20) + 2, (4 << 20) - 1, 1 << 20, 0] {
            theirs[at] = 6;
            assert_eq!(first_difference(&ours, &theirs), Some(at));
        }
    }
}
