//! Data in host memory: to the device, through the kernel, and back, in chunks, so that both directions of the link are busy
//! at once.

use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::kernel::span::Span;
use crate::backend::opencl::memory::slots::{Pool, Slot};
use crate::base::error::Error;
use crate::exec::backend::OnBackend;
use crate::exec::chunk::{Chunk, cut};
use crate::exec::pipeline;
use crate::op::buffers::Buffers;
use crate::op::operation::Operation;
use aes_bitslice_core::mode::Mode;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;

/// Bytes of a chunk, unless [`Transfers`](crate::Transfers) say otherwise: long enough that what a launch and two copies
/// cost each does not show.
const CHUNK: usize = 16 << 20;

/// Chunks that are on their way at the same time, for each thread.
const SLOTS: usize = 2;

/// Threads: one has the next chunk copied while the other waits. The processor itself needs no link.
const WORKERS: usize = 2;

impl OnBackend for DeviceKey {
    fn run<O: Operation>(&self, operation: O, mut data: Buffers<'_>) -> Result<Vec<O::Part>, Error> {
        let mode = self.mode_of(&operation, "OpenCL")?;
        self.prepare(mode)?;
        let plan = Plan::new(self, operation.skip() + data.len())?;
        let chunks = cut(operation, data.reborrow(), plan.chunk_bytes);
        let started = AtomicBool::new(false);
        let slots = |_| self.slots(plan, mode);
        let run = || pipeline::run(chunks, &[1.0], &vec![0; plan.workers], slots, &started);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        // Not even a panic hands half a result out.
        if !matches!(outcome, Ok(Ok(_))) && started.into_inner() {
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
        let (transfers, context) = (key.transfers(), key.device().context());
        let chunk = transfers.chunk_bytes.unwrap_or(CHUNK).clamp(16, 64 << 20);
        let chunk = chunk.min(bytes).min(context.largest_buffer() as usize).max(1).next_multiple_of(16);
        let chunk_bytes = if chunk <= Slot::SMALLEST { chunk } else { room_on(key.device().pool(), chunk)? };
        let chunks = bytes.div_ceil(chunk_bytes).max(1);
        let workers = transfers.workers.unwrap_or(if context.is_cpu() { 1 } else { WORKERS }).clamp(1, 16).min(chunks);
        let slots = transfers.streams.unwrap_or(SLOTS).clamp(1, 32).min(chunks.div_ceil(workers));
        Ok(Self { chunk_bytes, slots, workers })
    }
}

/// How large a chunk can be on a device that has little memory free.
fn room_on(pool: &Pool, wanted: usize) -> Result<usize, Error> {
    Ok((pool.take(wanted)?.len() / 16 * 16).min(wanted))
}

impl DeviceKey {
    /// A worker's slots; at least one, with room for a chunk.
    fn slots<O: Operation>(&self, plan: Plan, mode: Mode) -> Result<Vec<HostSlot<'_, '_, O>>, Error> {
        let host_slot = |slot| HostSlot { key: self, mode, slot, chunk: None };
        let pool = self.device().pool();
        let first = pool.take(plan.chunk_bytes)?;
        if first.len() < plan.chunk_bytes {
            return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
        }
        // More of them make it faster. Without them it works as well.
        let more = (1..plan.slots).map_while(|_| pool.try_take(plan.chunk_bytes)?.ok());
        let more = more.filter(|slot| slot.len() >= plan.chunk_bytes);
        Ok([first].into_iter().chain(more).map(host_slot).collect())
    }
}

/// A slot with a chunk of the caller's data.
struct HostSlot<'k, 'a, O> {
    key: &'k DeviceKey,
    mode: Mode,
    slot: Slot<'k>,
    chunk: Option<Chunk<'a, O>>,
}

impl<'a, O: Operation> pipeline::Slot<'a, O> for HostSlot<'_, 'a, O> {
    fn start(&mut self, chunk: Chunk<'a, O>) -> Result<(), Error> {
        let Self { key, mode, slot, chunk: in_flight } = self;
        // Kept before anything is put into the queue: from here on there is something to wait for.
        let Chunk { operation, data } = in_flight.insert(chunk);
        let (at, reads, writes) = (operation.skip(), data.reads(), data.writes());
        let span = Span::of(slot.buffer(), at, data.len(), reads, writes);
        // SAFETY: the chunk is kept, and left alone, until the slot was waited for: by `finish` or on drop. The span lies in the
        // slot's buffer.
        unsafe {
            if reads {
                slot.copy_in(at, data.input())?;
            }
            slot.launch(|_, queue, events| key.launch(queue, span, operation, *mode, events))?;
            if writes {
                slot.copy_out(at, data.output())?;
            }
        }
        slot.begin()
    }

    fn finish(&mut self) -> Result<O::Part, Error> {
        let waited = self.slot.wait();
        self.chunk = None;
        // Kernels for OpenCL give nothing back beside what they write.
        waited.map(|()| O::Part::default())
    }
}

impl<O> Drop for HostSlot<'_, '_, O> {
    fn drop(&mut self) {
        // After a failure: what was started may still read and write the caller's memory.
        if self.chunk.is_some() {
            let _ = self.slot.wait();
        }
    }
}
