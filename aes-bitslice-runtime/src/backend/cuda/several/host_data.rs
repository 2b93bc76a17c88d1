//! Data in host memory: to the GPUs, through the kernel, and back, in chunks, so that both directions of the links are
//! busy at once.
//!
//! Pinned memory is copied from and to directly. Other memory is staged: a worker copies a chunk into the pinned memory
//! of its slot, and the result out of it. For small calls without a hash, on aligned data, kernels read and write
//! pinned memory, the caller's or the slot's, over the link themselves. (Pinning the caller's pages for the duration of
//! a call was measured, too: it takes longer than the copies, docs/record/2026-11-host-memory.md.)

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::pinned::{is_pinned, on_device};
use crate::backend::cuda::memory::slots::Slot;
use crate::backend::cuda::memory::span::Span;
use crate::backend::past_caches::past_caches;
use crate::base::error::Error;
use crate::exec::call::{Call, PartOf};
use crate::exec::chunk::Chunk;
use crate::exec::pipeline;
use crate::exec::transfers::Plan;
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;

/// The data that is staged: data that is read or written, and not pinned.
#[derive(Clone, Copy)]
pub(crate) struct Staged {
    input: bool,
    output: bool,
}

impl Staged {
    /// For this data. A context is current on this thread.
    pub(crate) fn of(data: &mut Buffers<'_>) -> Self {
        let input = data.reads() && !is_pinned(data.input());
        Self { input, output: data.writes() && !is_pinned(data.output()) }
    }

    /// Whether nothing is staged.
    pub(crate) fn is_nothing(self) -> bool {
        !self.input && !self.output
    }

    /// The slot with what it needs for that.
    fn slot(self, slot: Slot<'_>, bytes: usize) -> Result<Slot<'_>, Error> {
        if self.is_nothing() { Ok(slot) } else { slot.with_staging(bytes) }
    }
}

/// The size of the largest possible chunk on a device that has little memory free.
pub(crate) fn room_on(key: &DeviceKey, wanted: usize) -> Result<usize, Error> {
    key.device().enter()?;
    let slot = key.device().slots().take(wanted)?;
    Ok((slot.len() / 16 * 16).min(wanted))
}

/// A worker's slots; at least one, with room for a chunk.
pub(crate) fn slots<'k, 'a, O: Pass>(
    key: &'k DeviceKey,
    plan: &Plan,
    staged: Staged,
) -> Result<Vec<HostSlot<'k, 'a, O>>, Error> {
    key.device().enter()?;
    let slots = key.device().slots();
    let host_slot = |slot| HostSlot { key, slot, staged, over_link: plan.over_link, chunk: None };
    let first = staged.slot(slots.take(plan.chunk_bytes)?, plan.chunk_bytes)?;
    if first.len() < plan.chunk_bytes {
        return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {} bytes", plan.chunk_bytes) });
    }
    // More slots make it faster, but it works without them.
    let more = (1..plan.streams).map_while(|_| slots.try_take(plan.chunk_bytes)?.ok());
    let more =
        more.map_while(|slot| staged.slot(slot, plan.chunk_bytes).ok()).filter(|slot| slot.len() >= plan.chunk_bytes);
    Ok([first].into_iter().chain(more).map(host_slot).collect())
}

/// A slot with a chunk of the caller's data.
pub(crate) struct HostSlot<'k, 'a, O: Pass> {
    key: &'k DeviceKey,
    slot: Slot<'k>,
    staged: Staged,
    /// Whether kernels read and write host memory themselves.
    over_link: bool,
    chunk: Option<Chunk<'a, O>>,
}

/// The addresses at which kernels access a chunk's data in host memory: the caller's, or the data staged `at` this byte
/// of the slot's. `None` if they cannot, or only byte by byte.
fn span_over_link<O: Pass>(
    slot: &mut Slot<'_>,
    staged: Staged,
    at: usize,
    call: &Call<O>,
    data: &mut Buffers<'_>,
) -> Option<Span> {
    let len = data.len();
    let input = if !data.reads() {
        0
    } else if staged.input {
        on_device(slot.staging(at, len))?
    } else {
        on_device(data.input())?
    };
    let output = if !data.writes() {
        0
    } else if staged.output {
        on_device(slot.staging(at, len))?
    } else {
        on_device(data.output())?
    };
    let span = Span::new(O::ACCESS, input, output, len as u64);
    span.is_aligned(call.head()).then_some(span)
}

impl<'a, O: Pass> pipeline::Slot<'a, O> for HostSlot<'_, 'a, O> {
    fn start(&mut self, chunk: Chunk<'a, O>) -> Result<(), Error> {
        let Self { key, slot, staged, over_link, chunk: in_flight } = self;
        // Stored before anything is put on the stream: from here on there is something to wait for.
        let Chunk { call, data } = in_flight.insert(chunk);
        let (at, len) = (call.skip(), data.len());
        key.device().enter()?;
        if staged.input {
            slot.staging(at, len).copy_from_slice(data.input());
        }
        if *over_link && let Some(span) = span_over_link(slot, *staged, at, call, data) {
            // SAFETY: the chunk is kept, and left alone, until the stream was waited for: by `finish` or on drop; the
            // staging memory is the slot's own, and its next use comes after a wait.
            return unsafe { key.launch_in(slot, span, call, None) };
        }
        let span = Span::in_place(O::ACCESS, slot.room(at, len), len as u64);
        if staged.input {
            slot.copy_in_staged(at, len)?;
        } else if data.reads() {
            // SAFETY: the chunk is kept, and left alone, until the stream was waited for: by `finish` or on drop.
            unsafe { slot.copy_in(at, data.input()) }?;
        }
        // SAFETY: the span is within the slot's buffer, which outlives the wait.
        unsafe { key.launch_in(slot, span, call, None) }?;
        if staged.output {
            slot.copy_out_staged(at, len)
        } else if data.writes() {
            // SAFETY: the chunk is kept, and left alone, until the stream was waited for: by `finish` or on drop.
            unsafe { slot.copy_out(at, data.output()) }
        } else {
            Ok(())
        }
    }

    fn finish(&mut self) -> Result<PartOf<O>, Error> {
        // Even if the device is refused meanwhile: something may be on the stream.
        let entered = self.key.device().enter();
        self.slot.wait().and(entered)?;
        let Chunk { call, mut data } = self.chunk.take().expect("a chunk that was started");
        let len = data.len();
        if self.staged.output {
            past_caches(self.slot.staging(call.skip(), len), data.output());
        }
        Ok(call.part(len as u64, &self.slot))
    }
}

impl<O: Pass> Drop for HostSlot<'_, '_, O> {
    fn drop(&mut self) {
        // After a failure: work that was started may still read and write the caller's memory.
        if self.chunk.is_some() {
            let _ = self.key.device().enter();
            let _ = self.slot.wait();
        }
    }
}
