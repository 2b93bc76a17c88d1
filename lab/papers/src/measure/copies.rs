//! A kernel timed between copies from host memory and back, by the host's clock; and the time to allocate pinned memory.

use crate::case::HostMemory;
use crate::measure::clock::Clock;
use crate::measure::data::{Data, apply};
use crate::measure::driver::driver;
use crate::measure::runs::Runs;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use aes_bitslice_runtime::{Cipher, Engine};
use anyhow::Result;
use std::ops::{DerefMut, Range};
use std::sync::Arc;
use std::time::Instant;

/// A part of the data, on a stream with its own buffers.
struct Chunk {
    range: Range<usize>,
    /// The block before it.
    before: [u8; 16],
    stream: Arc<CudaStream>,
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
}

/// The time of each run in seconds, from the first copy's submission until everything is back in host memory, and the clock.
pub fn time(
    cipher: &Cipher,
    mode: Mode,
    bytes: usize,
    (chunks, memory): (usize, HostMemory),
    data: &mut Data,
    runs: Runs,
    clock: &mut Clock,
) -> Result<(Vec<f64>, Option<f64>)> {
    let device = cipher.device()?;
    let context = cipher.engine().cuda_context()?;
    let mut chunks = cut(&context, bytes, chunks, data)?;
    let buffer = || -> Result<Box<dyn DerefMut<Target = [u8]>>> {
        Ok(match memory {
            HostMemory::Pinned => Box::new(cipher.engine().host_buffer(bytes)?),
            HostMemory::Pageable => Box::new(vec![0; bytes]),
        })
    };
    let (mut source, mut target) = (buffer()?, buffer()?);
    let (source, target) = (&mut **source, &mut **target);
    source.copy_from_slice(&data.input[..bytes]);

    let mut run = |target: &mut [u8]| -> Result<f64> {
        let start = Instant::now();
        for Chunk { range, before, stream, input, output } in &mut chunks {
            stream.memcpy_htod(&source[range.clone()], input).map_err(driver)?;
            apply(&device, mode, stream, (range.start, *before), input, output)?;
            stream.memcpy_dtoh(output, &mut target[range.clone()]).map_err(driver)?;
        }
        for chunk in &chunks {
            chunk.stream.synchronize().map_err(driver)?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    target.fill(0);
    run(target)?;
    data.check(target, 0)?;
    // The first run warms up.
    run(target)?;
    let one = run(target)?;
    let runs = runs.count(one);
    target.fill(0);
    let times = (0..runs).map(|_| run(target)).collect::<Result<_>>()?;
    data.check(target, 0)?;
    let mhz = clock.mhz_of_waiting(one, || run(target).map(drop))?;
    Ok((times, Some(mhz)))
}

/// Cuts the data. A single chunk is on the default stream.
///
/// Streams have their own handle to the same context: between streams of one handle, `cudarc` orders accesses to a buffer by events, which
/// take time, and here each buffer is used on one stream only.
fn cut(context: &Arc<CudaContext>, bytes: usize, chunks: usize, data: &Data) -> Result<Vec<Chunk>> {
    let streams = CudaContext::new(context.ordinal()).map_err(driver)?;
    let each = bytes.div_ceil(chunks).next_multiple_of(16);
    let chunk = |begin: usize| {
        let range = begin..(begin + each).min(bytes);
        let stream = match chunks {
            1 => context.default_stream(),
            _ => streams.new_stream().map_err(driver)?,
        };
        let zeros = || context.default_stream().alloc_zeros(range.len()).map_err(driver);
        let (input, output) = (zeros()?, zeros()?);
        Ok(Chunk { before: data.before(begin), range, stream, input, output })
    };
    let chunks = (0..bytes).step_by(each).map(chunk).collect::<Result<_>>()?;
    // The buffers are allocated in the order of the default stream, which the others do not wait for.
    context.synchronize().map_err(driver)?;
    Ok(chunks)
}

/// The time of each run in seconds, of copies to the GPU and back alone, without a kernel between them, and the clock.
pub fn time_alone(
    engine: &Engine,
    bytes: usize,
    chunks: usize,
    data: &Data,
    runs: Runs,
    clock: &mut Clock,
) -> Result<(Vec<f64>, Option<f64>)> {
    let mut chunks = cut(&engine.cuda_context()?, bytes, chunks, data)?;
    let (mut source, mut target) = (engine.host_buffer(bytes)?, engine.host_buffer(bytes)?);
    source.copy_from_slice(&data.input[..bytes]);
    let mut run = |target: &mut [u8]| -> Result<f64> {
        let start = Instant::now();
        for Chunk { range, stream, input, .. } in &mut chunks {
            stream.memcpy_htod(&source[range.clone()], input).map_err(driver)?;
            stream.memcpy_dtoh(input, &mut target[range.clone()]).map_err(driver)?;
        }
        for chunk in &chunks {
            chunk.stream.synchronize().map_err(driver)?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    run(&mut target)?;
    let one = run(&mut target)?;
    let runs = runs.count(one);
    target.fill(0);
    let times = (0..runs).map(|_| run(&mut target)).collect::<Result<_>>()?;
    anyhow::ensure!(target[..] == data.input[..bytes], "what was copied to the GPU and back differs");
    let mhz = clock.mhz_of_waiting(one, || run(&mut target).map(drop))?;
    Ok((times, Some(mhz)))
}

/// The time of each allocation of `bytes` of pinned memory, in seconds.
pub fn time_allocation(engine: &Engine, bytes: usize, runs: Runs) -> Result<Vec<f64>> {
    let allocate = || -> Result<f64> { Ok(engine.pinning_time(bytes)?.as_secs_f64()) };
    let runs = runs.count(allocate()?);
    (0..runs).map(|_| allocate()).collect()
}
