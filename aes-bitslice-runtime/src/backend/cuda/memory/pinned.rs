//! Host memory that the driver keeps in place (page-locked): copied from and to at the full speed of the bus, while
//! kernels run.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use crate::base::threads::clear;
use crate::exec::backend::HostMemory;
use cudarc::driver::sys::{self, CUdeviceptr, CUmemorytype, CUpointer_attribute, CUresult};
use cudarc::driver::{DriverError, result};
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pinned memory for all devices of this process, cleared before it is freed. Allocating it takes the driver a long
/// time: use it more than once.
pub(crate) struct Pinned {
    context: Arc<Context>,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is memory that this value alone owns, and any thread may free it.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// `len` bytes, all zero. The context was entered on this thread.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Self, Error> {
        let no_room = || Error::OutOfHostMemory { what: format!("{len} bytes of page-locked memory") };
        let start = match len {
            // The driver refuses the first length, and no slice may have the second.
            0 => NonNull::dangling(),
            _ if isize::try_from(len).is_err() => return Err(no_room()),
            _ => {
                // SAFETY: the context is current on this thread, as the caller has entered it.
                match unsafe { result::malloc_host(len, sys::CU_MEMHOSTALLOC_PORTABLE) } {
                    Ok(start) => NonNull::new(start.cast()).ok_or_else(no_room)?,
                    Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => return Err(no_room()),
                    Err(e) => return context.call("cuMemHostAlloc", Err(e)),
                }
            }
        };
        // SAFETY: `len` bytes were allocated from there on, and nothing else has access to them yet.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { context: context.clone(), start, len })
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes are there, written when they were allocated, for as long as this value lives.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are there for as long as this value lives, and nothing else has a reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl HostMemory for Pinned {}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        // The compiler keeps these writes: it cannot see what the driver does with the memory.
        clear(self);
        let _ = self.context.make_current();
        // SAFETY: allocated by us, and not used after this. An error cannot be handled here.
        let _ = unsafe { result::free_host(self.start.as_ptr().cast::<c_void>()) };
    }
}

/// The time that the driver takes to allocate this much pinned memory for one device; the memory is freed again. The
/// context was entered on this thread.
pub(crate) fn time_to_allocate(context: &Context, bytes: usize) -> Result<Duration, Error> {
    let start = Instant::now();
    // SAFETY: the context is current on this thread.
    let allocated = unsafe { result::malloc_host(bytes, 0) };
    let time = start.elapsed();
    let memory = context.call("cuMemHostAlloc", allocated)?;
    // SAFETY: allocated above, and not in use.
    context.call("cuMemFreeHost", unsafe { result::free_host(memory) })?;
    Ok(time)
}

/// The address at which kernels access this memory, which is pinned; `None` if they cannot. The context is current on
/// this thread.
pub(crate) fn on_device(data: &[u8]) -> Option<CUdeviceptr> {
    let mut pointer: CUdeviceptr = 0;
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
    let start = data.as_ptr() as CUdeviceptr;
    // SAFETY: the value is as large as its attribute.
    let asked = unsafe { sys::cuPointerGetAttribute((&raw mut pointer).cast(), attribute, start) };
    (asked == CUresult::CUDA_SUCCESS && pointer != 0).then_some(pointer)
}

/// Whether all of this memory is pinned, so that copies need no staging. The context is current on this thread.
pub(crate) fn is_pinned(data: &[u8]) -> bool {
    use CUpointer_attribute as Attribute;
    let start = data.as_ptr() as CUdeviceptr;
    let (mut kind, mut range_start, mut range_len) = (0_u32, 0_u64, 0_usize);
    let mut attributes = [
        Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
    ];
    let mut values: [*mut c_void; 3] =
        [(&raw mut kind).cast(), (&raw mut range_start).cast(), (&raw mut range_len).cast()];
    // All at once: for memory that the driver does not know, that is not an error, and the values are zero.
    // SAFETY: each value is as large as its attribute, and both arrays have the stated length.
    let asked = unsafe {
        sys::cuPointerGetAttributes(attributes.len() as u32, attributes.as_mut_ptr(), values.as_mut_ptr(), start)
    };
    asked == CUresult::CUDA_SUCCESS
        && kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32
        && range_start <= start
        && start + data.len() as u64 <= range_start + range_len as u64
}
