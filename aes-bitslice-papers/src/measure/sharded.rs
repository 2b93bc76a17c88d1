//! A kernel timed on several GPUs, each with a share of the data in its own memory, by the host's clock (Hajihassani et al.
//! 2019, section 6.6).

use crate::case::{Kernel, Shares};
use crate::measure::data::{Data, Keys, apply};
use crate::measure::driver::driver;
use crate::measure::memory::Memory;
use crate::measure::printed;
use crate::measure::runs::Runs;
use crate::measured::{Gpu, Times};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
use aes_bitslice_runtime::{Backend, Cipher, Engine};
use anyhow::{Result, anyhow};
use std::ops::Range;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

/// Untimed runs before the timed ones.
const WARM_UP: usize = 3;
/// Shares are multiples of this, which thread blocks work on at a time.
const GRAIN: usize = 16 << 10;

/// A GPU with its share of the data.
struct Shard {
    cipher: Cipher,
    stream: Arc<CudaStream>,
    range: Range<usize>,
    /// What is before it.
    before: [u8; 16],
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
}

/// The time of each run in seconds, from the moment that the first GPU's thread may launch until the last GPU is done.
pub fn time(
    keys: &Keys,
    kernel: &Kernel,
    gpus: &[Gpu],
    shares: Shares,
    bytes: usize,
    data: &mut Data,
    runs: Runs,
) -> Result<Vec<f64>> {
    let open = |ordinal| -> Result<(Engine, Cipher)> {
        let engine = Engine::open(Backend::Cuda { ordinal })?;
        let cipher = printed::open(&engine, keys, kernel)?;
        Ok((engine, cipher))
    };
    let opened = (0..gpus.len()).map(open).collect::<Result<Vec<_>>>()?;
    let weights = match shares {
        Shares::Equal => vec![1.0; gpus.len()],
        Shares::Rated => gpus.iter().map(|gpu| f64::from(gpu.multiprocessors) * f64::from(gpu.clock_mhz)).collect(),
        Shares::Measured => {
            let alone = (bytes / gpus.len()).next_multiple_of(GRAIN).min(bytes);
            let mut rate = |(engine, cipher): &(Engine, Cipher)| -> Result<f64> {
                let times = Memory::new(engine)?.time(cipher, kernel.mode, alone, data, runs)?;
                Ok(1.0 / Times::new(times).median_seconds)
            };
            opened.iter().map(&mut rate).collect::<Result<_>>()?
        }
    };
    let shard = |((engine, cipher), range): ((Engine, Cipher), Range<usize>)| -> Result<Shard> {
        let stream = engine.cuda_context()?.default_stream();
        let input = stream.clone_htod(&data.input[range.clone()]).map_err(driver)?;
        let output = stream.alloc_zeros(range.len()).map_err(driver)?;
        Ok(Shard { before: data.before(range.start), cipher, stream, range, input, output })
    };
    let mut shards = opened.into_iter().zip(ranges(bytes, &weights)).map(shard).collect::<Result<Vec<_>>>()?;

    let warm = run(&mut shards, kernel.mode, data, WARM_UP)?;
    run(&mut shards, kernel.mode, data, runs.count(warm[WARM_UP - 1]))
}

/// Ranges that cover all bytes, as long as the weights have it. The last is what is left.
fn ranges(bytes: usize, weights: &[f64]) -> Vec<Range<usize>> {
    let all: f64 = weights.iter().sum();
    let end = |shards: usize| {
        let shard = weights[..shards].iter().sum::<f64>() / all;
        ((bytes as f64 * shard / GRAIN as f64).round() as usize * GRAIN).min(bytes)
    };
    let last = weights.len() - 1;
    (0..=last).map(|shard| end(shard)..if shard == last { bytes } else { end(shard + 1) }).collect()
}

/// Runs all shards several times over, each time all at once; the times, of outputs that were right.
fn run(shards: &mut [Shard], mode: Mode, data: &mut Data, runs: usize) -> Result<Vec<f64>> {
    for Shard { stream, output, .. } in &mut *shards {
        stream.memset_zeros(output).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
    }
    let together = Barrier::new(shards.len());
    let timed = |shard: &mut Shard| -> Result<(Instant, Instant)> {
        together.wait();
        let start = Instant::now();
        shard.run(mode)?;
        Ok((start, Instant::now()))
    };
    // Whatever happens to one, it is at the barrier as often as the others.
    let several = |shard: &mut Shard| (0..runs).map(|_| timed(shard)).collect::<Vec<_>>();
    let times = thread::scope(|scope| -> Result<Vec<Vec<_>>> {
        let threads: Vec<_> = shards.iter_mut().map(|shard| scope.spawn(|| several(shard))).collect();
        let join = |thread: thread::ScopedJoinHandle<Vec<Result<_>>>| {
            thread.join().map_err(|_| anyhow!("the thread of a GPU panicked"))?.into_iter().collect()
        };
        threads.into_iter().map(join).collect()
    })?;
    for Shard { stream, range, output, .. } in &*shards {
        stream.memcpy_dtoh(output, &mut data.output[range.clone()]).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
        data.check(&data.output[range.clone()], range.start)?;
    }
    let one = |run: usize| {
        let start = times.iter().map(|times| times[run].0).min();
        let end = times.iter().map(|times| times[run].1).max();
        start.zip(end).map_or(0.0, |(start, end)| (end - start).as_secs_f64())
    };
    Ok((0..runs).map(one).collect())
}

impl Shard {
    /// Launches, and waits for the end.
    fn run(&mut self, mode: Mode) -> Result<()> {
        let at = (self.range.start, self.before);
        apply(&self.cipher.device()?, mode, &self.stream, at, &self.input, &mut self.output)?;
        self.stream.synchronize().map_err(driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything() {
        assert_eq!(ranges(4 * GRAIN, &[1.0, 1.0]), [0..2 * GRAIN, 2 * GRAIN..4 * GRAIN]);
        assert_eq!(ranges(4 * GRAIN, &[3.0, 1.0]), [0..3 * GRAIN, 3 * GRAIN..4 * GRAIN]);
        for bytes in [16, GRAIN + 16, 5 * GRAIN, 100 * GRAIN + 32] {
            for weights in [&[1.0][..], &[1.0, 2.0], &[0.1, 0.7, 0.1, 0.1], &[1e-9, 1.0]] {
                let ranges = ranges(bytes, weights);
                assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, bytes));
                assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            }
        }
    }
}
