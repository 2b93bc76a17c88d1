//! Device memory sharded over the GPUs of an engine: a share on each.

use crate::backend::cuda::commands::Slot;
use crate::backend::cuda::device::Device;
use crate::backend::cuda::several::group::Group;
use crate::backend::cuda::several::peers;
use crate::base::error::Error;
use crate::exec::at_once::at_once;
use crate::exec::schedule::shares;
use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{DriverError, result};
use std::fmt;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// Where shares and chunks of sharded memory begin.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cuts {
    /// Shares begin at multiples of this many bytes, which is a multiple of 16.
    pub(crate) share: usize,
    /// The size of a chunk in bytes, a multiple of `share`; `None` where the length of the shares determines it.
    pub(crate) chunk: Option<usize>,
}

impl Cuts {
    /// The cuts that callers get.
    pub(crate) const USUAL: Self = Self { share: 1 << 20, chunk: None };

    /// Both at each multiple of `bytes` bytes, which is a multiple of 16 and less than 2^31.
    pub const fn every(bytes: usize) -> Self {
        assert!(bytes > 0 && bytes.is_multiple_of(16) && bytes < 1 << 31);
        Self { share: bytes, chunk: Some(bytes) }
    }
}

/// Device memory from [`Engine::sharded`](crate::Engine::sharded): one run of bytes, cut into adjoining shares, one on each GPU of the
/// engine. A share is as long as that GPU's share of the work ([`Shares`](crate::cuda::Shares)). It is cleared before it is freed, and may
/// outlive the engine.
///
/// It is for [`Cipher::sharded`](crate::Cipher::sharded), whose calls return when their work is done. Wait for any other work on it,
/// through the addresses of [`shares`](Self::shares), before the next call.
pub struct ShardedBuffer {
    /// One share for each GPU of the engine, in order; some may be empty.
    shares: Vec<Memory>,
    len: usize,
    /// Where shares and chunks begin.
    pub(crate) cuts: Cuts,
    /// For each GPU, whether it can access the share of each GPU.
    reach: Vec<Vec<bool>>,
}

/// The data of a call in sharded memory: `&mut data` is both input and output, or the one of them that the operation uses;
/// `(&input, &mut output)` are separate.
pub struct ShardedBuffers<'d> {
    pub(crate) input: Option<&'d ShardedBuffer>,
    pub(crate) output: &'d mut ShardedBuffer,
}

impl<'d> From<&'d mut ShardedBuffer> for ShardedBuffers<'d> {
    fn from(output: &'d mut ShardedBuffer) -> Self {
        Self { input: None, output }
    }
}

impl<'d> From<(&'d ShardedBuffer, &'d mut ShardedBuffer)> for ShardedBuffers<'d> {
    fn from((input, output): (&'d ShardedBuffer, &'d mut ShardedBuffer)) -> Self {
        Self { input: Some(input), output }
    }
}

/// A share of a sharded buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ShardedShare {
    /// The number of the GPU that holds it.
    pub ordinal: usize,
    /// The bytes of the buffer in it; none where the buffer is too small for all GPUs.
    pub range: Range<usize>,
    /// The address of the bytes in that GPU's memory; 0 if there are none.
    pub pointer: CUdeviceptr,
}

/// Memory of one GPU, cleared before it is freed.
struct Memory {
    device: Arc<Device>,
    share: ShardedShare,
}

impl ShardedBuffer {
    pub(crate) fn new(group: &Group, len: usize, cuts: Cuts) -> Result<Self, Error> {
        let weights: Vec<f64> = group.members.iter().map(|member| member.weight).collect();
        Self::with_weights(group, len, cuts, &weights)
    }

    /// A buffer with shares in proportion to `weights` instead of the group's.
    pub(crate) fn with_weights(group: &Group, len: usize, cuts: Cuts, weights: &[f64]) -> Result<Self, Error> {
        let devices: Vec<_> = group.members.iter().map(|member| &member.device).collect();
        // Before anything asks one of them about another: it would take the other's error for its own.
        devices.iter().try_for_each(|device| device.enter())?;
        let reach = peers::reach(&devices)?;
        let shares = group.members.iter().zip(cut(len, cuts.share, weights));
        let shares = shares.map(|(member, range)| Memory::new(&member.device, member.ordinal, range));
        Ok(Self { shares: shares.collect::<Result<_, _>>()?, len, cuts, reach })
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The location of each part: adjoining ranges that cover the buffer, one for each GPU of the engine, in order.
    pub fn shares(&self) -> Vec<ShardedShare> {
        self.shares.iter().map(|memory| memory.share.clone()).collect()
    }

    /// Copies `data` to the bytes from `at` on, over the links of all GPUs at once, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] beyond the end; else any error the devices report, in which case some of the data may have been copied.
    pub fn copy_from_host(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        let mut rest = data;
        let chunks = self.overlapping(at, data.len())?.into_iter().map(|(memory, from)| {
            let chunk = rest.split_off(..from.len()).expect("ranges that cover all");
            (memory, from.start, chunk)
        });
        let copy = |slot: &mut Slot<'_>, pointer, chunk: &[u8]| {
            // SAFETY: the range is within the share, which is borrowed until the copy was waited for.
            unsafe { result::memcpy_htod_async(pointer, chunk, *slot.queue()) }
        };
        copy_at_once(chunks.collect(), "cuMemcpyHtoDAsync", copy)
    }

    /// Copies the bytes from `at` on to `data`, over the links of all GPUs at once, and waits for the copy.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] beyond the end; else any error the devices report, in which case some of the data may have been copied.
    pub fn copy_to_host(&self, at: usize, data: &mut [u8]) -> Result<(), Error> {
        let overlapping = self.overlapping(at, data.len())?;
        let mut rest = data;
        let chunks = overlapping.into_iter().map(|(memory, from)| {
            let chunk = rest.split_off_mut(..from.len()).expect("ranges that cover all");
            (memory, from.start, chunk)
        });
        let copy = |slot: &mut Slot<'_>, pointer, chunk: &mut [u8]| {
            // SAFETY: the range is within the share; the chunk is borrowed until the copy was waited for.
            unsafe { result::memcpy_dtoh_async(chunk, pointer, *slot.queue()) }
        };
        copy_at_once(chunks.collect(), "cuMemcpyDtoHAsync", copy)
    }

    /// The shares that hold some of the `bytes` bytes from `at` on, and the range of these bytes within each share.
    fn overlapping(&self, at: usize, bytes: usize) -> Result<Vec<(&Memory, Range<usize>)>, Error> {
        let end = at.checked_add(bytes).filter(|&end| end <= self.len);
        let end = end.ok_or(Error::OutOfRange { at, bytes, len: self.len })?;
        let common = |range: &Range<usize>| at.max(range.start)..end.min(range.end);
        let within = |range: &Range<usize>| common(range).start - range.start..common(range).end - range.start;
        let some = self.shares.iter().filter(|memory| !common(&memory.share.range).is_empty());
        Ok(some.map(|memory| (memory, within(&memory.share.range))).collect())
    }

    /// The device and the memory of each share.
    pub(crate) fn memory(&self) -> impl ExactSizeIterator<Item = (&Arc<Device>, &ShardedShare)> {
        self.shares.iter().map(|memory| (&memory.device, &memory.share))
    }

    /// Whether a GPU can access the share of another.
    pub(crate) fn reaches(&self, gpu: usize, owner: usize) -> bool {
        self.reach[gpu][owner]
    }

    /// Sets all of it to zero. If a device cannot do that, later calls that use the device return [`Error::Poisoned`], so that they copy
    /// nothing from it.
    pub(crate) fn clear(&mut self) {
        for memory in &mut self.shares {
            if let Err(error) = memory.clear() {
                memory.device.context().poison(format!("a share of sharded memory was not cleared: {error}"));
            }
        }
    }
}

/// The shares of `len` bytes, which begin at multiples of `grain`.
fn cut(len: usize, grain: usize, weights: &[f64]) -> Vec<Range<usize>> {
    let bytes = |grains: usize| grains.saturating_mul(grain).min(len);
    shares(len.div_ceil(grain), weights).into_iter().map(|grains| bytes(grains.start)..bytes(grains.end)).collect()
}

/// Copies chunks, each from or to byte `at` of a share, on one thread per chunk.
fn copy_at_once<T: Send>(
    chunks: Vec<(&Memory, usize, T)>,
    call: &str,
    copy: impl Fn(&mut Slot<'_>, CUdeviceptr, T) -> Result<(), DriverError> + Sync,
) -> Result<(), Error> {
    let one = |(memory, at, chunk): (&Memory, usize, T)| {
        let Memory { device, share } = memory;
        device.enter()?;
        let mut slot = device.slots.take(16)?;
        let copied = device.context().call(call, copy(&mut slot, share.pointer + at as u64, chunk));
        slot.wait().and(copied)
    };
    at_once(chunks, one).into_iter().collect()
}

impl Memory {
    fn new(device: &Arc<Device>, ordinal: usize, range: Range<usize>) -> Result<Self, Error> {
        device.enter()?;
        let mut memory = Self { device: device.clone(), share: ShardedShare { ordinal, range, pointer: 0 } };
        let len = memory.share.range.len();
        if len > 0 {
            // SAFETY: the context is current on this thread.
            memory.share.pointer = match unsafe { result::malloc_sync(len) } {
                Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                    let what = format!("{len} bytes, the share of GPU {ordinal}");
                    return Err(Error::OutOfDeviceMemory { what });
                }
                allocated => device.context().call("cuMemAlloc", allocated)?,
            };
            memory.clear()?;
        }
        Ok(memory)
    }

    /// Sets all of it to zero and waits for that. Nothing else works on it: this reference is the only one.
    fn clear(&mut self) -> Result<(), Error> {
        // Retried once: the first failure may have been temporary.
        self.set_to_zero().or_else(|_| self.set_to_zero())
    }

    fn set_to_zero(&mut self) -> Result<(), Error> {
        if self.share.pointer == 0 {
            return Ok(());
        }
        let context = self.device.context();
        context.call("cuCtxSetCurrent", context.make_current())?;
        let default_stream = ptr::null_mut();
        // SAFETY: this value owns the memory, and no call works on it while this one has it.
        let cleared = unsafe {
            result::memset_d8_async(self.share.pointer, 0, self.share.range.len(), default_stream)
                .and_then(|()| result::stream::synchronize(default_stream))
        };
        context.call("cuMemsetD8Async", cleared)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.share.pointer != 0 {
            // An error cannot be handled here; on a context that is lost, the memory is lost with it.
            let _ = self.clear();
            // SAFETY: allocated here, and not used after this. The driver may refuse if its context is not current.
            let _ = unsafe { result::free_sync(self.share.pointer) };
        }
    }
}

impl fmt::Debug for ShardedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardedBuffer({} bytes on {} GPUs)", self.len, self.shares.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAIN: usize = Cuts::USUAL.share;

    #[test]
    fn shares_are_whole_grains_and_cover_all() {
        assert_eq!(cut(5 * GRAIN + 3, GRAIN, &[1.0, 1.0]), [0..3 * GRAIN, 3 * GRAIN..5 * GRAIN + 3]);
        assert_eq!(
            cut(7, GRAIN, &[1.0, 1.0, 1.0]).iter().filter(|share| !share.is_empty()).collect::<Vec<_>>(),
            [&(0..7)]
        );
        for len in [0, 1, GRAIN - 1, GRAIN, GRAIN + 1, 9 * GRAIN, 100 * GRAIN + 77, usize::MAX] {
            for weights in [&[1.0][..], &[0.0, 1.0], &[1.0, 0.0], &[2.0, 1.0, 1.5, 0.1]] {
                let shares = cut(len, GRAIN, weights);
                assert_eq!((shares.len(), shares[0].start, shares[shares.len() - 1].end), (weights.len(), 0, len));
                assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
                let inner = shares[..shares.len() - 1].iter().map(|share| share.end);
                assert!(inner.into_iter().all(|end| end == len || end.is_multiple_of(GRAIN)));
            }
        }
    }
}
