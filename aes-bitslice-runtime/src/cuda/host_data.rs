//! Data in host memory: to the GPUs, through the kernel, and back, in chunks, so that both directions of the links are busy at
//! once.
//!
//! Memory that is pinned is copied from and to as it is. Other memory is staged: a worker copies a chunk to the pinned memory
//! of its slot, and what comes back from there. (Pinning the caller's pages for the time of a call was measured, too: it takes
//! longer than the copies, BENCHMARKS.md.)

use super::copy::past_caches;
use super::group::GroupKey;
use super::kernel::Span;
use super::pinned::is_pinned;
use super::pool::Slot;
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
            bytes if bytes <= Slot::SMALLEST => bytes,
            bytes => self.keys().iter().try_fold(bytes, |bytes, key| room_on(key.device(), bytes))?,
        };
        // Calls that are too small for all GPUs begin with one after the other.
        let first = self.next_call();
        let workers: Vec<_> = (0..plan.workers).map(|worker| first.wrapping_add(worker) % self.keys().len()).collect();
        let parts = work.cut(data.reborrow(), chunk_bytes);
        let started = AtomicBool::new(false);
        let slots = |device: usize| self.keys()[device].slots(&Plan { chunk_bytes, ..plan }, staged);
        let run = || pipeline::run(parts, self.weights(), &workers, slots, &started);
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
    /// The slot with what it needs for that.
    fn slot(self, slot: Slot<'_>, bytes: usize) -> Result<Slot<'_>, Error> {
        if self.input || self.output { slot.with_staging(bytes) } else { Ok(slot) }
    }
}

/// How large a chunk can be on a device that has little memory free.
fn room_on(device: &Device, wanted: usize) -> Result<usize, Error> {
    device.enter()?;
    let slot = Slot::take(device, wanted)?;
    Ok((slot.len() / 16 * 16).min(wanted))
}

impl DeviceKey {
    /// A worker's slots; at least one, with room for a chunk.
    fn slots(&self, plan: &Plan, staged: Staged) -> Result<Vec<HostSlot<'_, '_>>, Error> {
        self.device().enter()?;
        let host_slot = |slot| HostSlot { key: self, slot, staged, part: None };
        let first = staged.slot(Slot::take(self.device(), plan.chunk_bytes)?, plan.chunk_bytes)?;
        if first.len() < plan.chunk_bytes {
            return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
        }
        // More of them make it faster. Without them it works as well.
        let more = (1..plan.streams).map_while(|_| Slot::try_take(self.device(), plan.chunk_bytes)?.ok());
        let more = more
            .map_while(|slot| staged.slot(slot, plan.chunk_bytes).ok())
            .filter(|slot| slot.len() >= plan.chunk_bytes);
        Ok([first].into_iter().chain(more).map(host_slot).collect())
    }
}

/// A slot with a part of the caller's data.
struct HostSlot<'k, 'a> {
    key: &'k DeviceKey,
    slot: Slot<'k>,
    staged: Staged,
    part: Option<Part<'a>>,
}

impl<'a> pipeline::Slot<'a> for HostSlot<'_, 'a> {
    fn start(&mut self, part: Part<'a>) -> Result<(), Error> {
        let Self { key, slot, staged, part: in_flight, .. } = self;
        // Kept before anything is put on the stream: from here on there is something to wait for.
        let Part { work, data } = in_flight.insert(part);
        let (at, len) = (work.skip(), data.len());
        let first = slot.buffer() + at as u64;
        let span = Span { input: first, output: first, len: len as u64 };
        key.device().enter()?;
        if staged.input {
            slot.staging(at, len).copy_from_slice(data.input());
            slot.copy_in_staged(at, len)?;
        } else {
            // SAFETY: the part is kept, and left alone, until the stream was waited for: by `finish` or on drop.
            unsafe { slot.copy_in(at, data.input()) }?;
        }
        // SAFETY: the span lies in the slot's buffer, which outlives the wait.
        unsafe { key.launch(slot.stream(), span, *work, None) }?;
        if staged.output {
            slot.copy_out_staged(at, len)
        } else {
            // SAFETY: as above.
            unsafe { slot.copy_out(at, data.output()) }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        // Whether or not the device is refused meanwhile: something may be on the stream.
        let entered = self.key.device().enter();
        self.slot.wait().and(entered)?;
        if let Some(Part { work, mut data }) = self.part.take()
            && self.staged.output
        {
            let len = data.len();
            past_caches(self.slot.staging(work.skip(), len), data.output());
        }
        Ok(())
    }
}

impl Drop for HostSlot<'_, '_> {
    fn drop(&mut self) {
        // After a failure: what was started may still read and write the caller's memory.
        if self.part.is_some() {
            let _ = self.key.device().enter();
            let _ = self.slot.wait();
        }
    }
}
