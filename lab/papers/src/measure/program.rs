//! Kernels that are not the runtime's ciphers, timed by the GPU's events, and their expected output.

use crate::case::Program;
use crate::measure::clock::Clock;
use crate::measure::data::{Data, Keys};
use crate::measure::driver::driver;
use crate::measure::memory::{LEAD, timed};
use crate::measure::runs::Runs;
use crate::measure::word_major;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_papers::kernels::{AddKeyStream, Lfsr, OnPlanes, Representation, WordMajor};
use aes_bitslice_runtime::Engine;
use anyhow::{Result, anyhow, bail};
use zeroize::Zeroizing;

/// The source of a program, with a key in it where it has one; `None` if the key has no AES length.
pub fn source(program: &Program, key: &[u8]) -> Option<Zeroizing<String>> {
    Some(match program {
        Program::Representation(kernel) => Zeroizing::new(kernel.source()),
        Program::Lfsr(kernel) => Zeroizing::new(kernel.source()),
        Program::WordMajor(kernel) => kernel.source(key)?,
        Program::OnPlanes(kernel) => kernel.print(key, "")?.source,
        Program::Without(kernel) => kernel.print(key, "")?.source,
        Program::AddKeyStream(kernel) => Zeroizing::new(kernel.source()),
    })
}

/// A launch: source, entry point, threads per thread block, thread blocks, the third argument, the input, and the expected output.
struct Launch {
    source: Zeroizing<String>,
    entry: String,
    threads: u32,
    thread_blocks: usize,
    count: u64,
    input: Vec<u8>,
    expected: Vec<u8>,
}

impl Launch {
    fn new(program: &Program, keys: &Keys, bytes: usize, data: &Data) -> Result<Self> {
        let input = &data.input[..bytes];
        let key = keys.get(KeyBits::Aes128).expose();
        let source = |program| source(program, key).ok_or_else(no_key);
        Ok(match program {
            Program::Representation(_) => Self {
                source: source(program)?,
                entry: Representation::ENTRY.into(),
                threads: Representation::THREADS,
                thread_blocks: bytes / (512 * Representation::THREADS as usize),
                count: (bytes / 16) as u64,
                expected: Representation::expected(input),
                input: input.to_vec(),
            },
            Program::Lfsr(kernel) => {
                let kernel = match kernel.made_bytes() {
                    own if own <= bytes => *kernel,
                    // For a quick run.
                    _ => Lfsr { sums: kernel.sums, ..Lfsr::filling(kernel.form, bytes) },
                };
                let words: Vec<u8> = data.input.iter().copied().cycle().take(kernel.input_bytes()).collect();
                Self {
                    source: source(&Program::Lfsr(kernel))?,
                    entry: Lfsr::ENTRY.into(),
                    threads: kernel.threads,
                    thread_blocks: kernel.thread_blocks as usize,
                    count: kernel.turns,
                    expected: kernel.expected(&words),
                    input: words,
                }
            }
            Program::WordMajor(kernel) => {
                let (input, expected) = (word_major::of(input), word_major::of(&data.expected()[..bytes]));
                let (input, expected) = match kernel.mode() {
                    // The data follows the IV; the last block of ciphertext follows the output.
                    Mode::CbcDecrypt => {
                        ([&data.before(0)[..], &*input].concat(), [&*expected, &data.before(bytes)[..]].concat())
                    }
                    _ => (input, expected),
                };
                Self {
                    source: source(program)?,
                    entry: WordMajor::ENTRY.into(),
                    threads: WordMajor::THREADS,
                    thread_blocks: (bytes / 16).div_ceil(WordMajor::THREADS as usize),
                    count: (bytes / 16) as u64,
                    input,
                    expected,
                }
            }
            Program::OnPlanes(kernel) => {
                let (input, expected) = (OnPlanes::of(input), OnPlanes::of(&data.expected()[..bytes]));
                Self::of_blocks(kernel.print(key, ""), input, Some(expected))?
            }
            Program::Without(kernel) => {
                Self::of_blocks(kernel.print(key, ""), input.to_vec(), kernel.expected(key, input))?
            }
            Program::AddKeyStream(_) => {
                let stream = &data.expected()[..bytes];
                Self {
                    source: source(program)?,
                    entry: AddKeyStream::ENTRY.into(),
                    threads: AddKeyStream::THREADS,
                    thread_blocks: (bytes / 16).div_ceil(AddKeyStream::THREADS as usize),
                    count: (bytes / 16) as u64,
                    input: [input, stream].concat(),
                    expected: input.iter().zip(stream).map(|(input, stream)| input ^ stream).collect(),
                }
            }
        })
    }

    /// A kernel that is printed with a key in it, on whole blocks.
    fn of_blocks(printed: Option<Printed>, input: Vec<u8>, expected: Option<Vec<u8>>) -> Result<Self> {
        let Printed { source, manifest } = printed.ok_or_else(no_key)?;
        let blocks = input.len() / 16;
        Ok(Self {
            source,
            entry: manifest.entries[&Entry::Blocks].name.clone(),
            threads: manifest.threads,
            thread_blocks: blocks.div_ceil(manifest.tile_blocks as usize),
            count: blocks as u64,
            input,
            expected: expected.ok_or_else(no_key)?,
        })
    }
}

fn no_key() -> anyhow::Error {
    anyhow!("a key of no AES length")
}

/// The time of each run in seconds, and the clock; the outputs of the first run and of the timed ones were correct.
#[expect(unsafe_code, reason = "nothing checks where the papers' programs read and write")]
pub fn time(
    engine: &Engine,
    program: &Program,
    keys: &Keys,
    bytes: usize,
    data: &Data,
    runs: Runs,
    clock: &mut Clock,
) -> Result<(Vec<f64>, Option<f64>)> {
    let launch = Launch::new(program, keys, bytes, data)?;
    let kernel = engine.cuda_program(&launch.source, &launch.entry, launch.threads)?;
    let context = engine.cuda_context()?;
    let stream = context.default_stream();
    let input = stream.clone_htod(&launch.input).map_err(driver)?;
    let mut output = stream.alloc_zeros::<u8>(launch.expected.len()).map_err(driver)?;
    let thread_blocks = u32::try_from(launch.thread_blocks)?;
    let mut found = vec![0; launch.expected.len()];
    let mut check = |output: &_| -> Result<()> {
        stream.memcpy_dtoh(output, &mut found).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
        match found.iter().zip(&launch.expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(first) => bail!("the output is wrong: byte {first} of {} is the first that differs", found.len()),
        }
    };
    let run = |output: &mut _| -> Result<()> {
        // SAFETY: the papers' kernels stay within buffers of these sizes, which are compared with the expected output.
        Ok(unsafe { kernel.run(&stream, thread_blocks, &input, output, launch.count) }?)
    };
    run(&mut output)?;
    check(&output)?;
    let time = |output: &mut _| timed(&context, &stream, || run(output));
    // Warm-up: clocks rise, caches fill.
    let alone = time(&mut output)?;
    let runs = runs.count((LEAD + 1) as f64 * alone);
    stream.memset_zeros(&mut output).map_err(driver)?;
    let times = (0..runs).map(|_| time(&mut output)).collect::<Result<_>>()?;
    check(&output)?;
    let mhz = clock.mhz(alone, || run(&mut output))?;
    Ok((times, mhz))
}
