//! `bench`: how fast the engines are, once they are known to be right.
//!
//! Inputs are random, keys are random, and every output is compared with the `cpu` engine's (the `aes` and `ctr`
//! crates) before its case is timed and again after the last run. Whatever is timed has run once already.

mod device;
mod report;

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use aes_bitslice_runtime as runtime;
use aes_bitslice_runtime::{Backend, Cipher, Counter, CounterMode, Engine, Key, KeyBits};

use crate::args::{BenchArgs, BenchMode};
use crate::error::{Error, Exit, Result};
use crate::output::{self, Options, Output};
use report::{Measured, Report, Timing};

/// The initial counter block: near the end of its low 64 bits, so that a carry is part of what is checked.
const COUNTER: [u8; 16] = *b"\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xff\xff\xff\xff\xff\xff\xfe\x00";

/// Measures and reports.
pub fn run(args: &BenchArgs) -> Result<()> {
    // Found out before minutes of measuring, not after.
    let options = Options { force: args.force, private: false };
    let json = args.json.as_deref().map(|path| Output::open(Some(path), None, options)).transpose()?;
    let table = args.json.as_deref().is_none_or(|path| path != Path::new("-"));

    let engines = open(args.backends.as_deref())?;
    let reference = Engine::open(Backend::Cpu)?;
    let mut buffers = Buffers::new(args.sizes.iter().copied().max().unwrap_or(0))?;
    let mut report = Report::new(&engines);
    if table {
        output::print(&report.heading())?;
    }
    for &bytes in &args.sizes {
        for &bits in &args.key_bits {
            let key = Key::generate(bits)?;
            let reference = reference.cipher(&key)?;
            for &mode in &args.modes {
                apply(&reference, mode, &buffers.input[..bytes], &mut buffers.expected[..bytes])?;
                for engine in &engines {
                    let case = Case { engine, key: &key, mode, bytes, runs: args.runs };
                    for measured in case.measure(&mut buffers)? {
                        if table {
                            output::print(&measured.row())?;
                        }
                        report.push(measured);
                    }
                }
            }
        }
    }
    let Some(json) = json else { return Ok(()) };
    json.writer()?.write_all(output::json(&report).as_bytes()).map_err(|error| json.error(&error))?;
    json.finish()
}

/// The engines asked for, or all that open.
fn open(backends: Option<&[Backend]>) -> Result<Vec<Engine>> {
    match backends {
        Some(backends) => backends.iter().map(|&backend| Ok(Engine::open(backend)?)).collect(),
        None => {
            let all = [Backend::Cuda { ordinal: 0 }, Backend::Cpu, Backend::CpuBitsliced];
            Ok(all.into_iter().filter_map(|backend| Engine::open(backend).ok()).collect())
        }
    }
}

/// Host memory of the largest size: random input, where an engine writes, and what it ought to have written.
struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
    expected: Vec<u8>,
}

impl Buffers {
    fn new(bytes: usize) -> Result<Self> {
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

/// One line of the table, or two.
struct Case<'a> {
    engine: &'a Engine,
    key: &'a Key,
    mode: BenchMode,
    bytes: usize,
    runs: u32,
}

impl Case<'_> {
    fn measure(&self, buffers: &mut Buffers) -> Result<Vec<Measured>> {
        let Case { engine, key, mode, bytes, runs } = *self;
        let cipher = engine.cipher(key)?;
        let mut timed = vec![(Timing::Host, self.host(&cipher, buffers)?)];
        let (input, expected) = (&buffers.input[..bytes], &buffers.expected[..bytes]);
        let check = |output: &[u8]| self.check(output, expected);
        if let Some(times) = device::kernel_only(&cipher, mode, input, runs, check)? {
            timed.push((Timing::Device, times));
        }
        let measured = |(timing, times)| Measured::new(engine, mode, key.bits(), bytes, timing, times);
        Ok(timed.into_iter().map(measured).collect())
    }

    /// From host memory to host memory.
    fn host(&self, cipher: &Cipher, buffers: &mut Buffers) -> Result<Vec<Duration>> {
        let Buffers { input, output, expected } = buffers;
        let (input, output, expected) = (&input[..self.bytes], &mut output[..self.bytes], &expected[..self.bytes]);
        apply(cipher, self.mode, input, output)?;
        self.check(output, expected)?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            // What an earlier run left behind must not pass for the work of this one.
            output.fill(0);
            let start = Instant::now();
            apply(cipher, self.mode, input, output)?;
            times.push(start.elapsed());
        }
        self.check(output, expected)?;
        Ok(times)
    }

    fn check(&self, output: &[u8], expected: &[u8]) -> Result<()> {
        if output == expected {
            return Ok(());
        }
        let first = output.iter().zip(expected).take_while(|(ours, theirs)| ours == theirs).count();
        let message = format!(
            "{} computes {} with a key of {} bits wrongly: byte {first} of {} is the first to differ from `cpu`; do not use it",
            self.engine.description(),
            self.mode.name(),
            self.key.bits().bits(),
            output.len(),
        );
        Err(Error::new(Exit::Failure, message))
    }
}

fn apply(cipher: &Cipher, mode: BenchMode, input: &[u8], output: &mut [u8]) -> std::result::Result<(), runtime::Error> {
    match mode {
        BenchMode::EcbEncrypt => cipher.ecb_encrypt_to(input, output),
        BenchMode::EcbDecrypt => cipher.ecb_decrypt_to(input, output),
        BenchMode::Ctr => cipher.ctr_apply_to(&Counter::new(CounterMode::Ctr128BE, COUNTER), 0, input, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found() {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 16]).unwrap());
        let case = Case { engine: &engine, key: &key, mode: BenchMode::Ctr, bytes: 48, runs: 2 };
        let mut buffers = Buffers::new(64).unwrap();
        let cipher = engine.cipher(&key).unwrap();
        apply(&cipher, BenchMode::Ctr, &buffers.input[..48], &mut buffers.expected[..48]).unwrap();
        assert_eq!(case.host(&cipher, &mut buffers).unwrap().len(), 2);
        buffers.expected[47] ^= 1;
        assert!(case.host(&cipher, &mut buffers).unwrap_err().message().contains("byte 47 of 48"));
    }
}
