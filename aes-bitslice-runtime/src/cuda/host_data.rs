//! Data in host memory: to the GPUs, through the kernel, and back, in chunks, so that both directions of the links are busy at
//! once.
//!
//! Memory that is pinned is copied from and to as it is. Other memory is staged: a worker copies a chunk to the pinned memory
//! of its lane, and what comes back from there. (Pinning the caller's pages for the time of a call was measured, too: it takes
//! longer than the copies, BENCHMARKS.md.)

use super::copy::past_caches;
use super::group::GroupKey;
use super::kernel::Span;
use super::pinned::is_pinned;
use super::pool::Lane;
use super::transfers::Plan;
use super::{Device, DeviceKey};
use crate::Error;
use crate::engine::BlockEngine;
use crate::parallel::Buffers;
use crate::pipeline;
use crate::work::{Part, Work};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;

impl BlockEngine for GroupKey {
    fn run(&self, work: Work, mut data: Buffers<'_>) -> Result<(), Error> {
        self.prepare(work.mode())?;
        let staged = Staged { input: !is_pinned(data.input()), output: !is_pinned(data.output()) };
        let plan = self.transfers().plan(work.skip() + data.len(), !staged.input && !staged.output, self.keys().len());
        let chunk_bytes = match plan.chunk_bytes {
            bytes if bytes <= Lane::SMALLEST => bytes,
            bytes => self.keys().iter().try_fold(bytes, |bytes, key| room_on(key.device(), bytes))?,
        };
        // Calls that are too small for all GPUs begin with one after the other.
        let first = self.next_call();
        let workers: Vec<_> = (0..plan.workers).map(|worker| first.wrapping_add(worker) % self.keys().len()).collect();
        let parts = work.cut(data.reborrow(), chunk_bytes);
        let started = AtomicBool::new(false);
        let lanes = |device: usize| self.keys()[device].lanes(&Plan { chunk_bytes, ..plan }, staged);
        let run = || pipeline::run(parts, self.weights(), &workers, lanes, &started);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        // Not even a panic hands half a result out.
        if !matches!(outcome, Ok(Ok(()))) && started.into_inner() {
            data.output().fill(0);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// What is not pinned.
#[derive(Clone, Copy)]
struct Staged {
    input: bool,
    output: bool,
}

impl Staged {
    /// The lane with what it needs for that.
    fn lane(self, lane: Lane<'_>, bytes: usize) -> Result<Lane<'_>, Error> {
        if self.input || self.output { lane.with_staging(bytes) } else { Ok(lane) }
    }
}

/// How large a chunk can be on a device that has little memory free.
fn room_on(device: &Device, wanted: usize) -> Result<usize, Error> {
    device.enter()?;
    let lane = Lane::take(device, wanted)?;
    Ok((lane.len() / 16 * 16).min(wanted))
}

impl DeviceKey {
    /// A worker's lanes; at least one, with room for a chunk.
    fn lanes(&self, plan: &Plan, staged: Staged) -> Result<Vec<HostLane<'_, '_>>, Error> {
        self.device().enter()?;
        let host_lane = |lane| HostLane { key: self, lane, staged, part: None };
        let first = staged.lane(Lane::take(self.device(), plan.chunk_bytes)?, plan.chunk_bytes)?;
        if first.len() < plan.chunk_bytes {
            return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
        }
        // More of them make it faster. Without them it works as well.
        let more = (1..plan.streams).map_while(|_| Lane::try_take(self.device(), plan.chunk_bytes)?.ok());
        let more = more
            .map_while(|lane| staged.lane(lane, plan.chunk_bytes).ok())
            .filter(|lane| lane.len() >= plan.chunk_bytes);
        Ok([first].into_iter().chain(more).map(host_lane).collect())
    }
}

/// A lane with a part of the caller's data.
struct HostLane<'k, 'a> {
    key: &'k DeviceKey,
    lane: Lane<'k>,
    staged: Staged,
    part: Option<Part<'a>>,
}

impl<'a> pipeline::Lane<'a> for HostLane<'_, 'a> {
    fn start(&mut self, part: Part<'a>) -> Result<(), Error> {
        let Self { key, lane, staged, part: in_flight, .. } = self;
        // Kept before anything is put on the stream: from here on there is something to wait for.
        let Part { work, data } = in_flight.insert(part);
        let (at, len) = (work.skip(), data.len());
        let first = lane.buffer() + at as u64;
        let span = Span { input: first, output: first, len: len as u64 };
        key.device().enter()?;
        if staged.input {
            lane.staging(at, len).copy_from_slice(data.input());
            lane.copy_in_staged(at, len)?;
        } else {
            // SAFETY: the part is kept, and left alone, until the stream was waited for: by `finish` or on drop.
            unsafe { lane.copy_in(at, data.input()) }?;
        }
        // SAFETY: the span lies in the lane's buffer, which outlives the wait.
        unsafe { key.launch(lane.stream(), span, *work, None) }?;
        if staged.output {
            lane.copy_out_staged(at, len)
        } else {
            // SAFETY: as above.
            unsafe { lane.copy_out(at, data.output()) }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        // Whether or not the device is refused meanwhile: something may be on the stream.
        let entered = self.key.device().enter();
        self.lane.wait().and(entered)?;
        if let Some(Part { work, mut data }) = self.part.take()
            && self.staged.output
        {
            let len = data.len();
            past_caches(self.lane.staging(work.skip(), len), data.output());
        }
        Ok(())
    }
}

impl Drop for HostLane<'_, '_> {
    fn drop(&mut self) {
        // After a failure: what was started may still read and write the caller's memory.
        if self.part.is_some() {
            let _ = self.key.device().enter();
            let _ = self.lane.wait();
        }
    }
}
