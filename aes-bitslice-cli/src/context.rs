//! A key on an engine, and the threads that keep it busy: the cipher context of all streams of a command.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::thread::available_parallelism;

use aes_bitslice_runtime::{Backend, Cipher, Engine, Key};
use indicatif::ProgressBar;
use same_file::Handle;

use crate::args::{CryptArgs, KeySource, WriteBy};
use crate::baked;
use crate::engine::{self, Work};
use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::keys;
use crate::output::Output;
use crate::pipeline::{Parts, Sink, Source, Workers};
use crate::transform::{Method, Transform};

/// Bytes that are in a GPU or on their way at a time, which is what it has to be worth its while for.
const GPU_IN_FLIGHT: u64 = 64 << 20;

/// Threads that write one file from which on mappings are faster: one alone is slower by them.
const MAPPING_PAYS: usize = 8;

/// What decides how bytes are changed: a key, or a kernel that is one.
pub enum Secret<'a> {
    /// A key, and where it came from.
    Key(Key, &'a KeySource),
    /// The kernel's manifest.
    Kernel(&'a Path),
}

impl<'a> Secret<'a> {
    /// What the options name.
    pub fn read(method: &Method, args: &'a CryptArgs) -> Result<Self> {
        match args.key.source.baked.as_deref() {
            Some(_) if method.is_serial() => {
                Err(Error::usage("CBC encryption runs on the CPU, a kernel does not; use --key-file or --key-env"))
            }
            Some(manifest) => Ok(Secret::Kernel(manifest)),
            None => Ok(Secret::Key(keys::read(&args.key, args.quiet)?, &args.key.source)),
        }
    }

    /// Refuses to write what it encrypts over the key, or over the kernel that is one: nobody could decrypt that. Without an
    /// `output` or as `-`, it is standard output.
    pub fn must_stay(&self, output: Option<&Path>) -> Result<()> {
        // Only files can be lost; to open anything else might wait for its other end.
        let is_file = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let (name, handle) = match output {
            Some(path) if path != Path::new("-") => {
                (format!("`{}`", path.display()), is_file(path).then(|| Handle::from_path(path)))
            }
            _ => ("standard output".into(), Some(Handle::stdout())),
        };
        let Some(Ok(output)) = handle else { return Ok(()) };
        let is_output =
            |secret: &Path| is_file(secret) && Handle::from_path(secret).is_ok_and(|secret| secret == output);
        let is_lost = match self {
            Secret::Key(_, source) => source.key_file.as_deref().is_some_and(is_output),
            Secret::Kernel(manifest) => baked::files(manifest).iter().any(|file| is_output(file)),
        };
        match is_lost {
            true => Err(Error::new(Exit::InputOutput, format!("{name} is the key; choose another output"))),
            false => Ok(()),
        }
    }
}

/// An engine with a key, and threads.
pub struct Context {
    cipher: Cipher,
    /// Where the work is done, whatever was opened.
    pub backend: Backend,
    /// Threads, and what each has memory for.
    pub workers: Workers,
    /// Whether files are written through mappings.
    maps: bool,
}

impl Context {
    /// For streams of these `lengths`, where they are known.
    pub fn open(method: &Method, secret: Secret, lengths: &[Option<u64>], args: &CryptArgs) -> Result<Self> {
        // What is unknown among others is most likely an empty file, for which no GPU is opened.
        let largest = lengths.iter().flatten().max();
        let work = match &secret {
            Secret::Kernel(manifest) => Work::Baked(Backend::of_baked(manifest)?),
            Secret::Key(..) if method.is_serial() => Work::Serial,
            Secret::Key(key, _) => {
                let bytes = largest.map_or(GPU_IN_FLIGHT, |&length| length.min(GPU_IN_FLIGHT));
                Work::Parallel { mode: method.of_engine(), key_bits: key.bits(), bytes }
            }
        };
        let mut engine = engine::open(&args.engine, work, args.quiet)?;
        if work == Work::Serial {
            // Whatever was asked for, the CPU does it, and its memory will do.
            engine = Engine::open(Backend::Cpu)?;
        }
        let backend = engine.backend();
        let cipher = match secret {
            Secret::Key(key, _) => engine.cipher(&key)?,
            Secret::Kernel(manifest) => engine.load_baked(manifest)?,
        };
        let workers = workers(engine, lengths, args);
        // In a serial mode there is never more than one chunk to be written.
        let many_a_file = workers.count / lengths.len().max(1) >= MAPPING_PAYS && !method.is_serial();
        let maps = args.write_by.map_or(many_a_file, |by| by == WriteBy::Map);
        Ok(Context { cipher, backend, workers, maps })
    }

    /// One stream, ready to be worked at.
    pub fn parts(&self, transform: Transform, input: Input, output: Output, bar: ProgressBar) -> Result<Parts> {
        let longest = input.length.map(|length| transform.longest_output(length));
        Ok(Parts {
            sink: Sink::new(&output, transform.header(), longest.filter(|_| self.maps))?,
            source: Source::new(input, self.workers.chunk_bytes),
            cipher: self.cipher.clone(),
            transform,
            output,
            bar,
        })
    }
}

/// Threads and chunks for streams of these `lengths`, where they are known.
fn workers(engine: Engine, lengths: &[Option<u64>], args: &CryptArgs) -> Workers {
    // And the most that all chunks may take. A chunk for a GPU is large enough to hide the bus's latency. One for the CPU is
    // large enough that the calls which read, map and write it cost little: on sixteen cores 16 GiB in tmpfs took 1.27 s, and
    // with 256 KiB 2.2 s.
    let (chunk_bytes, memory) = match engine.backend().is_cuda() || engine.backend().is_opencl() {
        true => (4 << 20, 128 << 20),
        false => (1 << 20, 32 << 20),
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(chunk_bytes);
    // One more than there are cores, as one of them may be waiting for a disk.
    let cores = available_parallelism().map_or(1, NonZero::get) + 1;
    let most = args.workers.unwrap_or(cores.min((memory / chunk_bytes).max(2)));
    let (count, chunk_bytes) = fit(lengths, most, chunk_bytes);
    Workers { engine, count, chunk_bytes }
}

/// Of at most so many threads with chunks of at most `chunk_bytes`, what streams of these `lengths` need.
fn fit(lengths: &[Option<u64>], most: usize, chunk_bytes: usize) -> (usize, usize) {
    let lengths = || lengths.iter().map(|length| length.unwrap_or(u64::MAX));
    let chunks = lengths().map(|length| length.div_ceil(chunk_bytes as u64).max(1)).fold(0, u64::saturating_add);
    // Small files need no memory for large ones.
    let longest = lengths().max().unwrap_or(0).clamp(1, chunk_bytes as u64);
    (chunks.min(most as u64) as usize, longest.next_multiple_of(16) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_chunks_are_as_many_and_as_large_as_needed() {
        let fit = |lengths: &[Option<u64>]| fit(lengths, 8, 4096);
        assert_eq!(fit(&[None]), (8, 4096));
        assert_eq!(fit(&[Some(0)]), (1, 16));
        assert_eq!(fit(&[Some(17)]), (1, 32));
        assert_eq!(fit(&[Some(4096)]), (1, 4096));
        assert_eq!(fit(&[Some(4097)]), (2, 4096));
        assert_eq!(fit(&[Some(u64::MAX)]), (8, 4096));
        assert_eq!(fit(&[Some(1), Some(100), Some(0)]), (3, 112));
        // It may be large.
        assert_eq!(fit(&[Some(1), None]), (8, 4096));
    }
}
