//! Slots: queues of the engine with device memory and, where data has to be staged, pinned host memory; each for one chunk of a call at a
//! time. After the data there is room for a hash of 16 bytes.
//!
//! A device has at most 40 slots, however many are requested at the same time: a caller that wants another waits. Slots are kept from call
//! to call, cleared, until the engine is dropped. Memory that is too small grows by half or more, so that calls that become longer and longer
//! seldom allocate. A slot that failed is freed; one that the device may still use is left to it.

use crate::backend::device::driver::{Driver, Waited};
use crate::backend::device::span::Place;
use crate::base::error::Error;
use crate::exec::slots::{self, Lease};
use crate::exec::steps::HashSlot;
use crate::op::partial_hash::HASH;
use std::sync::Arc;

/// The maximum number of slots of a device: two for each of sixteen workers, and the reserve.
pub(crate) const MOST: usize = 32 + RESERVE;

/// Slots reserved for callers that have none: a large call leaves them to small calls.
const RESERVE: usize = 8;

/// Lack of memory makes no device memory of a slot smaller than this.
pub(crate) const SMALLEST: usize = 1 << 20;

/// Sizes of memory are multiples of this number of bytes, unless memory is short.
const STEP: usize = 64 << 10;

/// Memory that grows is made larger than requested up to this number of bytes, which is the largest chunk of a call on host memory.
const LARGEST: usize = 64 << 20;

/// The number of bytes to allocate where there are `had` bytes and `wanted` are needed, which is more.
fn larger(had: usize, wanted: usize) -> usize {
    wanted.max((had + had / 2).min(LARGEST)).next_multiple_of(STEP)
}

/// The slots of a device.
pub(crate) struct Slots<D: Driver> {
    driver: Arc<D>,
    slots: slots::Slots<Resources<D>>,
}

impl<D: Driver> Slots<D> {
    /// The slots of a device: none is made before it is requested.
    pub(crate) fn new(driver: Arc<D>) -> Self {
        Self { driver, slots: slots::Slots::new(MOST, RESERVE) }
    }

    /// A slot with `wanted` bytes of device memory or, if the device has too little, fewer: half as many, or a quarter, but no less than
    /// one MiB. Waits while all slots are in use: a caller that has one already must not call it. The device was entered on this thread.
    pub(crate) fn take(&self, wanted: usize) -> Result<Slot<'_, D>, Error> {
        self.slot(self.slots.take(|kept| kept.len >= wanted), wanted)
    }

    /// A slot with about `wanted` bytes ([`take`](Self::take)) if one is free and some are left for callers that have none. Does not wait.
    pub(crate) fn try_take(&self, wanted: usize) -> Option<Result<Slot<'_, D>, Error>> {
        let lease = self.slots.try_take(|kept| kept.len >= wanted)?;
        Some(self.slot(lease, wanted))
    }

    fn slot<'d>(&'d self, mut lease: Lease<'d, Resources<D>>, wanted: usize) -> Result<Slot<'d, D>, Error> {
        let mut resources = match lease.resources.take() {
            Some(resources) => resources,
            None => Resources::new(&self.driver)?,
        };
        resources.grow(wanted.max(1))?;
        lease.resources = Some(resources);
        Ok(Slot { driver: &self.driver, lease, used: 0, hashed: false, failed: false })
    }
}

/// The resources of a slot.
struct Resources<D: Driver> {
    driver: Arc<D>,
    queue: D::OwnQueue,
    /// `len` bytes, followed by a hash.
    memory: Option<D::Memory>,
    len: usize,
    staging: Option<D::Pinned>,
    hash_staging: Option<D::Pinned>,
}

/// A slot that is in use. It goes back on drop, once its queue has completed all its work.
pub(crate) struct Slot<'d, D: Driver> {
    driver: &'d Arc<D>,
    /// Its resources are present from the start.
    lease: Lease<'d, Resources<D>>,
    /// The number of bytes that must be cleared.
    used: usize,
    /// Whether a hash must be cleared.
    hashed: bool,
    failed: bool,
}

impl<D: Driver> Slot<'_, D> {
    /// This slot with pinned host memory for `len` bytes.
    pub(crate) fn with_staging(mut self, len: usize) -> Result<Self, Error> {
        let Resources { driver, queue, staging, .. } = self.resources();
        let had = staging.as_ref().map_or(0, |staging| staging.len());
        if had < len {
            provide::<D>(driver, queue, staging, larger(had, len))?;
        }
        Ok(self)
    }

    fn resources(&mut self) -> &mut Resources<D> {
        self.lease.resources.as_mut().expect("there until drop")
    }

    fn shared(&self) -> &Resources<D> {
        self.lease.resources.as_ref().expect("there until drop")
    }

    /// Its queue.
    pub(crate) fn queue(&mut self) -> &mut D::Queue {
        D::queue(&mut self.resources().queue)
    }

    /// Asks its queue something, and remembers a failure.
    #[cfg(feature = "cuda")]
    pub(crate) fn ask<T>(&mut self, ask: impl FnOnce(&D, &mut D::Queue) -> Result<T, Error>) -> Result<T, Error> {
        let driver = self.driver;
        let answer = ask(driver, self.queue());
        self.failed |= answer.is_err();
        answer
    }

    fn place(&self, at: usize) -> D::Place {
        D::place(self.shared().memory.as_ref().expect("there until drop")).after(at as u64)
    }

    /// The start of `len` bytes of device memory to write to, from byte `at` on. They are cleared before the slot is used again.
    pub(crate) fn room(&mut self, at: usize, len: usize) -> D::Place {
        assert!(at + len <= self.len());
        self.used = self.used.max(at + len);
        self.place(at)
    }

    /// The location of the 16 bytes of a hash, after the data.
    pub(crate) fn hash(&self) -> D::Place {
        self.place(self.len())
    }

    /// The size of the device memory, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.shared().len
    }

    /// A part of the staging memory; the slot must have it, and its queue must have been waited for.
    pub(crate) fn staging(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.used = self.used.max(at + len);
        &mut self.resources().staging.as_mut().expect("a slot with staging")[at..at + len]
    }

    /// Copies to the device memory, from byte `at` on; complete once the queue has reached it.
    ///
    /// # Safety
    /// `data` stays as it is until the slot was waited for.
    pub(crate) unsafe fn copy_in(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        let (driver, to) = (self.driver, self.room(at, data.len()));
        // SAFETY: the range is within the memory, as asserted there; the caller guarantees the data.
        unsafe { driver.copy_in(&mut self.resources().queue, data, to) }
    }

    /// Copies from the device memory, from byte `at` on; complete once the queue has reached it.
    ///
    /// # Safety
    /// Nothing uses `data` until the slot was waited for.
    pub(crate) unsafe fn copy_out(&mut self, at: usize, data: &mut [u8]) -> Result<(), Error> {
        // A kernel wrote what is copied from there.
        let (driver, from) = (self.driver, self.room(at, data.len()));
        // SAFETY: the range is within the memory, as asserted there; the caller guarantees the data.
        unsafe { driver.copy_out(&mut self.resources().queue, from, data) }
    }

    /// Copies `len` bytes to the device, from byte `at` of the staging memory to byte `at` of the slot, without waiting.
    pub(crate) fn copy_in_staged(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let staged: *const [u8] = self.staging(at, len);
        // SAFETY: it is the slot's own, and its next use comes after a wait.
        unsafe { self.copy_in(at, &*staged) }
    }

    /// Copies `len` bytes from the device, from byte `at` of the slot to byte `at` of the staging memory, without waiting.
    pub(crate) fn copy_out_staged(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let staged: *mut [u8] = self.staging(at, len);
        // SAFETY: it is the slot's own, and its next use comes after a wait.
        unsafe { self.copy_out(at, &mut *staged) }
    }

    /// Makes the device begin with everything in the queue.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        self.driver.begin(&mut self.resources().queue)
    }

    /// Waits for everything in the queue, and reports whether any of it failed.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        self.waited().result()
    }

    fn waited(&mut self) -> Waited {
        let waited = self.driver.wait(&mut self.resources().queue);
        self.failed |= !matches!(waited, Waited::Done);
        waited
    }

    /// Clears what was used.
    fn clear(&mut self) -> Result<(), Error> {
        let (driver, used) = (self.driver, self.used);
        if self.hashed {
            self.clear_hash()?;
        }
        let place = self.place(0);
        let resources = self.resources();
        if let Some(staged) = &mut resources.hash_staging {
            staged.fill(0);
        }
        if used == 0 {
            return Ok(());
        }
        if let Some(staging) = &mut resources.staging {
            // The compiler keeps these writes: it cannot see what the driver does with the memory.
            let used = used.min(staging.len());
            staging[..used].fill(0);
        }
        // SAFETY: the range is within the memory, and the slot's next command comes after this one.
        unsafe { driver.clear(D::queue(&mut resources.queue), place, used.min(resources.len)) }
    }
}

impl<D: Driver> HashSlot for Slot<'_, D> {
    fn clear_hash(&mut self) -> Result<(), Error> {
        self.hashed = true;
        let hash = self.hash();
        let Resources { driver, queue, hash_staging, .. } = self.resources();
        // Now, while nothing is in the queue that making it might wait for.
        provide::<D>(driver, queue, hash_staging, HASH)?;
        // SAFETY: the range is the slot's own.
        unsafe { driver.clear(D::queue(queue), hash, HASH) }
    }

    /// To pinned memory, so that the call does not wait.
    fn copy_hash(&mut self) -> Result<(), Error> {
        let from = self.hash();
        let Resources { driver, queue, hash_staging, .. } = self.resources();
        let to = provide::<D>(driver, queue, hash_staging, HASH)?;
        // SAFETY: both are the slot's own, and their next use comes after a wait.
        unsafe { driver.copy_out(queue, from, &mut to[..HASH]) }
    }

    fn hash_copied(&self) -> [u8; HASH] {
        let staging = self.shared().hash_staging.as_ref().expect("it was copied");
        *staging.first_chunk().expect("16 bytes")
    }
}

impl<D: Driver> Drop for Slot<'_, D> {
    fn drop(&mut self) {
        self.driver.enter_to_free();
        // Work in the queue may still write to the staging memory.
        match self.waited() {
            Waited::Done if !self.failed && self.clear().is_ok() => {}
            Waited::Done | Waited::Failed(_) => self.lease.resources = None,
            // It may still be written to.
            Waited::Unknown(_) => std::mem::forget(self.lease.resources.take()),
        }
    }
}

/// Pinned memory of at least `len` bytes: what is there, or new.
fn provide<'p, D: Driver>(
    driver: &Arc<D>,
    queue: &mut D::OwnQueue,
    pinned: &'p mut Option<D::Pinned>,
    len: usize,
) -> Result<&'p mut D::Pinned, Error> {
    if pinned.as_ref().is_none_or(|pinned| pinned.len() < len) {
        if let Some(small) = pinned.take() {
            D::free_pinned(queue, small);
        }
        *pinned = Some(driver.pinned(queue, len)?);
    }
    Ok(pinned.as_mut().expect("made above"))
}

impl<D: Driver> Resources<D> {
    /// Without memory so far.
    fn new(driver: &Arc<D>) -> Result<Self, Error> {
        let queue = driver.own_queue()?;
        Ok(Self { driver: driver.clone(), queue, memory: None, len: 0, staging: None, hash_staging: None })
    }

    /// Provides device memory of `wanted` bytes, or fewer if the device has too little.
    fn grow(&mut self, wanted: usize) -> Result<(), Error> {
        if self.len >= wanted {
            return Ok(());
        }
        // So that the hash after it is aligned.
        let wanted = wanted.next_multiple_of(16);
        let mut len = larger(self.len, wanted);
        self.free();
        loop {
            match self.driver.memory(&mut self.queue, len + HASH) {
                Ok(memory) => {
                    (self.memory, self.len) = (Some(memory), len);
                    return Ok(());
                }
                Err(Error::OutOfDeviceMemory { .. }) if len > wanted => len = wanted,
                Err(Error::OutOfDeviceMemory { .. }) if len > SMALLEST => {
                    len = (len / 2).next_multiple_of(16).max(SMALLEST);
                }
                Err(Error::OutOfDeviceMemory { .. }) => {
                    return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") });
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// Clears and frees the device memory, if there is any.
    fn free(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        // An error cannot be handled here; on a device that is lost, the memory is lost with it.
        // SAFETY: the memory is waited for, and dropped after that.
        let _ = unsafe { self.driver.clear(D::queue(&mut self.queue), D::place(&memory), self.len + HASH) };
        let _ = self.driver.wait(&mut self.queue);
        self.len = 0;
    }
}

impl<D: Driver> Drop for Resources<D> {
    fn drop(&mut self) {
        self.driver.enter_to_free();
        self.free();
        for pinned in [self.staging.take(), self.hash_staging.take()].into_iter().flatten() {
            D::free_pinned(&mut self.queue, pinned);
        }
    }
}

/// What slots of every kind of device do.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::backend::device::driver::fake::{Fails, Fake};

    pub(crate) fn a_slot_comes_back_cleared<D: Driver>(driver: Arc<D>) {
        let slots = Slots::new(driver.clone());
        driver.enter().unwrap();
        let mut slot = slots.take(8192).unwrap().with_staging(8192).unwrap();
        slot.staging(0, 4096).fill(0xa5);
        slot.copy_in_staged(0, 4096).unwrap();
        slot.copy_in_staged(0, 4096).unwrap();
        slot.copy_out_staged(0, 4096).unwrap();
        slot.wait().unwrap();
        assert_eq!(slot.staging(0, 4096), [0xa5; 4096]);
        let place = slot.room(0, 0);
        drop(slot);
        let mut slot = slots.take(8192).unwrap().with_staging(8192).unwrap();
        assert_eq!(slot.room(0, 0), place, "the memory that was kept");
        assert_eq!(slot.staging(0, 8192), [0; 8192]);
        let mut found = [1; 8192];
        // SAFETY: waited for below.
        unsafe { slot.copy_out(0, &mut found) }.unwrap();
        slot.wait().unwrap();
        assert_eq!(found, [0; 8192]);
    }

    pub(crate) fn a_large_call_leaves_slots_to_small_ones<D: Driver>(driver: Arc<D>) {
        driver.enter().unwrap();
        let slots = Slots::new(driver);
        let mut taken: Vec<_> = (0..).map_while(|_| slots.try_take(4096)).map(Result::unwrap).collect();
        assert_eq!(taken.len(), MOST - RESERVE);
        taken.extend((0..RESERVE).map(|_| slots.take(4096).unwrap()));
    }

    #[test]
    fn slots_of_a_device_that_is_not_there() {
        a_slot_comes_back_cleared(Arc::new(Fake::default()));
        a_large_call_leaves_slots_to_small_ones(Arc::new(Fake::default()));
    }

    #[test]
    fn a_slot_grows_and_takes_less_where_there_is_less() {
        let fake = Arc::new(Fake::with_at_most((5 << 19) + HASH));
        let slots = Slots::new(fake.clone());
        assert_eq!(slots.take(100).unwrap().len(), STEP);
        assert_eq!(slots.take(STEP + 1).unwrap().len(), 2 * STEP, "the kept one, larger");
        assert_eq!(slots.take(16 << 20).unwrap().len(), 2 << 20);
        assert_eq!(slots.take((2 << 20) + 1).unwrap().len(), (2 << 20) + 16, "not half as much again");
        assert_eq!(fake.left_uncleared(), 0, "what was too small was cleared before it was freed");
        let fake = Arc::new(Fake::with_at_most(1 << 20));
        let refused = Slots::new(fake).take(16 << 20).err();
        assert!(matches!(refused, Some(Error::OutOfDeviceMemory { what }) if what == "a buffer of 1048576 bytes"));
    }

    /// Memory for calls that become longer by one block each, up to 1 MiB, grows by half or more each time, from 64 KiB on.
    #[test]
    fn calls_that_become_longer_seldom_allocate() {
        let fake = Arc::new(Fake::default());
        let slots = Slots::new(fake.clone());
        for wanted in (16..=1 << 20).step_by(16) {
            drop(slots.take(wanted).unwrap().with_staging(wanted).unwrap());
        }
        assert_eq!(fake.allocated(), [7; 2], "memory of the device, and of the host");
        assert_eq!(larger(LARGEST, LARGEST + 1), LARGEST + STEP);
    }

    /// After a failure the slot is freed; where the device may still use it, it stays as it is.
    #[test]
    fn what_failed_is_not_used_again() {
        for (fails, is_freed) in [(Fails::Commands, true), (Fails::Waits, false)] {
            let fake = Arc::new(Fake::default());
            let slots = Slots::new(fake.clone());
            let mut slot = slots.take(4096).unwrap().with_staging(4096).unwrap();
            slot.staging(0, 4096).fill(0xa5);
            slot.copy_in_staged(0, 4096).unwrap();
            let (first, secret) = (slot.room(0, 0), slot.staging(0, 16).as_ptr());
            fake.fail(fails);
            drop(slot);
            fake.fail(Fails::Not);
            assert_eq!(fake.is_freed(first), is_freed, "{fails:?}");
            if !is_freed {
                // SAFETY: memory that was left to the device, for good.
                assert_eq!(unsafe { std::slice::from_raw_parts(secret, 16) }, [0xa5; 16]);
            }
            assert_ne!(slots.take(4096).unwrap().room(0, 0), first);
        }
    }

    #[test]
    fn a_hash_is_cleared_where_one_was_made() {
        let fake = Arc::new(Fake::default());
        let slots = Slots::new(fake.clone());
        let mut slot = slots.take(64).unwrap();
        let hash = slot.hash();
        slot.clear_hash().unwrap();
        fake.write(hash, &[7; HASH]);
        slot.copy_hash().unwrap();
        slot.wait().unwrap();
        assert_eq!(slot.hash_copied(), [7; HASH]);
        drop(slot);
        assert_eq!(fake.read(hash, HASH), [0; HASH]);
    }
}
