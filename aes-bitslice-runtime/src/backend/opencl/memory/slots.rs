//! Slots: queues with device memory and pinned host memory to stage data in, each for one chunk of a call at a time.
//!
//! The device copies only from and to staged data. After a failure the driver may still write. It then writes into the slot, so the slot
//! is leaked, not reused.
//!
//! A device has at most 40 slots; further requests wait. Slots are kept from call to call, cleared, until the engine is dropped.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, Queue, event_of};
use crate::backend::opencl::kernel::span::Place;
use crate::backend::opencl::memory::pinned::Pinned;
use crate::base::error::Error;
use crate::exec::slots::{Lease, Slots};
use crate::exec::steps::HashSlot;
use crate::op::partial_hash::HASH;
use opencl3::command_queue;
use opencl3::types::{CL_FALSE, cl_command_queue};
use std::ptr;
use std::sync::Arc;

/// The maximum number of slots of a device: two for each of sixteen workers, and the reserve.
const MOST: usize = 32 + RESERVE;

/// Slots reserved for workers that have none: a large call leaves them to small calls.
const RESERVE: usize = 8;

/// The slots of a device.
pub(crate) struct Pool {
    context: Arc<Context>,
    slots: Slots<Resources>,
}

/// The resources of a slot.
struct Resources {
    queue: Queue,
    /// `len` bytes, followed by a hash.
    buffer: Buffer,
    len: usize,
    /// Pinned memory of the buffer's length; present until drop.
    staging: Option<Pinned>,
}

/// A slot that is in use. It goes back on drop, once its queue has completed all its work.
pub(crate) struct Slot<'p> {
    context: &'p Context,
    /// Its resources are present from the start.
    lease: Lease<'p, Resources>,
    /// The events of the commands put into the queue since the last wait.
    events: Vec<Event>,
    /// The number of bytes, from the first on, that must be cleared.
    used: usize,
    failed: bool,
    /// Whether the driver may still use the slot's resources: waiting for it failed.
    abandoned: bool,
}

impl Pool {
    /// The slots of a device: none are created yet.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, slots: Slots::new(MOST, RESERVE) }
    }

    /// The device's context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// A slot with `wanted` bytes of device memory or, if the device has too little, fewer: half as many, or a quarter, but no less than
    /// one MiB. Waits while all slots are in use: a worker that has one already must not call it.
    pub(crate) fn take(&self, wanted: usize) -> Result<Slot<'_>, Error> {
        Slot::new(&self.context, self.slots.take(|kept| kept.len >= wanted), wanted)
    }

    /// A slot with `wanted` bytes of device memory or fewer, if slots are free, with some left for workers that have none.
    pub(crate) fn try_take(&self, wanted: usize) -> Option<Result<Slot<'_>, Error>> {
        let lease = self.slots.try_take(|kept| kept.len >= wanted)?;
        Some(Slot::new(&self.context, lease, wanted))
    }
}

impl<'p> Slot<'p> {
    /// Lack of memory makes no buffer smaller than this.
    pub(crate) const SMALLEST: usize = 1 << 20;

    fn new(context: &'p Context, mut lease: Lease<'p, Resources>, wanted: usize) -> Result<Self, Error> {
        if lease.resources.as_ref().is_none_or(|kept| kept.len < wanted) {
            // A buffer that is too small is freed first.
            lease.resources = None;
            lease.resources = Some(Resources::new(context, wanted)?);
        }
        Ok(Self { context, lease, events: Vec::new(), used: 0, failed: false, abandoned: false })
    }

    fn resources(&self) -> &Resources {
        self.lease.resources.as_ref().expect("there until drop")
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.resources().buffer
    }

    /// A byte of the buffer.
    pub(crate) fn place(&self, at: usize) -> Place {
        Place { buffer: self.buffer().raw(), at: at as u64 }
    }

    /// The position of the 16 bytes of a hash, after the data.
    pub(crate) fn hash(&self) -> Place {
        self.place(self.len())
    }

    /// The size of the device memory, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.resources().len
    }

    /// The part of the staging memory that corresponds to the `len` bytes of the buffer from `at` on.
    pub(crate) fn staged(&mut self, at: usize, len: usize) -> &mut [u8] {
        assert!(self.events.is_empty(), "the queue was waited for");
        self.used = self.used.max(at + len);
        let resources = self.lease.resources.as_mut().expect("there until drop");
        &mut resources.staging.as_mut().expect("there until drop")[at..at + len]
    }

    /// Stages data, and copies it to the buffer, from byte `at` on; complete once the queue has reached it.
    pub(crate) fn copy_in(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        let staged = self.staged(at, data.len());
        staged.copy_from_slice(data);
        let from = staged.as_ptr().cast_mut().cast();
        let Resources { queue, buffer, .. } = self.resources();
        let (queue, buffer) = (queue.raw(), buffer.raw());
        // SAFETY: the range is within the buffer, which is as long as the staging memory; that stays until the queue was waited for, or for
        // good.
        let copied = unsafe {
            command_queue::enqueue_write_buffer(queue, buffer, CL_FALSE, at, data.len(), from, 0, ptr::null())
        };
        self.events.push(event_of("clEnqueueWriteBuffer", copied)?);
        Ok(())
    }

    /// Puts launches into the queue.
    pub(crate) fn launch(
        &mut self,
        launches: impl FnOnce(&Context, cl_command_queue, &mut Vec<Event>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let queue = self.resources().queue.raw();
        launches(self.context, queue, &mut self.events)
    }

    /// Copies from the buffer, from byte `at` on, to the [staging](Self::staged) memory; complete once the queue has reached it.
    pub(crate) fn copy_out(&mut self, at: usize, len: usize) -> Result<(), Error> {
        assert!(at + len <= self.len());
        // A kernel wrote what is copied from there.
        self.used = self.used.max(at + len);
        self.copy_to_staging(at, len)
    }

    /// Copies `len` bytes from byte `at` of the buffer to byte `at` of the staging memory.
    fn copy_to_staging(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let Resources { queue, buffer, staging, .. } = self.lease.resources.as_mut().expect("there until drop");
        let to = staging.as_mut().expect("there until drop")[at..].as_mut_ptr().cast();
        // SAFETY: the range is within the buffer, as asserted, and within the staging memory, which stays until the queue was waited for,
        // or for good.
        let copied = unsafe {
            command_queue::enqueue_read_buffer(queue.raw(), buffer.raw(), CL_FALSE, at, len, to, 0, ptr::null())
        };
        self.events.push(event_of("clEnqueueReadBuffer", copied)?);
        Ok(())
    }

    /// Makes the device begin with everything in the queue.
    pub(crate) fn begin(&self) -> Result<(), Error> {
        self.resources().queue.flush()
    }

    /// Waits for everything in the queue, and reports whether any of it failed.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        let waited = Event::wait(&std::mem::take(&mut self.events));
        // Also after an error: the device must have finished with the slot before it is used again.
        let finished = self.resources().queue.finish();
        self.abandoned |= finished.is_err();
        let waited = waited.and(finished);
        self.failed |= waited.is_err();
        waited
    }
}

impl HashSlot for Slot<'_> {
    fn clear_hash(&mut self) -> Result<(), Error> {
        let Resources { queue, buffer, len, .. } = self.resources();
        let cleared = queue.clear_from(buffer, *len, HASH)?;
        self.events.push(cleared);
        Ok(())
    }

    fn copy_hash(&mut self) -> Result<(), Error> {
        self.copy_to_staging(self.len(), HASH)
    }

    fn hash_copied(&self) -> [u8; HASH] {
        let Resources { staging, len, .. } = self.resources();
        let staging = staging.as_ref().expect("there until drop");
        staging[*len..].first_chunk().copied().expect("16 bytes after the data")
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut usable = self.wait().is_ok() && !self.failed;
        if usable && self.used > 0 {
            let used = self.used.min(self.len());
            // The compiler keeps these writes: it cannot see what the driver does with the memory.
            self.staged(0, used).fill(0);
            // The next command in the queue comes after it.
            let Resources { queue, buffer, .. } = self.resources();
            usable = queue.clear(buffer, used).is_ok();
        }
        if self.abandoned {
            std::mem::forget(self.lease.resources.take());
        } else if !usable {
            self.lease.resources = None;
        }
    }
}

impl Resources {
    /// With a buffer of `wanted` bytes, or fewer where the device has too little memory.
    fn new(context: &Context, wanted: usize) -> Result<Self, Error> {
        let queue = context.new_queue()?;
        let mut len = wanted.max(1).next_multiple_of(64 << 10);
        loop {
            match context.zeroed(&queue, len + HASH) {
                Ok(buffer) => {
                    let staging = Some(Pinned::new(context, &queue, len + HASH)?);
                    return Ok(Self { queue, buffer, len, staging });
                }
                Err(Error::OutOfDeviceMemory { .. }) if len > Slot::SMALLEST => {
                    len = (len / 2).next_multiple_of(16).max(Slot::SMALLEST);
                }
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.queue.clear(&self.buffer, self.len + HASH);
        let _ = self.staging.take().map(|staging| staging.unmap(&self.queue));
        let _ = self.queue.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::platforms::Wanted;

    fn pool() -> Pool {
        Pool::new(Context::open(Wanted::First).unwrap())
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn a_slot_comes_back_cleared() {
        let pool = pool();
        let mut slot = pool.take(8192).unwrap();
        slot.copy_in(4096, &[0xa5; 4096]).unwrap();
        slot.wait().unwrap();
        slot.staged(4096, 4096).fill(1);
        slot.copy_out(4096, 4096).unwrap();
        slot.wait().unwrap();
        assert_eq!(slot.staged(4096, 4096), [0xa5; 4096]);
        let buffer = slot.buffer().raw();
        drop(slot);
        let mut slot = pool.take(8192).unwrap();
        assert_eq!(slot.buffer().raw(), buffer, "the buffer that was kept");
        assert_eq!(slot.staged(0, 8192), [0; 8192]);
        slot.staged(0, 8192).fill(1);
        slot.copy_out(0, 8192).unwrap();
        slot.wait().unwrap();
        assert_eq!(slot.staged(0, 8192), [0; 8192]);
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn what_the_driver_may_still_use_is_left_to_it() {
        let pool = pool();
        let mut slot = pool.take(4096).unwrap();
        slot.copy_in(0, &[0xa5; 4096]).unwrap();
        slot.wait().unwrap();
        let (buffer, staged) = (slot.buffer().raw(), slot.staged(0, 4096).as_ptr());
        // As if the wait had failed.
        (slot.failed, slot.abandoned) = (true, true);
        drop(slot);
        // SAFETY: never unmapped.
        assert_eq!(unsafe { std::slice::from_raw_parts(staged, 4096) }, [0xa5; 4096]);
        assert_ne!(pool.take(4096).unwrap().buffer().raw(), buffer);
    }

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn a_large_call_leaves_slots_to_small_ones() {
        let pool = pool();
        let mut slots: Vec<_> = (0..).map_while(|_| pool.try_take(4096)).map(Result::unwrap).collect();
        assert_eq!(slots.len(), MOST - RESERVE);
        slots.extend((0..RESERVE).map(|_| pool.take(4096).unwrap()));
    }
}
