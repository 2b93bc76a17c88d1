//! Data in host memory: to the device, through the kernel, and back, in chunks, so that both directions of the link are busy
//! at once.

use super::kernel::Span;
use super::pool::Slot;
use super::{Device, DeviceKey};
use crate::Error;
use crate::engine::BlockEngine;
use crate::parallel::Buffers;
use crate::pipeline;
use crate::work::{Part, Work};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;

/// Bytes of a chunk, unless [`Transfers`](crate::Transfers) say otherwise: long enough that what a launch and two copies
/// cost each does not show.
const CHUNK: usize = 16 << 20;

/// Chunks that are on their way at the same time, for each thread.
const SLOTS: usize = 2;

/// Threads: one has the next chunk copied while the other waits. The processor itself needs no link.
const WORKERS: usize = 2;

impl BlockEngine for DeviceKey {
    fn run(&self, work: Work, mut data: Buffers<'_>) -> Result<(), Error> {
        self.prepare(work.mode())?;
        let plan = Plan::new(self, work.skip() + data.len())?;
        let parts = work.cut(data.reborrow(), plan.chunk_bytes);
        let started = AtomicBool::new(false);
        let run = || pipeline::run(parts, &[1.0], &vec![0; plan.workers], |_| self.slots(plan), &started);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        // Not even a panic hands half a result out.
        if !matches!(outcome, Ok(Ok(()))) && started.into_inner() {
            data.output().fill(0);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// How one call's data goes to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    chunk_bytes: usize,
    slots: usize,
    workers: usize,
}

impl Plan {
    fn new(key: &DeviceKey, bytes: usize) -> Result<Self, Error> {
        let (transfers, device) = (key.transfers(), key.device());
        let chunk = transfers.chunk_bytes.unwrap_or(CHUNK).clamp(16, 64 << 20);
        let chunk = chunk.min(bytes).min(device.largest_buffer() as usize).max(1).next_multiple_of(16);
        let chunk_bytes = if chunk <= Slot::SMALLEST { chunk } else { room_on(device, chunk)? };
        let chunks = bytes.div_ceil(chunk_bytes).max(1);
        let workers = transfers.workers.unwrap_or(if device.is_cpu() { 1 } else { WORKERS }).clamp(1, 16).min(chunks);
        let slots = transfers.streams.unwrap_or(SLOTS).clamp(1, 32).min(chunks.div_ceil(workers));
        Ok(Self { chunk_bytes, slots, workers })
    }
}

/// How large a chunk can be on a device that has little memory free.
fn room_on(device: &Device, wanted: usize) -> Result<usize, Error> {
    Ok((Slot::take(device, wanted)?.len() / 16 * 16).min(wanted))
}

impl DeviceKey {
    /// A worker's slots; at least one, with room for a chunk.
    fn slots(&self, plan: Plan) -> Result<Vec<HostSlot<'_, '_>>, Error> {
        let host_slot = |slot| HostSlot { key: self, slot, part: None };
        let first = Slot::take(self.device(), plan.chunk_bytes)?;
        if first.len() < plan.chunk_bytes {
            return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
        }
        // More of them make it faster. Without them it works as well.
        let more = (1..plan.slots).map_while(|_| Slot::try_take(self.device(), plan.chunk_bytes)?.ok());
        let more = more.filter(|slot| slot.len() >= plan.chunk_bytes);
        Ok([first].into_iter().chain(more).map(host_slot).collect())
    }
}

/// A slot with a part of the caller's data.
struct HostSlot<'k, 'a> {
    key: &'k DeviceKey,
    slot: Slot<'k>,
    part: Option<Part<'a>>,
}

impl<'a> pipeline::Slot<'a> for HostSlot<'_, 'a> {
    fn start(&mut self, part: Part<'a>) -> Result<(), Error> {
        let Self { key, slot, part: in_flight } = self;
        // Kept before anything is put into the queue: from here on there is something to wait for.
        let Part { work, data } = in_flight.insert(part);
        let at = work.skip();
        let span = Span::of(slot.buffer(), at, data.len());
        // SAFETY: the part is kept, and left alone, until the slot was waited for: by `finish` or on drop. The span lies in the
        // slot's buffer.
        unsafe {
            slot.copy_in(at, data.input())?;
            slot.launch(|_, queue, events| key.launch(queue, span, *work, events))?;
            slot.copy_out(at, data.output())
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        let waited = self.slot.wait();
        self.part = None;
        waited
    }
}

impl Drop for HostSlot<'_, '_> {
    fn drop(&mut self) {
        // After a failure: what was started may still read and write the caller's memory.
        if self.part.is_some() {
            let _ = self.slot.wait();
        }
    }
}
