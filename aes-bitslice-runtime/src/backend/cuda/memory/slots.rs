//! Slots: streams of the engine with device memory and, where data has to be staged, pinned host memory; each for one chunk of a call at a
//! time. After the data there is room for a hash of 16 bytes.
//!
//! A device has at most 40 slots, however many are requested at the same time: a caller that wants another waits. Slots are kept from call
//! to call, cleared, until the engine is dropped.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::memory::pinned::Pinned;
use crate::base::error::Error;
use crate::exec::slots::{self, Lease};
use crate::exec::steps::HashSlot;
use crate::op::partial_hash::HASH;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUresult, CUstream, cuStreamQuery};
use std::sync::Arc;

/// The maximum number of slots of a device: two for each of sixteen workers, and the reserve.
pub(crate) const MOST: usize = 32 + RESERVE;

/// Slots reserved for callers that have none: a large call leaves them to small calls.
const RESERVE: usize = 8;

/// The slots of a device.
pub(crate) struct Slots {
    context: Arc<Context>,
    slots: slots::Slots<Resources>,
}

impl Slots {
    /// The slots of a device with this context; none is created before it is requested.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, slots: slots::Slots::new(MOST, RESERVE) }
    }

    /// A slot with `wanted` bytes of device memory or, if the device has too little, fewer: half as many, or a quarter, but no less than
    /// one MiB. Waits while all slots are in use: a caller that has one already must not call it. The context was entered on this thread.
    pub(crate) fn take(&self, wanted: usize) -> Result<Slot<'_>, Error> {
        self.slot(self.slots.take(|kept| kept.len >= wanted), wanted)
    }

    /// A slot with about `wanted` bytes ([`take`](Self::take)) if one is free and some are left for callers that have none. Does not wait.
    pub(crate) fn try_take(&self, wanted: usize) -> Option<Result<Slot<'_>, Error>> {
        let lease = self.slots.try_take(|kept| kept.len >= wanted)?;
        Some(self.slot(lease, wanted))
    }

    fn slot<'d>(&'d self, mut lease: Lease<'d, Resources>, wanted: usize) -> Result<Slot<'d>, Error> {
        let mut resources = match lease.resources.take() {
            Some(resources) => resources,
            None => Resources::new(&self.context)?,
        };
        resources.grow(wanted)?;
        lease.resources = Some(resources);
        Ok(Slot { context: &self.context, lease, used: 0, failed: false })
    }
}

/// The resources of a slot.
struct Resources {
    context: Arc<Context>,
    stream: CUstream,
    buffer: CUdeviceptr,
    len: usize,
    staging: Option<Pinned>,
    hash_staging: Option<Pinned>,
}

// SAFETY: stream and buffer are handles, which any thread that has made the context current may use.
unsafe impl Send for Resources {}

/// A slot that is in use. It goes back on drop, once its stream has completed all its work.
pub(crate) struct Slot<'d> {
    context: &'d Arc<Context>,
    /// Its resources are present from the start.
    lease: Lease<'d, Resources>,
    /// The number of bytes that must be cleared.
    used: usize,
    failed: bool,
}

impl Slot<'_> {
    /// Lack of memory makes no device buffer smaller than this.
    pub(crate) const SMALLEST: usize = 1 << 20;

    /// This slot with pinned host memory for `len` bytes.
    pub(crate) fn with_staging(mut self, len: usize) -> Result<Self, Error> {
        let context = self.context;
        let resources = self.resources();
        if resources.staging.as_ref().is_none_or(|staging| staging.len() < len) {
            resources.staging = None;
            resources.staging = Some(Pinned::new(context, len)?);
        }
        Ok(self)
    }

    fn resources(&mut self) -> &mut Resources {
        self.lease.resources.as_mut().expect("there until drop")
    }

    fn shared(&self) -> &Resources {
        self.lease.resources.as_ref().expect("there until drop")
    }

    pub(crate) fn stream(&self) -> CUstream {
        self.shared().stream
    }

    pub(crate) fn buffer(&self) -> CUdeviceptr {
        self.shared().buffer
    }

    /// The start of `len` bytes of device memory to write to, from byte `at` on. They are cleared before the slot is used again.
    pub(crate) fn room(&mut self, at: usize, len: usize) -> CUdeviceptr {
        assert!(at + len <= self.len());
        self.used = self.used.max(at + len);
        self.buffer() + at as u64
    }

    /// The address of the 16 bytes of a hash, after the device buffer.
    pub(crate) fn hash(&self) -> CUdeviceptr {
        self.buffer() + self.len() as u64
    }

    /// The size of the device memory, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.shared().len
    }

    /// A part of the staging memory; the slot must have it.
    pub(crate) fn staging(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.used = self.used.max(at + len);
        &mut self.resources().staging.as_mut().expect("a slot with staging")[at..at + len]
    }

    /// Copies to the device buffer, from byte `at` on; complete once the stream has reached it.
    ///
    /// # Safety
    /// `data` stays as it is until the stream was waited for.
    pub(crate) unsafe fn copy_in(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        let to = self.room(at, data.len());
        // SAFETY: the range is within the buffer, as asserted there; the caller guarantees the data.
        let copied = unsafe { result::memcpy_htod_async(to, data, self.stream()) };
        self.context.call("cuMemcpyHtoDAsync", copied)
    }

    /// Copies from the device buffer, from byte `at` on; complete once the stream has reached it.
    ///
    /// # Safety
    /// Nothing uses `data` until the stream was waited for.
    pub(crate) unsafe fn copy_out(&mut self, at: usize, data: &mut [u8]) -> Result<(), Error> {
        // A kernel wrote what is copied from there.
        let from = self.room(at, data.len());
        // SAFETY: the range is within the buffer, as asserted there; the caller guarantees the data.
        let copied = unsafe { result::memcpy_dtoh_async(data, from, self.stream()) };
        self.context.call("cuMemcpyDtoHAsync", copied)
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

    /// Whether everything on the stream is done.
    pub(crate) fn is_done(&mut self) -> Result<bool, Error> {
        // SAFETY: the stream is the slot's and alive.
        match unsafe { cuStreamQuery(self.stream()) }.result() {
            Err(e) if e.0 == CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            asked => {
                self.failed |= asked.is_err();
                self.context.call("cuStreamQuery", asked).map(|()| true)
            }
        }
    }

    /// Waits for everything on the stream.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        // SAFETY: the stream is the slot's and alive.
        let waited = unsafe { result::stream::synchronize(self.stream()) };
        self.failed |= waited.is_err();
        self.context.call("cuStreamSynchronize", waited)
    }

    /// Clears what was used.
    fn clear(&mut self) -> Result<(), Error> {
        let used = self.used;
        if let Some(hash) = &mut self.resources().hash_staging {
            hash.clear(HASH);
            self.clear_hash()?;
        }
        if used == 0 {
            return Ok(());
        }
        let resources = self.resources();
        if let Some(staging) = &mut resources.staging {
            staging.clear(used);
        }
        // SAFETY: the range is within the buffer.
        let cleared =
            unsafe { result::memset_d8_async(resources.buffer, 0, used.min(resources.len), resources.stream) };
        self.context.call("cuMemsetD8Async", cleared)
    }
}

impl HashSlot for Slot<'_> {
    fn clear_hash(&mut self) -> Result<(), Error> {
        // SAFETY: the range is the slot's own.
        let cleared = unsafe { result::memset_d8_async(self.hash(), 0, HASH, self.stream()) };
        self.context.call("cuMemsetD8Async", cleared)
    }

    /// To pinned memory, so that the call does not wait.
    fn copy_hash(&mut self) -> Result<(), Error> {
        let context = self.context;
        let (from, stream) = (self.hash(), self.stream());
        let resources = self.resources();
        if resources.hash_staging.is_none() {
            resources.hash_staging = Some(Pinned::new(context, HASH)?);
        }
        let to = resources.hash_staging.as_mut().expect("made above");
        // SAFETY: both are the slot's own, and their next use comes after a wait.
        let copied = unsafe { result::memcpy_dtoh_async(&mut to[..], from, stream) };
        context.call("cuMemcpyDtoHAsync", copied)
    }

    fn hash_copied(&self) -> [u8; HASH] {
        let staging = self.shared().hash_staging.as_ref().expect("it was copied");
        *staging.first_chunk().expect("16 bytes")
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        // Work on the stream may still write to the staging memory.
        match self.wait() {
            Ok(()) if !self.failed && self.clear().is_ok() => {}
            Ok(()) => self.lease.resources = None,
            // It may still be written to.
            Err(_) => std::mem::forget(self.lease.resources.take()),
        }
    }
}

impl Resources {
    /// Without a buffer so far.
    fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = context.call("cuStreamCreate", stream)?;
        Ok(Self { context: context.clone(), stream, buffer: 0, len: 0, staging: None, hash_staging: None })
    }

    /// Provides a buffer of `wanted` bytes, or fewer if the device has too little memory.
    fn grow(&mut self, wanted: usize) -> Result<(), Error> {
        if self.len >= wanted {
            return Ok(());
        }
        self.free();
        // So that the hash after it is aligned.
        let mut len = wanted.next_multiple_of(16);
        self.buffer = loop {
            // SAFETY: the context is current on this thread, as the caller has entered it.
            match unsafe { result::malloc_sync(len + HASH) } {
                Ok(buffer) => break buffer,
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY && len > Slot::SMALLEST => {
                    len = (len / 2).next_multiple_of(16).max(Slot::SMALLEST);
                }
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") });
                }
                Err(e) => return self.context.call("cuMemAlloc", Err(e)),
            }
        };
        self.len = len;
        Ok(())
    }

    /// Clears and frees the buffer, if there is one.
    fn free(&mut self) {
        if self.len > 0 {
            // An error cannot be handled here; on a context that is lost, the memory is lost with it.
            // SAFETY: created here, alive, and not used after this; clearing comes before freeing on the same stream.
            unsafe {
                let _ = result::memset_d8_async(self.buffer, 0, self.len + HASH, self.stream);
                let _ = result::stream::synchronize(self.stream);
                let _ = result::free_sync(self.buffer);
            }
        }
        (self.buffer, self.len) = (0, 0);
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        self.free();
        // SAFETY: created here, alive, and not used after this.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver;

    fn slots() -> Slots {
        let context = Context::open(&driver::usable(0).unwrap()).unwrap();
        context.enter().unwrap();
        Slots::new(Arc::new(context))
    }

    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn a_slot_comes_back_cleared() {
        let slots = slots();
        let mut slot = slots.take(8192).unwrap().with_staging(8192).unwrap();
        slot.staging(0, 4096).fill(0xa5);
        slot.copy_in_staged(0, 4096).unwrap();
        // As a kernel would, from one half to the other.
        // SAFETY: both are in the slot's buffer.
        unsafe { result::memcpy_dtod_async(slot.buffer() + 4096, slot.buffer(), 4096, slot.stream()) }.unwrap();
        slot.copy_out_staged(4096, 4096).unwrap();
        slot.wait().unwrap();
        assert_eq!(slot.staging(4096, 4096), [0xa5; 4096]);
        let pointer = slot.buffer();
        drop(slot);
        let mut slot = slots.take(8192).unwrap().with_staging(8192).unwrap();
        assert_eq!(slot.buffer(), pointer, "the buffer that was kept");
        assert_eq!(slot.staging(0, 8192), [0; 8192]);
        let mut found = [1; 8192];
        // SAFETY: waited for below.
        unsafe { slot.copy_out(0, &mut found) }.unwrap();
        slot.wait().unwrap();
        assert_eq!(found, [0; 8192]);
    }

    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn a_large_call_leaves_slots_to_small_ones() {
        let slots = slots();
        let mut taken: Vec<_> = (0..).map_while(|_| slots.try_take(4096)).map(Result::unwrap).collect();
        assert_eq!(taken.len(), MOST - RESERVE);
        taken.extend((0..RESERVE).map(|_| slots.take(4096).unwrap()));
    }
}
