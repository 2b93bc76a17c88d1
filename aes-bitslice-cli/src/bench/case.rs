//! One mode with one key, and whether an engine computes it rightly.

use std::thread;
use std::time::{Duration, Instant};

use aes_bitslice_runtime::{self as runtime, Backend, Cipher, Counter, CounterMode, Engine, HostBuffer, Key, KeyBits};

use super::device::Memory;
use super::pieces;
use crate::args::{BenchMode, Timing};
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
    /// Input and output once more, pinned; empty where nothing is timed there.
    pinned: [HostBuffer; 2],
}

impl Buffers {
    pub fn new(bytes: usize) -> Result<Self> {
        let cpu = Engine::open(Backend::Cpu)?;
        let pinned = [cpu.host_buffer(0)?, cpu.host_buffer(0)?];
        let mut buffers = Buffers { input: Vec::new(), output: Vec::new(), expected: Vec::new(), pinned };
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
        let cipher = cpu.cipher(&Key::generate(KeyBits::Aes128)?)?;
        cipher.ctr_apply(&Counter::new(CounterMode::Ctr128BE, [0; 16]), 0, &mut buffers.input)?;
        Ok(buffers)
    }

    /// Pins memory for the first `bytes`, for this and all GPUs.
    pub fn pin(&mut self, engine: &Engine, bytes: usize) -> Result<()> {
        self.pinned = [engine.host_buffer(bytes)?, engine.host_buffer(bytes)?];
        refill(&mut self.pinned[0], Some(&self.input[..bytes]));
        Ok(())
    }

    /// Pinned memory: the first `bytes` of the input, and where to write as many.
    pub fn pinned(&mut self, bytes: usize) -> (&[u8], &mut [u8]) {
        let [input, output] = &mut self.pinned;
        (&input[..bytes], &mut output[..bytes])
    }
}

/// A mode with a key.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The key's place among those that are measured.
    pub index: usize,
    pub key: &'a Key,
    /// The same on the `cpu` engine.
    pub reference: &'a Cipher,
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

    /// The same in place.
    fn apply_in_place(&self, cipher: &Cipher, data: &mut [u8]) -> std::result::Result<(), runtime::Error> {
        match self.mode {
            BenchMode::EcbEncrypt => cipher.ecb_encrypt(data),
            BenchMode::EcbDecrypt => cipher.ecb_decrypt(data),
            BenchMode::CbcDecrypt => cipher.cbc_decrypt(&IV, data),
            BenchMode::Ctr => cipher.ctr_apply(&counter(), 0, data),
        }
    }

    /// The time of each run of whole calls on the first `bytes` in host memory, checked before and after.
    pub fn time_on_host(
        &self,
        cipher: &Cipher,
        timing: Timing,
        bytes: usize,
        buffers: &mut Buffers,
    ) -> Result<Vec<Duration>> {
        let Buffers { input, output, expected, pinned: [pinned_input, pinned_output] } = buffers;
        let (input, output, expected) = match timing.is_pinned() {
            true => (&pinned_input[..bytes], &mut pinned_output[..bytes], &expected[..bytes]),
            false => (&input[..bytes], &mut output[..bytes], &expected[..bytes]),
        };
        let run = |output: &mut [u8]| -> Result<Duration> {
            // What an earlier run left behind must not pass for the work of this one.
            refill(output, timing.is_in_place().then_some(input));
            let start = Instant::now();
            match timing.is_in_place() {
                true => self.apply_in_place(cipher, output)?,
                false => self.apply(cipher, input, output)?,
            }
            Ok(start.elapsed())
        };
        run(output)?;
        self.check(cipher.engine(), output, expected)?;
        let times = (0..self.runs).map(|_| run(output)).collect::<Result<_>>()?;
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
        let Buffers { output, expected, .. } = buffers;
        let enough = |times: &[Duration]| times.len() == self.runs as usize;
        memory.time(&cipher.device()?, self.mode, bytes, enough, |done| {
            if let (Some(output), Some(expected)) = (output.get_mut(..bytes), expected.get(..bytes)) {
                done.output(0, output)?;
                return self.check(cipher.engine(), output, expected);
            }
            self.check_pieces(cipher.engine(), bytes, &[], |at, to| done.input(at, to), |at, to| done.output(at, to))
        })
    }

    /// An error if an engine's `output` is not what is `expected`.
    pub fn check(&self, engine: &Engine, output: &[u8], expected: &[u8]) -> Result<()> {
        first_difference(output, expected).map_or(Ok(()), |first| Err(self.is_wrong(engine, first, output.len())))
    }

    /// The same for pieces of what an engine read and wrote, `bytes` altogether, brought from a byte on by `input` and
    /// `output`; some lie on both sides of `cuts`.
    pub fn check_pieces(
        &self,
        engine: &Engine,
        bytes: usize,
        cuts: &[usize],
        input: impl Fn(usize, &mut [u8]) -> Result<()>,
        output: impl Fn(usize, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        for piece in pieces::pieces(bytes, cuts) {
            let expected = pieces::expected(self.reference, self.mode, piece.clone(), &input)?;
            let mut found = vec![0; piece.len()];
            output(piece.start, &mut found)?;
            if let Some(first) = first_difference(&found, &expected) {
                return Err(self.is_wrong(engine, piece.start + first, bytes));
            }
        }
        Ok(())
    }

    fn is_wrong(&self, engine: &Engine, first: usize, bytes: usize) -> Error {
        let message = format!(
            "{} computes {} with a key of {} bits wrongly: \
             byte {first} of {bytes} is the first to differ from `cpu`; do not use it",
            engine.description(),
            self.mode.name(),
            self.key.bits().bits(),
        );
        Error::new(Exit::Failure, message)
    }
}

/// Bytes of the parts in which all cores share in something about so many bytes; fewer are not worth a thread.
fn part_of(bytes: usize) -> usize {
    const SMALLEST: usize = 1 << 20;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    bytes.div_ceil(threads).max(SMALLEST)
}

/// Fills a buffer with the input, or with zeros, on all cores.
fn refill(buffer: &mut [u8], input: Option<&[u8]>) {
    let part = part_of(buffer.len());
    let fill = |(index, buffer): (usize, &mut [u8])| match input {
        Some(input) => buffer.copy_from_slice(&input[index * part..][..buffer.len()]),
        None => buffer.fill(0),
    };
    if buffer.len() <= part {
        return fill((0, buffer));
    }
    thread::scope(|scope| {
        for part in buffer.chunks_mut(part).enumerate() {
            scope.spawn(move || fill(part));
        }
    });
}

/// Where two texts of the same length begin to differ, looked for on all cores.
pub fn first_difference(ours: &[u8], theirs: &[u8]) -> Option<usize> {
    assert_eq!(ours.len(), theirs.len());
    let part = part_of(ours.len());
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
        let cipher = engine.cipher(&key).unwrap();
        let case = Case { index: 0, key: &key, reference: &cipher, mode: BenchMode::Ctr, runs: 2 };
        let mut buffers = Buffers::new(64).unwrap();
        case.apply(&cipher, &buffers.input, &mut buffers.expected).unwrap();
        buffers.pin(&engine, 48).unwrap();
        let timings = [Timing::Host, Timing::HostInPlace, Timing::Pinned, Timing::PinnedInPlace];
        for timing in timings {
            assert_eq!(case.time_on_host(&cipher, timing, 48, &mut buffers).unwrap().len(), 2);
        }
        assert_eq!(buffers.output, [&buffers.expected[..48], &[0; 16]].concat());
        assert_eq!(buffers.pinned[1][..], buffers.expected[..48]);
        buffers.expected[47] ^= 1;
        for timing in timings {
            let error = case.time_on_host(&cipher, timing, 48, &mut buffers).unwrap_err();
            assert!(error.message().contains("byte 47 of 48"));
        }
    }

    #[test]
    fn buffers_are_filled_to_their_ends() {
        for len in [0, 1, (1 << 20) - 1, (2 << 20) + 1, (5 << 20) + 3] {
            let input: Vec<u8> = (0..len).map(|i| (i % 251) as u8 + 1).collect();
            let mut buffer = vec![0; len];
            refill(&mut buffer, Some(&input));
            assert!(buffer == input, "{len}");
            refill(&mut buffer, None);
            assert!(buffer == vec![0; len], "{len}");
        }
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
