//! The throughput of the links to GPUs: pinned memory copied to them, and the same number of bytes copied back at the same time, nothing
//! computed: what calls on data in host memory are compared with. These calls copy in chunks, which on some hosts is a little faster.
//!
//! Each way is one copy of the whole size, on its own stream; with several GPUs, each has a chunk of it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aes_bitslice_runtime::cuda::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError};
use aes_bitslice_runtime::cuda::devices;
use aes_bitslice_runtime::{Backend, Engine};

use super::cores::{first_difference, refill};
use super::cuda::driver;
use super::host_data::HostData;
use crate::error::{Error, Exit, Result};

/// The links of an engine's GPUs.
pub struct Links(Vec<Link>);

/// One GPU: two streams, and device memory for each.
struct Link {
    inward: Arc<CudaStream>,
    outward: Arc<CudaStream>,
    input: CudaSlice<u8>,
    output: CudaSlice<u8>,
}

impl Links {
    /// With device memory for `bytes` each way.
    pub fn new(engine: &Engine, bytes: usize) -> Result<Self> {
        let ordinals = match engine.backend() {
            Backend::Cuda { ordinal } => vec![ordinal],
            _ => devices()?.iter().map(|device| device.ordinal).collect(),
        };
        let each = chunk_bytes(bytes, ordinals.len());
        let links = ordinals.into_iter().map(|ordinal| Link::new(ordinal, each).map_err(driver));
        links.collect::<Result<_>>().map(Self)
    }

    /// The time of each run on `bytes` each way, from submission until all has arrived; checked before and after.
    pub fn time(&mut self, bytes: usize, runs: u32, data: &mut HostData) -> Result<Vec<Duration>> {
        let Links(links) = self;
        let each = chunk_bytes(bytes, links.len());
        let (source, target) = data.pinned(bytes);
        for (link, source) in links.iter_mut().zip(source.chunks(each)) {
            link.outward.memcpy_htod(source, &mut link.output).map_err(driver)?;
            link.inward.memset_zeros(&mut link.input).map_err(driver)?;
        }
        wait(links).map_err(driver)?;
        let run = |links: &mut [Link], target: &mut [u8]| {
            // As before each call on pinned memory: what the processor's caches hold of the target affects the time.
            refill(target, None);
            let start = Instant::now();
            for ((link, source), target) in links.iter_mut().zip(source.chunks(each)).zip(target.chunks_mut(each)) {
                link.inward.memcpy_htod(source, &mut link.input)?;
                link.outward.memcpy_dtoh(&link.output.slice(..target.len()), target)?;
            }
            wait(links)?;
            Ok(start.elapsed())
        };
        run(links, target).map_err(driver)?;
        check(source, target)?;
        let times = (0..runs).map(|_| run(links, target)).collect::<std::result::Result<_, _>>().map_err(driver)?;
        check(source, target)?;
        // Now the other direction.
        target.fill(0);
        for (link, target) in links.iter().zip(target.chunks_mut(each)) {
            link.inward.memcpy_dtoh(&link.input.slice(..target.len()), target).map_err(driver)?;
        }
        wait(links).map_err(driver)?;
        check(source, target)?;
        Ok(times)
    }
}

impl Link {
    fn new(ordinal: usize, bytes: usize) -> std::result::Result<Self, DriverError> {
        // Between streams of one handle to a context, `cudarc` would order the accesses to a buffer by events, which take
        // time; here each buffer is used on one stream, of another handle.
        let (context, streams) = (CudaContext::new(ordinal)?, CudaContext::new(ordinal)?);
        let zeros = || context.default_stream().alloc_zeros(bytes);
        let (input, output) = (zeros()?, zeros()?);
        context.synchronize()?;
        Ok(Link { inward: streams.new_stream()?, outward: streams.new_stream()?, input, output })
    }
}

fn wait(links: &[Link]) -> std::result::Result<(), DriverError> {
    links.iter().try_for_each(|link| link.inward.synchronize().and_then(|()| link.outward.synchronize()))
}

/// Bytes that each of `links` links copies of `bytes` bytes, at most.
fn chunk_bytes(bytes: usize, links: usize) -> usize {
    bytes.div_ceil(links).max(1)
}

fn check(source: &[u8], target: &[u8]) -> Result<()> {
    match first_difference(source, target) {
        None => Ok(()),
        Some(at) => {
            let what = format!("a copy to a GPU and back differs from byte {at} of {} on; do not use it", source.len());
            Err(Error::new(Exit::Failure, what))
        }
    }
}
