//! Slots: queues of ours with device memory, each for one part of a call at a time.
//!
//! A device has at most 16 of them, whatever is asked for at the same time: who wants another one waits. They are kept from
//! call to call, cleared, until the engine is dropped.

use super::Device;
use super::handles::{Buffer, Event, Queue, event_of};
use crate::Error;
use crate::slots::{Lease, Slots};
use opencl3::command_queue;
use opencl3::types::{CL_FALSE, cl_command_queue};
use std::ptr;

/// Slots that a device has at most.
const MOST: usize = 12 + RESERVE;

/// Slots that only those get who have none: a large call leaves them to small ones.
const RESERVE: usize = 4;

/// The slots of a device.
pub(super) struct Pool(Slots<Resources>);

impl Default for Pool {
    fn default() -> Self {
        Self(Slots::new(MOST, RESERVE))
    }
}

/// What a slot has.
struct Resources {
    queue: Queue,
    buffer: Buffer,
    len: usize,
}

/// A slot that is in use. It goes back on drop, once nothing in its queue is left to do.
pub(super) struct Slot<'d> {
    device: &'d Device,
    /// Its resources are there from the beginning on.
    lease: Lease<'d, Resources>,
    /// What was put into the queue since it was waited for.
    events: Vec<Event>,
    /// So many bytes of it have to be cleared.
    used: usize,
    failed: bool,
}

impl<'d> Slot<'d> {
    /// No buffer is made smaller than this for want of memory.
    pub(super) const SMALLEST: usize = 1 << 20;

    /// A slot with `wanted` bytes of device memory or, where the device has too little, fewer: half as many, or a quarter,
    /// but no less than one MiB. Waits while all slots are in use: whoever has one already must not.
    pub(super) fn take(device: &'d Device, wanted: usize) -> Result<Self, Error> {
        Self::new(device, device.pool.0.take(|kept| kept.len >= wanted), wanted)
    }

    /// The same where slots are free, and some left for those who have none.
    pub(super) fn try_take(device: &'d Device, wanted: usize) -> Option<Result<Self, Error>> {
        let lease = device.pool.0.try_take(|kept| kept.len >= wanted)?;
        Some(Self::new(device, lease, wanted))
    }

    fn new(device: &'d Device, mut lease: Lease<'d, Resources>, wanted: usize) -> Result<Self, Error> {
        if lease.resources.as_ref().is_none_or(|kept| kept.len < wanted) {
            // One that is too small first makes room.
            lease.resources = None;
            lease.resources = Some(Resources::new(device, wanted)?);
        }
        Ok(Self { device, lease, events: Vec::new(), used: 0, failed: false })
    }

    fn resources(&self) -> &Resources {
        self.lease.resources.as_ref().expect("there until drop")
    }

    pub(super) fn buffer(&self) -> &Buffer {
        &self.resources().buffer
    }

    /// Bytes of device memory.
    pub(super) fn len(&self) -> usize {
        self.resources().len
    }

    /// Copies to the buffer, from byte `at` on; done when the queue has come to it.
    ///
    /// # Safety
    /// `data` stays as it is until the slot was waited for.
    pub(super) unsafe fn copy_in(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len());
        self.used = self.used.max(at + data.len());
        let Resources { queue, buffer, .. } = self.resources();
        let (queue, buffer, from) = (queue.raw(), buffer.raw(), data.as_ptr().cast_mut().cast());
        // SAFETY: the range lies in the buffer, as asserted; the caller vouches for the data.
        let copied = unsafe {
            command_queue::enqueue_write_buffer(queue, buffer, CL_FALSE, at, data.len(), from, 0, ptr::null())
        };
        self.events.push(event_of("clEnqueueWriteBuffer", copied)?);
        Ok(())
    }

    /// Puts launches into the queue.
    pub(super) fn launch(
        &mut self,
        launches: impl FnOnce(&Device, cl_command_queue, &mut Vec<Event>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let queue = self.resources().queue.raw();
        launches(self.device, queue, &mut self.events)
    }

    /// Copies from the buffer, from byte `at` on; done when the queue has come to it. The device begins with all of it.
    ///
    /// # Safety
    /// Nobody uses `data` until the slot was waited for.
    pub(super) unsafe fn copy_out(&mut self, at: usize, data: &mut [u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len());
        // What comes from there was written there by a kernel.
        self.used = self.used.max(at + data.len());
        let Resources { queue, buffer, .. } = self.resources();
        let (queue, buffer, to) = (queue.raw(), buffer.raw(), data.as_mut_ptr().cast());
        // SAFETY: the range lies in the buffer, as asserted; the caller vouches for the data.
        let copied =
            unsafe { command_queue::enqueue_read_buffer(queue, buffer, CL_FALSE, at, data.len(), to, 0, ptr::null()) };
        self.events.push(event_of("clEnqueueReadBuffer", copied)?);
        self.resources().queue.flush()
    }

    /// Waits for everything in the queue, and tells whether any of it failed.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        let waited = Event::wait(&std::mem::take(&mut self.events));
        // After an error, too: whatever is told, the device must be done with it.
        let finished = self.resources().queue.finish();
        let waited = waited.and(finished);
        self.failed |= waited.is_err();
        waited
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut usable = self.wait().is_ok() && !self.failed;
        if usable && self.used > 0 {
            // The next command in the queue comes after it.
            let Resources { queue, buffer, len } = self.resources();
            usable = queue.clear(buffer, self.used.min(*len)).is_ok();
        }
        if !usable {
            self.lease.resources = None;
        }
    }
}

impl Resources {
    /// With a buffer of so many bytes, or fewer where the device has too little memory.
    fn new(device: &Device, wanted: usize) -> Result<Self, Error> {
        let queue = device.new_queue()?;
        let mut len = wanted.max(1).next_multiple_of(64 << 10);
        loop {
            match device.zeroed(&queue, len) {
                Ok(buffer) => return Ok(Self { queue, buffer, len }),
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
        // Nothing can be done here about an error.
        let _ = self.queue.clear(&self.buffer, self.len);
        let _ = self.queue.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Wanted;
    use super::*;
    use std::io::Write;

    fn device() -> Option<std::sync::Arc<Device>> {
        // Past the harness, which would keep it to itself.
        let say = |e: &Error| _ = writeln!(std::io::stderr(), "NO OPENCL DEVICE OPENED: slots were not tested ({e})");
        Device::open(Wanted::First).inspect_err(say).ok()
    }

    #[test]
    fn a_slot_comes_back_cleared() {
        let Some(device) = device() else { return };
        let mut slot = Slot::take(&device, 8192).unwrap();
        let mut found = [0; 4096];
        // SAFETY: waited for below.
        unsafe { slot.copy_in(4096, &[0xa5; 4096]).and_then(|()| slot.copy_out(4096, &mut found)) }.unwrap();
        slot.wait().unwrap();
        assert_eq!(found, [0xa5; 4096]);
        let buffer = slot.buffer().raw();
        drop(slot);
        let mut slot = Slot::take(&device, 8192).unwrap();
        assert_eq!(slot.buffer().raw(), buffer, "the buffer that was kept");
        // SAFETY: waited for below.
        unsafe { slot.copy_out(4096, &mut found) }.unwrap();
        slot.wait().unwrap();
        assert_eq!(found, [0; 4096]);
    }

    #[test]
    fn a_large_call_leaves_slots_to_small_ones() {
        let Some(device) = device() else { return };
        let mut slots: Vec<_> = (0..).map_while(|_| Slot::try_take(&device, 4096)).map(Result::unwrap).collect();
        assert_eq!(slots.len(), MOST - RESERVE);
        slots.extend((0..RESERVE).map(|_| Slot::take(&device, 4096).unwrap()));
    }
}
