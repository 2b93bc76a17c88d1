//! A kernel timed on several GPUs, each with a share of the data, by the host's clock (Hajihassani et al. 2019, section 6.6).

use crate::case::{Kernel, ShardedData, Shares};
use crate::measure::data::{Data, Keys, apply};
use crate::measure::driver::driver;
use crate::measure::printed;
use crate::measure::runs::Runs;
use crate::measured::{Gpu, Times};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaSlice, CudaStream};
use aes_bitslice_runtime::{Backend, Cipher, Engine};
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

/// Untimed runs before the timed ones.
const WARM_UP: usize = 3;
/// Shares are multiples of this many bytes, which thread blocks work on at a time.
const GRAIN: usize = 32 << 10;

/// Kernels opened so far, by name and GPU.
#[derive(Default)]
pub struct Opened(BTreeMap<(String, usize), (Engine, Cipher)>);

/// How a kernel is measured.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The GPUs.
    pub gpus: &'a [Gpu],
    /// The sizes of the shares.
    pub shares: Shares,
    /// Where the data is.
    pub data: ShardedData,
    /// Whether the last GPU does its share twice.
    pub slowed: bool,
}

/// A GPU with its share of the data.
struct Shard<'a> {
    cipher: Cipher,
    stream: Arc<CudaStream>,
    range: Range<usize>,
    /// The block before it.
    before: [u8; 16],
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
    /// The share in host memory, before and after, where it is distributed and collected.
    host: Option<(&'a [u8], &'a mut [u8])>,
    /// The number of times that the kernel runs.
    times: usize,
}

impl Opened {
    fn open(&mut self, keys: &Keys, kernel: &Kernel, ordinal: usize) -> Result<(Engine, Cipher)> {
        let place = (kernel.name(), ordinal);
        if let Some(opened) = self.0.get(&place) {
            return Ok(opened.clone());
        }
        let engine = Engine::open(Backend::Cuda { ordinal })?;
        let (cipher, _) = printed::open(&engine, keys, kernel)?;
        Ok(self.0.entry(place).or_insert((engine, cipher)).clone())
    }

    /// The time of each run in seconds, from the moment when the first GPU's thread may launch or copy until the last GPU is done.
    pub fn time(
        &mut self,
        keys: &Keys,
        kernel: &Kernel,
        setting: Setting<'_>,
        bytes: usize,
        data: &mut Data,
        runs: Runs,
    ) -> Result<Vec<f64>> {
        let Setting { gpus, shares, data: place, slowed } = setting;
        let opened: Vec<_> = (0..gpus.len()).map(|ordinal| self.open(keys, kernel, ordinal)).collect::<Result<_>>()?;
        let times = |gpu: usize| if slowed && gpu == gpus.len() - 1 { 2 } else { 1 };
        let weights: Vec<f64> = match shares {
            Shares::Equal => vec![1.0; gpus.len()],
            Shares::Rated => {
                let rating = |gpu: &Gpu| f64::from(gpu.multiprocessors) * f64::from(gpu.clock_mhz);
                gpus.iter().enumerate().map(|(i, gpu)| rating(gpu) / times(i) as f64).collect()
            }
            Shares::Measured => {
                let alone = (bytes / gpus.len()).next_multiple_of(GRAIN).min(bytes);
                let mut rate = |(i, opened): (usize, &(Engine, Cipher))| -> Result<f64> {
                    let mut shards = [shard(opened, times(i), 0..alone, None, data)?];
                    let found = several(&mut shards, kernel.mode, data, runs)?;
                    Ok(1.0 / Times::new(&found).median_seconds)
                };
                opened.iter().enumerate().map(&mut rate).collect::<Result<_>>()?
            }
        };
        // In the first GPU's context, for all.
        let mut host = match place {
            ShardedData::Resident => None,
            ShardedData::Copied => Some((opened[0].0.host_buffer(bytes)?, opened[0].0.host_buffer(bytes)?)),
        };
        let mut halves = host.as_mut().map(|(source, target)| {
            source.copy_from_slice(&data.input[..bytes]);
            (&**source, &mut **target)
        });
        let mut shards = Vec::new();
        for (i, (opened, range)) in opened.iter().zip(ranges(bytes, &weights)).enumerate() {
            let own = halves.take().map(|(source, target)| {
                let (source, left_source) = source.split_at(range.len());
                let (target, left_target) = target.split_at_mut(range.len());
                halves = Some((left_source, left_target));
                (source, target)
            });
            shards.push(shard(opened, times(i), range, own, data)?);
        }
        several(&mut shards, kernel.mode, data, runs)
    }
}

/// A GPU with a part of the data in its memory.
fn shard<'a>(
    (engine, cipher): &(Engine, Cipher),
    times: usize,
    range: Range<usize>,
    host: Option<(&'a [u8], &'a mut [u8])>,
    data: &Data,
) -> Result<Shard<'a>> {
    let stream = engine.cuda_context()?.default_stream();
    let input = stream.clone_htod(&data.input[range.clone()]).map_err(driver)?;
    let output = stream.alloc_zeros(range.len()).map_err(driver)?;
    Ok(Shard { before: data.before(range.start), cipher: cipher.clone(), stream, range, input, output, host, times })
}

/// Ranges that cover all bytes, with lengths in proportion to the weights. The last is the rest.
fn ranges(bytes: usize, weights: &[f64]) -> Vec<Range<usize>> {
    let all: f64 = weights.iter().sum();
    let end = |shards: usize| {
        let shard = weights[..shards].iter().sum::<f64>() / all;
        ((bytes as f64 * shard / GRAIN as f64).round() as usize * GRAIN).min(bytes)
    };
    let last = weights.len() - 1;
    (0..=last).map(|shard| end(shard)..if shard == last { bytes } else { end(shard + 1) }).collect()
}

/// Runs to warm up, then runs that count.
fn several(shards: &mut [Shard<'_>], mode: Mode, data: &mut Data, runs: Runs) -> Result<Vec<f64>> {
    let warm = run(shards, mode, data, WARM_UP)?;
    run(shards, mode, data, runs.count(warm[WARM_UP - 1]))
}

/// Runs all shards several times, each time all at once; returns the times if the outputs were correct.
fn run(shards: &mut [Shard<'_>], mode: Mode, data: &mut Data, runs: usize) -> Result<Vec<f64>> {
    for Shard { stream, output, .. } in &mut *shards {
        stream.memset_zeros(output).map_err(driver)?;
        stream.synchronize().map_err(driver)?;
    }
    let together = Barrier::new(shards.len());
    let timed = |shard: &mut Shard<'_>| -> Result<(Instant, Instant)> {
        together.wait();
        let start = Instant::now();
        shard.run(mode)?;
        Ok((start, Instant::now()))
    };
    // Whatever happens to one, it reaches the barrier as often as the others.
    let several = |shard: &mut Shard<'_>| (0..runs).map(|_| timed(shard)).collect::<Vec<_>>();
    let times = thread::scope(|scope| -> Result<Vec<Vec<_>>> {
        let threads: Vec<_> = shards.iter_mut().map(|shard| scope.spawn(|| several(shard))).collect();
        let join = |thread: thread::ScopedJoinHandle<Vec<Result<_>>>| {
            thread.join().map_err(|_| anyhow!("the thread of a GPU panicked"))?.into_iter().collect()
        };
        threads.into_iter().map(join).collect()
    })?;
    for Shard { stream, range, output, host, .. } in &*shards {
        match host {
            Some((_, target)) => data.check(target, range.start)?,
            None => {
                stream.memcpy_dtoh(output, &mut data.output[range.clone()]).map_err(driver)?;
                stream.synchronize().map_err(driver)?;
                data.check(&data.output[range.clone()], range.start)?;
            }
        }
    }
    Ok((0..runs)
        .map(|run| {
            let first = times.iter().map(|times| times[run].0).min();
            let last = times.iter().map(|times| times[run].1).max();
            last.zip(first).map_or(0.0, |(last, first)| (last - first).as_secs_f64())
        })
        .collect())
}

impl Shard<'_> {
    /// Runs once, to the end.
    fn run(&mut self, mode: Mode) -> Result<()> {
        let Self { cipher, stream, range, before, input, output, host, times } = self;
        if let Some((source, _)) = host {
            stream.memcpy_htod(*source, input).map_err(driver)?;
        }
        for _ in 0..*times {
            apply(&cipher.device()?, mode, stream, (range.start, *before), input, output)?;
        }
        if let Some((_, target)) = host {
            stream.memcpy_dtoh(output, &mut **target).map_err(driver)?;
        }
        stream.synchronize().map_err(driver)
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
