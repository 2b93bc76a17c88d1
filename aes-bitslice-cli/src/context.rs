//! A key on an engine, and the threads that keep it busy: the cipher context of all streams of a command.

use std::num::NonZero;
use std::thread::available_parallelism;

use aes_bitslice_runtime::{Backend, Cipher, Engine};
use indicatif::ProgressBar;

use crate::args::stream::{StreamArgs, WriteBy};
use crate::engine::{self, Work};
use crate::error::Result;
use crate::method::Method;
use crate::output::Output;
use crate::pipeline::pool::Workers;
use crate::pipeline::sink::Sink;
use crate::pipeline::source::Source;
use crate::pipeline::stream::Opened;
use crate::secret::Secret;
use crate::transform::Transform;

/// Bytes that are in a GPU or on their way at a time, which is what it has to be worth its while for.
const GPU_IN_FLIGHT: u64 = 64 << 20;

/// Threads that write one file from which on mappings are faster: one alone is slower by them.
const MAPPING_PAYS: usize = 8;

/// An engine with a key, and threads.
pub struct Context {
    cipher: Cipher,
    /// Where the work is done, which need not be what was asked for.
    pub backend: Backend,
    /// Threads, and what each has memory for.
    pub workers: Workers,
    /// Whether files are written through mappings.
    maps: bool,
}

impl Context {
    /// For streams of these `lengths`, where they are known.
    pub fn open(method: &Method, secret: Secret, lengths: &[Option<u64>], args: &StreamArgs) -> Result<Self> {
        // What is unknown among others is most likely an empty file, for which no GPU is opened.
        let largest = lengths.iter().flatten().max();
        let work = match (&secret, method.kernels()) {
            (Secret::Kernel(manifest), _) => Work::Baked(Engine::backend_of_baked(manifest)?),
            (Secret::Key(..), None) => Work::OnCpu,
            (Secret::Key(key, _), Some(mode)) => {
                let bytes = largest.map_or(GPU_IN_FLIGHT, |&length| length.min(GPU_IN_FLIGHT));
                Work::Calls { mode, key_bits: key.bits(), bytes }
            }
        };
        let mut engine = engine::open(&args.engine, work, args.quiet)?;
        if work == Work::OnCpu {
            // On every engine the CPU does it, and its memory will do.
            engine = Engine::open(Backend::Cpu)?;
        }
        let backend = engine.backend();
        let cipher = match secret {
            Secret::Key(key, _) => engine.cipher(&key)?,
            Secret::Kernel(manifest) => engine.load_baked(manifest)?,
        };
        let workers = workers(engine, lengths, method.grain(), args);
        // In a serial mode there is never more than one chunk to be written.
        let many_a_file = workers.count / lengths.len().max(1) >= MAPPING_PAYS && !method.is_serial();
        let maps = args.write_by.map_or(many_a_file, |by| by == WriteBy::Map);
        Ok(Context { cipher, backend, workers, maps })
    }

    /// One stream, in chunks of as many bytes as the workers have memory for, ready to be worked at.
    pub fn stream(&self, transform: Transform, source: Source, output: Output, bar: ProgressBar) -> Result<Opened> {
        let longest = source.length().map(|length| transform.longest_output(length));
        Ok(Opened {
            sink: Sink::new(&output, transform.header(), longest.filter(|_| self.maps))?,
            source,
            cipher: self.cipher.clone(),
            transform,
            output,
            bar,
        })
    }
}

/// Threads, and chunks of whole multiples of `grain` bytes, for streams of these `lengths`, where they are known.
fn workers(engine: Engine, lengths: &[Option<u64>], grain: usize, args: &StreamArgs) -> Workers {
    // And the most that all chunks may take. A chunk for a GPU is large enough to hide the bus's latency. One for the CPU is
    // large enough that the calls which read, map and write it cost little: on sixteen cores 16 GiB in tmpfs took 1.27 s, and
    // with 256 KiB 2.2 s.
    let (chunk_bytes, memory) = match engine.backend().is_cuda() || engine.backend().is_opencl() {
        true => (4 << 20, 128 << 20),
        false => (1 << 20, 32 << 20),
    };
    let chunk_bytes = args.chunk_bytes.unwrap_or(chunk_bytes).next_multiple_of(grain);
    // One more than there are cores, as one of them may be waiting for a disk.
    let cores = available_parallelism().map_or(1, NonZero::get) + 1;
    let most = args.workers.unwrap_or(cores.min((memory / chunk_bytes).max(2)));
    let (count, chunk_bytes) = fit(lengths, most, chunk_bytes, grain);
    Workers { engine, count, chunk_bytes }
}

/// Of at most `most` threads with chunks of at most `chunk_bytes`, a multiple of `grain`, what streams of these `lengths` need.
fn fit(lengths: &[Option<u64>], most: usize, chunk_bytes: usize, grain: usize) -> (usize, usize) {
    let lengths = || lengths.iter().map(|length| length.unwrap_or(u64::MAX));
    let chunks = lengths().map(|length| length.div_ceil(chunk_bytes as u64).max(1)).fold(0, u64::saturating_add);
    // Small files need no memory for large ones.
    let longest = lengths().max().unwrap_or(0).clamp(1, chunk_bytes as u64);
    (chunks.min(most as u64) as usize, longest.next_multiple_of(grain as u64) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_chunks_are_as_many_and_as_large_as_needed() {
        let of = |lengths: &[Option<u64>]| fit(lengths, 8, 4096, 16);
        assert_eq!(of(&[None]), (8, 4096));
        assert_eq!(of(&[Some(0)]), (1, 16));
        assert_eq!(of(&[Some(17)]), (1, 32));
        assert_eq!(of(&[Some(4096)]), (1, 4096));
        assert_eq!(of(&[Some(4097)]), (2, 4096));
        assert_eq!(of(&[Some(u64::MAX)]), (8, 4096));
        assert_eq!(of(&[Some(1), Some(100), Some(0)]), (3, 112));
        // It may be large.
        assert_eq!(of(&[Some(1), None]), (8, 4096));
        let sectors = |length| fit(&[Some(length)], 8, 5200, 520);
        assert_eq!([0, 521, 5199, 5201].map(sectors), [(1, 520), (1, 1040), (1, 5200), (2, 5200)]);
    }
}
