//! Data in host memory: to the device, through the kernel, and back, in chunks, so that both directions of the link are busy at once. A
//! worker copies a chunk into the pinned memory of its slot, and the result out of it.

use crate::backend::opencl::device_key::DeviceKey;
use crate::backend::opencl::kernel::span::Span;
use crate::backend::opencl::memory::slots::{Pool, Slot};
use crate::backend::past_caches::past_caches;
use crate::base::error::Error;
use crate::exec::backend::OnBackend;
use crate::exec::call::{Call, PartOf};
use crate::exec::chunk::{Chunk, cut};
use crate::exec::pipeline;
use crate::exec::transfers::Plan;
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;

impl OnBackend for DeviceKey {
    fn run<O: Pass>(&self, call: Call<O>, mut data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        self.prepare_all(&call)?;
        let plan = self.plan(call.skip() + data.len())?;
        let chunks = cut(call, data.reborrow(), plan.chunk_bytes);
        let started = AtomicBool::new(false);
        let slots = |_| self.slots(&plan);
        let run = || pipeline::run(chunks, &[1.0], &vec![0; plan.workers], slots, &started);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        // Not even a panic lets half a result out.
        if !matches!(outcome, Ok(Ok(_))) && started.into_inner() {
            data.output().fill(0);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

/// The size of the largest possible chunk on a device that has little memory free.
fn room_on(pool: &Pool, wanted: usize) -> Result<usize, Error> {
    Ok((pool.take(wanted)?.len() / 16 * 16).min(wanted))
}

/// The size of a chunk for a GPU, in bytes. OpenCL drivers want larger chunks than CUDA, and one in flight for each of many threads
/// (measured on an H200: docs/record/2026-11-host-memory.md).
fn fastest_chunk(bytes: usize) -> usize {
    (bytes / 128).clamp(4 << 20, 8 << 20).min(bytes / 8).max(1 << 20)
}

impl DeviceKey {
    /// How a call's data goes to the device.
    fn plan(&self, bytes: usize) -> Result<Plan, Error> {
        let context = self.device().context();
        let mut transfers = self.transfers();
        // A device that is the processor itself has no cores to spare for copies.
        if context.is_cpu() {
            transfers.workers = transfers.workers.or(Some(1));
        } else {
            transfers.chunk_bytes = transfers.chunk_bytes.or(Some(fastest_chunk(bytes)));
            transfers.streams = transfers.streams.or(Some(1));
        }
        let plan = transfers.plan(bytes, false, 1);
        let chunk = plan.chunk_bytes.min(context.largest_buffer() as usize / 16 * 16);
        let chunk_bytes = if chunk <= Slot::SMALLEST { chunk } else { room_on(self.device().pool(), chunk)? };
        Ok(Plan { chunk_bytes, ..plan })
    }

    /// A worker's slots; at least one, with room for a chunk.
    fn slots<O: Pass>(&self, plan: &Plan) -> Result<Vec<HostSlot<'_, '_, O>>, Error> {
        let host_slot = |slot| HostSlot { key: self, slot, chunk: None };
        let pool = self.device().pool();
        let first = pool.take(plan.chunk_bytes)?;
        if first.len() < plan.chunk_bytes {
            return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
        }
        // More slots make it faster, but it works without them.
        let more = (1..plan.streams).map_while(|_| pool.try_take(plan.chunk_bytes)?.ok());
        let more = more.filter(|slot| slot.len() >= plan.chunk_bytes);
        Ok([first].into_iter().chain(more).map(host_slot).collect())
    }
}

/// A slot with a chunk of the caller's data.
struct HostSlot<'k, 'a, O: Pass> {
    key: &'k DeviceKey,
    slot: Slot<'k>,
    chunk: Option<Chunk<'a, O>>,
}

impl<'a, O: Pass> pipeline::Slot<'a, O> for HostSlot<'_, 'a, O> {
    fn start(&mut self, chunk: Chunk<'a, O>) -> Result<(), Error> {
        let Self { key, slot, chunk: in_flight } = self;
        // Stored before anything is put into the queue: from here on there is something to wait for.
        let Chunk { call, data } = in_flight.insert(chunk);
        let (at, reads, writes) = (call.skip(), data.reads(), data.writes());
        let span = Span::of(slot.buffer(), at, data.len(), reads, writes);
        if reads {
            slot.copy_in(at, data.input())?;
        }
        // SAFETY: the span is within the slot's buffer.
        unsafe { key.launch_in(slot, span, call) }?;
        if writes {
            slot.copy_out(at, data.len())?;
        }
        slot.begin()
    }

    fn finish(&mut self) -> Result<PartOf<O>, Error> {
        self.slot.wait()?;
        let Chunk { call, mut data } = self.chunk.take().expect("a chunk that was started");
        let len = data.len();
        if data.writes() {
            past_caches(self.slot.staged(call.skip(), len), data.output());
        }
        Ok(call.part(len as u64, &self.slot))
    }
}
