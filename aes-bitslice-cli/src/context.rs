//! An engine, the chunks that suit it, and the threads that keep it busy: all streams of a command share them.

use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

use aes_bitslice_runtime::{Backend, Cipher, Engine};
use indicatif::ProgressBar;

use crate::args::stream::{StreamArgs, WriteBy};
use crate::chunk::{BLOCK, Cut};
use crate::engine::{self, Work};
use crate::error::{Error, Result, note};
use crate::method::Method;
use crate::output::Output;
use crate::pipeline::pool::Workers;
use crate::pipeline::sink::Sink;
use crate::pipeline::source::Source;
use crate::pipeline::stream::Opened;
use crate::secret::Secret;
use crate::segments::Segments;
use crate::transform::OnChunks;

/// Bytes on a GPU or in flight at a time: a GPU must be worthwhile for this many.
const GPU_IN_FLIGHT: u64 = 64 << 20;

/// From this many threads that write one file, mappings are faster; a single thread is slower with them.
const MAPPING_PAYS: usize = 8;

/// Chunks, and threads that work on them.
pub struct Context {
    /// Where the work is done, which need not be the requested backend.
    pub backend: Backend,
    /// Threads, and the memory of each.
    pub workers: Workers,
    /// The chunks of streams.
    pub cut: Cut,
    /// Whether files are written through mappings.
    maps: bool,
    /// The byte of a stream at which it fails, for tests.
    fail_at: Option<u64>,
}

impl Context {
    /// A context for streams of these `lengths`, where known; and the key on its engine.
    pub fn open(method: &Method, secret: Secret, lengths: &[Option<u64>], args: &StreamArgs) -> Result<(Self, Cipher)> {
        // An unknown length among others is most likely an empty file, for which no GPU is opened.
        let largest = lengths.iter().flatten().max();
        let work = match (&secret, method.kernels()) {
            (Secret::Kernel(manifest), _) => Work::Kernel("--baked", Engine::backend_of_baked(manifest)?),
            (Secret::Key(_, _, Some(manifest)), _) => {
                Work::Kernel("--generated", Engine::backend_of_kernel(manifest).map_err(Error::of_generated)?)
            }
            (Secret::Key(..), None) => Work::OnCpu,
            (Secret::Key(key, ..), Some(mode)) => {
                let bytes = largest.map_or(GPU_IN_FLIGHT, |&length| length.min(GPU_IN_FLIGHT));
                Work::Calls { mode, key_bits: key.bits(), bytes }
            }
        };
        let mut engine = engine::open(&args.engine, work, args.quiet)?;
        if work == Work::OnCpu {
            // The CPU does it on every engine, and its memory suffices.
            engine = Engine::open(Backend::Cpu)?;
        }
        let backend = engine.backend();
        let cipher = match secret {
            Secret::Key(key, _, None) => engine.cipher(&key)?,
            Secret::Key(key, _, Some(manifest)) => engine.load_kernel(manifest, &key).map_err(Error::of_generated)?,
            Secret::Kernel(manifest) => {
                let cipher = engine.load_baked(manifest)?;
                if !args.quiet {
                    note(&engine.design_of_baked(manifest)?);
                }
                cipher
            }
        };
        let chunk_bytes = chunk_bytes(&engine, args).next_multiple_of(method.grain());
        let (count, chunk_bytes) = fit(lengths, most_workers(&engine, chunk_bytes, args), chunk_bytes, method.grain());
        // The last chunk may grow by a block of padding.
        let workers = Workers { engine, count, memory: chunk_bytes + BLOCK };
        // In a serial mode there is never more than one chunk to write.
        let writers = if method.is_serial() { 1 } else { count / lengths.len().max(1) };
        Ok((Self::new(backend, workers, Cut::even(chunk_bytes), writers, args), cipher))
    }

    /// For a stream of segments, of `length` bytes if known, on this engine.
    pub fn of_segments(engine: Engine, segments: &Segments, length: Option<u64>, args: &StreamArgs) -> Self {
        let (cut, backend) = (segments.cut(), engine.backend());
        let most = most_workers(&engine, segments.memory(None), args);
        let (count, _) = fit(&[length], most, cut.read.bytes as usize, 1);
        let workers = Workers { engine, count, memory: segments.memory(length) };
        Self::new(backend, workers, cut, count, args)
    }

    /// For `writers` threads that write a file.
    fn new(backend: Backend, workers: Workers, cut: Cut, writers: usize, args: &StreamArgs) -> Self {
        let maps = args.write_by.map_or(writers >= MAPPING_PAYS, |by| by == WriteBy::Map);
        Context { backend, workers, cut, maps, fail_at: args.fail_at }
    }

    /// One stream, ready to be processed. `source` is cut as `cut` says.
    pub fn stream(
        &self,
        transform: Arc<dyn OnChunks>,
        source: Source,
        output: Output,
        bar: ProgressBar,
    ) -> Result<Opened> {
        let longest = source.length().and_then(|length| transform.longest_output(length));
        Ok(Opened {
            sink: Sink::new(&output, transform.header(), longest.filter(|_| self.maps))?,
            source,
            transform,
            output,
            bar,
            fail_at: self.fail_at,
        })
    }
}

/// Bytes of a chunk. A chunk for a GPU is large enough to hide the bus's latency. A chunk for the CPU is large enough that the calls which
/// read, map and write it cost little: on sixteen cores 16 GiB in tmpfs took 1.27 s, and with 256 KiB 2.2 s.
fn chunk_bytes(engine: &Engine, args: &StreamArgs) -> usize {
    args.chunk_bytes.unwrap_or(if is_gpu(engine) { 4 << 20 } else { 1 << 20 })
}

/// Threads for chunks of this size, as long as there is enough to do.
fn most_workers(engine: &Engine, chunk_bytes: usize, args: &StreamArgs) -> usize {
    // The most that all chunks may take.
    let memory = if is_gpu(engine) { 128 << 20 } else { 32 << 20 };
    // One more than there are cores, because one thread may be waiting for a disk.
    let cores = available_parallelism().map_or(1, NonZero::get) + 1;
    args.workers.unwrap_or(cores.min((memory / chunk_bytes).max(2)))
}

fn is_gpu(engine: &Engine) -> bool {
    engine.backend().is_cuda() || engine.backend().is_opencl()
}

/// The number of threads, at most `most`, and the bytes of a chunk, at most `chunk_bytes` and a multiple of `grain`, that streams of these
/// `lengths` need.
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
