//! Slots: streams of ours with device memory and, where data has to be staged, pinned host memory; each for one part of a
//! call at a time.
//!
//! A device has at most 40 of them, whatever is asked for at the same time: who wants another one waits. They are kept from
//! call to call, cleared, until the engine is dropped.

use super::Device;
use super::device::make_current;
use super::kernel::Span;
use super::pinned::Pinned;
use crate::Error;
use crate::slots::{Lease, Slots};
use cudarc::driver::sys::{CUdeviceptr, CUresult, CUstream, cuStreamQuery};
use cudarc::driver::{CudaContext, result};
use std::sync::Arc;

/// Slots that a device has at most: two for each of sixteen workers, and the reserve.
const MOST: usize = 32 + RESERVE;

/// Slots that only those get who have none: a large call leaves them to small ones.
const RESERVE: usize = 8;

/// The slots of a device.
pub(super) struct Pool(Slots<Resources>);

impl Default for Pool {
    fn default() -> Self {
        Self(Slots::new(MOST, RESERVE))
    }
}

/// What a slot has.
struct Resources {
    context: Arc<CudaContext>,
    stream: CUstream,
    buffer: CUdeviceptr,
    len: usize,
    staging: Option<Pinned>,
}

// SAFETY: stream and buffer are handles, which any thread may use that has made the context its own.
unsafe impl Send for Resources {}

/// A slot that is in use. It goes back on drop, once nothing on its stream is left to do.
pub(super) struct Slot<'d> {
    device: &'d Device,
    /// Its resources are there from the beginning on.
    lease: Lease<'d, Resources>,
    /// So many bytes of it have to be cleared.
    used: usize,
    failed: bool,
}

impl<'d> Slot<'d> {
    /// No device buffer is made smaller than this for want of memory.
    pub(super) const SMALLEST: usize = 1 << 20;

    /// A slot with `wanted` bytes of device memory or, where the device has too little, fewer: half as many, or a quarter,
    /// but no less than one MiB. Waits while all slots are in use: whoever has one already must not. The device was entered
    /// on this thread.
    pub(super) fn take(device: &'d Device, wanted: usize) -> Result<Self, Error> {
        Self::new(device, device.pool.0.take(|kept| kept.len >= wanted), wanted)
    }

    /// The same where slots are free, and some left for those who have none.
    pub(super) fn try_take(device: &'d Device, wanted: usize) -> Option<Result<Self, Error>> {
        let lease = device.pool.0.try_take(|kept| kept.len >= wanted)?;
        Some(Self::new(device, lease, wanted))
    }

    fn new(device: &'d Device, mut lease: Lease<'d, Resources>, wanted: usize) -> Result<Self, Error> {
        let mut resources = match lease.resources.take() {
            Some(resources) => resources,
            None => Resources::new(device)?,
        };
        resources.grow(device, wanted)?;
        lease.resources = Some(resources);
        Ok(Self { device, lease, used: 0, failed: false })
    }

    /// The same with pinned host memory for so many bytes.
    pub(super) fn with_staging(mut self, len: usize) -> Result<Self, Error> {
        let device = self.device;
        let resources = self.resources();
        if resources.staging.as_ref().is_none_or(|staging| staging.len() < len) {
            resources.staging = None;
            resources.staging = Some(Pinned::new(device, len)?);
        }
        Ok(self)
    }

    fn resources(&mut self) -> &mut Resources {
        self.lease.resources.as_mut().expect("there until drop")
    }

    fn shared(&self) -> &Resources {
        self.lease.resources.as_ref().expect("there until drop")
    }

    pub(super) fn stream(&self) -> CUstream {
        self.shared().stream
    }

    pub(super) fn buffer(&self) -> CUdeviceptr {
        self.shared().buffer
    }

    /// All of the device memory, for a kernel to work on in place.
    pub(super) fn whole(&mut self) -> Span {
        self.used = self.len();
        Span { input: self.buffer(), output: self.buffer(), len: self.len() as u64 }
    }

    /// Bytes of device memory.
    pub(super) fn len(&self) -> usize {
        self.shared().len
    }

    /// A part of the staging memory; of a slot that has it.
    pub(super) fn staging(&mut self, at: usize, len: usize) -> &mut [u8] {
        self.used = self.used.max(at + len);
        &mut self.resources().staging.as_mut().expect("a slot with staging")[at..at + len]
    }

    /// Copies to the device buffer, from byte `at` on; done when the stream has come to it.
    ///
    /// # Safety
    /// `data` stays as it is until the stream was waited for.
    pub(super) unsafe fn copy_in(&mut self, at: usize, data: &[u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len());
        self.used = self.used.max(at + data.len());
        // SAFETY: the range lies in the buffer, as asserted; the caller vouches for the data.
        let copied = unsafe { result::memcpy_htod_async(self.buffer() + at as u64, data, self.stream()) };
        self.device.call("cuMemcpyHtoDAsync", copied)
    }

    /// Copies from the device buffer, from byte `at` on; done when the stream has come to it.
    ///
    /// # Safety
    /// Nobody uses `data` until the stream was waited for.
    pub(super) unsafe fn copy_out(&mut self, at: usize, data: &mut [u8]) -> Result<(), Error> {
        assert!(at + data.len() <= self.len());
        // What comes from there was written there by a kernel.
        self.used = self.used.max(at + data.len());
        // SAFETY: the range lies in the buffer, as asserted; the caller vouches for the data.
        let copied = unsafe { result::memcpy_dtoh_async(data, self.buffer() + at as u64, self.stream()) };
        self.device.call("cuMemcpyDtoHAsync", copied)
    }

    /// As [`copy_in`](Self::copy_in), from the same place of the staging memory.
    pub(super) fn copy_in_staged(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let staged: *const [u8] = self.staging(at, len);
        // SAFETY: it is the slot's own, whose next use is behind a wait.
        unsafe { self.copy_in(at, &*staged) }
    }

    /// As [`copy_out`](Self::copy_out), to the same place of the staging memory.
    pub(super) fn copy_out_staged(&mut self, at: usize, len: usize) -> Result<(), Error> {
        let staged: *mut [u8] = self.staging(at, len);
        // SAFETY: as above.
        unsafe { self.copy_out(at, &mut *staged) }
    }

    /// Whether everything on the stream is done.
    pub(super) fn is_done(&mut self) -> Result<bool, Error> {
        // SAFETY: the stream is ours and alive.
        match unsafe { cuStreamQuery(self.stream()) }.result() {
            Err(e) if e.0 == CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            asked => {
                self.failed |= asked.is_err();
                self.device.call("cuStreamQuery", asked).map(|()| true)
            }
        }
    }

    /// Waits for everything on the stream.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        // SAFETY: the stream is ours and alive.
        let waited = unsafe { result::stream::synchronize(self.stream()) };
        self.failed |= waited.is_err();
        self.device.call("cuStreamSynchronize", waited)
    }

    /// Clears what was used.
    fn clear(&mut self) -> Result<(), Error> {
        let used = self.used;
        if used == 0 {
            return Ok(());
        }
        let resources = self.resources();
        if let Some(staging) = &mut resources.staging {
            staging.clear(used);
        }
        // SAFETY: the range lies in the buffer.
        let cleared =
            unsafe { result::memset_d8_async(resources.buffer, 0, used.min(resources.len), resources.stream) };
        self.device.call("cuMemsetD8Async", cleared)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let _ = make_current(self.device.context());
        // What is on the stream may still write to the staging memory.
        let usable = self.wait().is_ok() && !self.failed && self.clear().is_ok();
        if !usable {
            self.lease.resources = None;
        }
    }
}

impl Resources {
    /// Without a buffer so far.
    fn new(device: &Device) -> Result<Self, Error> {
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = device.call("cuStreamCreate", stream)?;
        Ok(Self { context: device.context().clone(), stream, buffer: 0, len: 0, staging: None })
    }

    /// With a buffer of so many bytes, or fewer where the device has too little memory.
    fn grow(&mut self, device: &Device, wanted: usize) -> Result<(), Error> {
        if self.len >= wanted {
            return Ok(());
        }
        self.free();
        let mut len = wanted;
        self.buffer = loop {
            // SAFETY: the context is current on this thread, as the caller has entered the device.
            match unsafe { result::malloc_sync(len) } {
                Ok(buffer) => break buffer,
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY && len > Slot::SMALLEST => {
                    len = (len / 2).next_multiple_of(16).max(Slot::SMALLEST);
                }
                Err(e) if e.0 == CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                    return Err(Error::OutOfDeviceMemory { what: format!("a buffer of {len} bytes") });
                }
                Err(e) => return device.call("cuMemAlloc", Err(e)),
            }
        };
        self.len = len;
        Ok(())
    }

    /// Clears and frees the buffer, if there is one.
    fn free(&mut self) {
        if self.len > 0 {
            // Nothing can be done here about an error; on a context that is lost, the memory is lost with it.
            // SAFETY: ours, alive, and not used after this; clearing comes before freeing on the same stream.
            unsafe {
                let _ = result::memset_d8_async(self.buffer, 0, self.len, self.stream);
                let _ = result::stream::synchronize(self.stream);
                let _ = result::free_sync(self.buffer);
            }
        }
        (self.buffer, self.len) = (0, 0);
    }
}

impl Drop for Resources {
    fn drop(&mut self) {
        let _ = make_current(&self.context);
        self.free();
        // SAFETY: ours, alive, and not used after this.
        let _ = unsafe { result::stream::destroy(self.stream) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn device() -> Option<Device> {
        let opened = Device::open(0).and_then(|device| device.enter().map(|()| device));
        // Past the harness, which would keep it to itself.
        let say = |e: &Error| _ = writeln!(std::io::stderr(), "NO GPU OPENED: slots were not tested ({e})");
        opened.inspect_err(say).ok()
    }

    #[test]
    fn a_slot_comes_back_cleared() {
        let Some(device) = device() else { return };
        let mut slot = Slot::take(&device, 8192).unwrap().with_staging(8192).unwrap();
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
        let mut slot = Slot::take(&device, 8192).unwrap().with_staging(8192).unwrap();
        assert_eq!(slot.buffer(), pointer, "the buffer that was kept");
        assert_eq!(slot.staging(0, 8192), [0; 8192]);
        let mut found = [1; 8192];
        // SAFETY: waited for below.
        unsafe { slot.copy_out(0, &mut found) }.unwrap();
        slot.wait().unwrap();
        assert_eq!(found, [0; 8192]);
    }

    #[test]
    fn a_large_call_leaves_slots_to_small_ones() {
        let Some(device) = device() else { return };
        let mut slots: Vec<_> = (0..).map_while(|_| Slot::try_take(&device, 4096)).map(Result::unwrap).collect();
        assert_eq!(slots.len(), MOST - RESERVE);
        slots.extend((0..RESERVE).map(|_| Slot::take(&device, 4096).unwrap()));
    }

    /// To load a kernel takes a slot, for its test, and whoever has slots launches meanwhile.
    #[test]
    fn a_kernel_is_loaded_while_all_slots_are_in_use() {
        let Some(device) = device() else { return };
        let device = std::sync::Arc::new(device);
        let key = crate::Key::new(&[3; 16]).unwrap();
        let key = device.cipher(&key, super::super::Kernels::Bitsliced).unwrap();
        key.prepare(crate::Mode::Ctr, None).unwrap();
        let slots: Vec<_> = (0..MOST).map(|_| Slot::take(&device, 4096).unwrap()).collect();
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| key.prepare(crate::Mode::EcbEncrypt, None));
            std::thread::sleep(std::time::Duration::from_millis(200));
            // Finds its kernel, though another one is being loaded.
            key.prepare(crate::Mode::Ctr, None).unwrap();
            drop(slots);
            loading.join().unwrap().unwrap();
        });
    }
}
