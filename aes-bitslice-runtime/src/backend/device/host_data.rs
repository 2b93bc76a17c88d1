//! Data in host memory: to the devices, through the kernel, and back, in chunks, so that both directions of the links are busy at once.
//!
//! Pinned memory is copied from and to directly, where the driver can tell it. Other memory is staged: a worker copies a chunk into the
//! pinned memory of its slot, and the result out of it. For small calls without a hash, on aligned data, kernels may read and write pinned
//! memory, the caller's or the slot's, over the link themselves. (Pinning the caller's pages for the duration of a call was measured, too:
//! it takes longer than the copies, docs/record/2026-11-host-memory.md.)

use crate::backend::device::driver::Driver;
use crate::backend::device::key::KeyOnDevice;
use crate::backend::device::slots::{SMALLEST, Slot};
use crate::backend::device::span::Span;
use crate::backend::past_caches::past_caches;
use crate::base::error::Error;
use crate::exec::call::{Call, PartOf};
use crate::exec::chunk::{Chunk, Piece, cut};
use crate::exec::pipeline;
use crate::exec::transfers::Plan;
use crate::exec::work::Work;
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;
use crate::op::partial_hash::HASH;
use aes_bitslice_core::memory::{collected, room};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use zeroize::Zeroizing;

/// The same key on devices that share the work of a call.
pub(crate) struct KeyOnDevices<'k, K> {
    pub(crate) keys: &'k [K],
    /// Each device's share of the work, in proportion to the others.
    pub(crate) weights: &'k [f64],
    /// The device that the first worker is on: calls too small for all devices each start on the next.
    pub(crate) first: usize,
}

/// Keys on devices, of some kind, that share the work of a call on host memory.
pub(crate) trait OnDevices {
    /// Loads what the call needs, and plans how its data goes to the devices.
    fn prepare(&self, work: &dyn Work, data: &mut Buffers<'_>) -> Result<Box<dyn Prepared + '_>, Error>;
}

/// Devices that are ready for a call.
pub(crate) trait Prepared {
    /// Bytes of a chunk.
    fn chunk_bytes(&self) -> usize;

    /// Performs all chunks, and returns the hash of each, in order; of those that were left undone, because the call was stopped, zeros.
    /// `started` says whether any chunk was started.
    fn perform(&self, chunks: Vec<Piece<'_>>, started: &AtomicBool) -> Result<Vec<[u8; HASH]>, Error>;
}

/// Performs a call.
///
/// # Errors
/// Those of the operation and the driver. Either nothing was written, or all of the output is cleared.
pub(crate) fn run<O: Pass>(
    devices: &dyn OnDevices,
    call: Call<O>,
    mut data: Buffers<'_>,
) -> Result<Vec<PartOf<O>>, Error> {
    let prepared = devices.prepare(&call, &mut data)?;
    let mut chunks = cut(call, data, prepared.chunk_bytes())?;
    // There is room for the results before anything is written, which an error would leave.
    let mut parts = room(chunks.len())?;
    let pieces = collected(chunks.iter_mut().map(Chunk::as_piece))?;
    let hashes = Zeroizing::new(perform(&*prepared, pieces)?);
    parts.extend(chunks.iter().zip(&*hashes).map(|(chunk, hash)| chunk.call.part(chunk.data.len() as u64, hash)));
    Ok(parts)
}

/// Performs all chunks. Not even a panic lets half a result out.
fn perform(prepared: &dyn Prepared, mut chunks: Vec<Piece<'_>>) -> Result<Vec<[u8; HASH]>, Error> {
    let lent = collected(chunks.iter_mut().map(|Piece { work, data }| Piece { work: *work, data: data.reborrow() }))?;
    let started = AtomicBool::new(false);
    let outcome = catch_unwind(AssertUnwindSafe(|| prepared.perform(lent, &started)));
    if !matches!(outcome, Ok(Ok(_))) && started.into_inner() {
        chunks.iter_mut().for_each(|chunk| chunk.data.output().fill(0));
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// How the data of a call goes to the devices.
struct Planned<'k, K> {
    devices: KeyOnDevices<'k, K>,
    plan: Plan,
    staged: Staged,
}

impl<'k, K: KeyOnDevice> KeyOnDevices<'k, K> {
    /// [`OnDevices::prepare`]; `plan` plans the transfers of this number of bytes, of which the caller's memory is pinned, or not.
    pub(crate) fn prepare(
        self,
        work: &dyn Work,
        data: &mut Buffers<'_>,
        plan: impl FnOnce(usize, bool) -> Plan,
    ) -> Result<Box<dyn Prepared + 'k>, Error> {
        let keys = self.keys;
        keys.iter().try_for_each(|key| key.driver().enter())?;
        keys.iter().try_for_each(|key| key.prepare_all(work, None))?;
        let staged = Staged::of(&**keys[0].driver(), data);
        let plan = plan(work.skip() + data.len(), staged.is_nothing());
        let chunk_bytes = match plan.chunk_bytes {
            bytes if bytes <= SMALLEST => bytes,
            bytes => keys.iter().try_fold(bytes, |bytes, key| room_on(key, bytes))?,
        };
        Ok(Box::new(Planned { devices: self, plan: Plan { chunk_bytes, ..plan }, staged }))
    }
}

impl<K: KeyOnDevice> Prepared for Planned<'_, K> {
    fn chunk_bytes(&self) -> usize {
        self.plan.chunk_bytes
    }

    fn perform(&self, chunks: Vec<Piece<'_>>, started: &AtomicBool) -> Result<Vec<[u8; HASH]>, Error> {
        let Self { devices: KeyOnDevices { keys, weights, first }, plan, staged } = self;
        let workers: Vec<_> = (0..plan.workers).map(|worker| first.wrapping_add(worker) % keys.len()).collect();
        let slots = |device: usize| slots(&keys[device], plan, *staged);
        pipeline::run(chunks, weights, &workers, slots, started)
    }
}

/// The data that is staged: data that is read or written, and not pinned.
#[derive(Clone, Copy)]
struct Staged {
    input: bool,
    output: bool,
}

impl Staged {
    /// For this data. A device of this kind was entered on this thread.
    fn of(driver: &impl Driver, data: &mut Buffers<'_>) -> Self {
        let input = data.reads() && !driver.is_pinned(data.input());
        Self { input, output: data.writes() && !driver.is_pinned(data.output()) }
    }

    /// Whether nothing is staged.
    fn is_nothing(self) -> bool {
        !self.input && !self.output
    }

    /// The slot with what it needs for that.
    fn slot<D: Driver>(self, slot: Slot<'_, D>, bytes: usize) -> Result<Slot<'_, D>, Error> {
        if self.is_nothing() { Ok(slot) } else { slot.with_staging(bytes) }
    }
}

/// The size of the largest possible chunk on a device that has little memory free.
fn room_on(key: &impl KeyOnDevice, wanted: usize) -> Result<usize, Error> {
    key.driver().enter()?;
    let slot = key.slots().take(wanted)?;
    Ok((slot.len() / 16 * 16).min(wanted))
}

/// A worker's slots; at least one, with room for a chunk.
fn slots<'k, 'a, K: KeyOnDevice>(key: &'k K, plan: &Plan, staged: Staged) -> Result<Vec<HostSlot<'k, 'a, K>>, Error> {
    key.driver().enter()?;
    let slots = key.slots();
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
struct HostSlot<'k, 'a, K: KeyOnDevice> {
    key: &'k K,
    slot: Slot<'k, K::Driver>,
    staged: Staged,
    /// Whether kernels read and write host memory themselves.
    over_link: bool,
    chunk: Option<Piece<'a>>,
}

/// Where kernels access a chunk's data in host memory: the caller's, or the data staged from byte `at` of the slot's on. `None` if they
/// cannot, or only byte by byte.
fn span_over_link<D: Driver>(
    driver: &D,
    slot: &mut Slot<'_, D>,
    staged: Staged,
    at: usize,
    work: &dyn Work,
    data: &mut Buffers<'_>,
) -> Option<Span<D::Place>> {
    let len = data.len();
    let mut place = |is_used: bool, is_staged: bool, own: &[u8]| match (is_used, is_staged) {
        (false, _) => Some(None),
        (true, true) => driver.over_link(slot.staging(at, len)).map(Some),
        (true, false) => driver.over_link(own).map(Some),
    };
    let input = place(data.reads(), staged.input, data.input())?;
    let output = place(data.writes(), staged.output, data.output())?;
    let span = Span::between(input, output, len as u64);
    span.is_aligned(work.head()).then_some(span)
}

impl<'a, K: KeyOnDevice> pipeline::Slot<'a> for HostSlot<'_, 'a, K> {
    fn start(&mut self, chunk: Piece<'a>) -> Result<(), Error> {
        let Self { key, slot, staged, over_link, chunk: in_flight } = self;
        // Stored before anything is put into the queue: from here on there is something to wait for.
        let Piece { work, data } = in_flight.insert(chunk);
        let (work, at, len) = (*work, work.skip(), data.len());
        key.driver().enter()?;
        if staged.input {
            slot.staging(at, len).copy_from_slice(data.input());
        }
        if *over_link && let Some(span) = span_over_link(&**key.driver(), slot, *staged, at, work, data) {
            // SAFETY: the chunk is kept, and left alone, until the queue was waited for: by `finish` or on drop; the staging memory is the
            // slot's own, and its next use comes after a wait.
            unsafe { key.launch_in(slot, span, work, None) }?;
            return slot.begin();
        }
        let place = slot.room(at, len);
        let span = Span::between(data.reads().then_some(place), data.writes().then_some(place), len as u64);
        if staged.input {
            slot.copy_in_staged(at, len)?;
        } else if data.reads() {
            // SAFETY: the chunk is kept, and left alone, until the queue was waited for: by `finish` or on drop.
            unsafe { slot.copy_in(at, data.input()) }?;
        }
        // SAFETY: the span is within the slot's memory, which outlives the wait.
        unsafe { key.launch_in(slot, span, work, None) }?;
        if staged.output {
            slot.copy_out_staged(at, len)?;
        } else if data.writes() {
            // SAFETY: the chunk is kept, and left alone, until the queue was waited for: by `finish` or on drop.
            unsafe { slot.copy_out(at, data.output()) }?;
        }
        slot.begin()
    }

    fn finish(&mut self) -> Result<[u8; HASH], Error> {
        // Even if the device is refused meanwhile: something may be in the queue.
        let entered = self.key.driver().enter();
        self.slot.wait().and(entered)?;
        let Piece { work, mut data } = self.chunk.take().expect("a chunk that was started");
        let len = data.len();
        if self.staged.output {
            past_caches(self.slot.staging(work.skip(), len), data.output());
        }
        Ok(work.kernels().hash_in(&self.slot))
    }
}

impl<K: KeyOnDevice> Drop for HostSlot<'_, '_, K> {
    fn drop(&mut self) {
        // After a failure: work that was started may still read and write the caller's memory.
        if self.chunk.is_some() {
            let _ = self.key.driver().enter();
            let _ = self.slot.wait();
        }
    }
}
