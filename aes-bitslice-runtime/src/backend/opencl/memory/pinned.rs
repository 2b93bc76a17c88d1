//! Host memory of the driver (`CL_MEM_ALLOC_HOST_PTR`), mapped as long as it lives: most drivers keep it in place
//! (page-locked), and copy from and to it at the full speed of the bus.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, Queue, event_of, for_buffer};
use crate::base::error::Error;
use opencl3::command_queue;
use opencl3::memory::{CL_MAP_READ, CL_MAP_WRITE};
use opencl3::types::CL_TRUE;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

/// Mapped memory, all zero at first. [`unmap`](Self::unmap) returns it.
pub(crate) struct Pinned {
    buffer: Buffer,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: memory that this value alone owns, and a handle, which any thread may use.
unsafe impl Send for Pinned {}
// SAFETY: shared references only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// `len` bytes, at least one, mapped through a queue of the context.
    pub(crate) fn new(context: &Context, queue: &Queue, len: usize) -> Result<Self, Error> {
        let buffer = context.host_buffer(len)?;
        let mut start = ptr::null_mut();
        // SAFETY: queue and buffer are alive and belong to one context; the call returns when it is mapped.
        let mapped = unsafe {
            command_queue::enqueue_map_buffer(
                queue.raw(),
                buffer.raw(),
                CL_TRUE,
                CL_MAP_READ | CL_MAP_WRITE,
                0,
                len,
                &mut start,
                0,
                ptr::null(),
            )
        };
        let mapped = for_buffer("clEnqueueMapBuffer", len, mapped)?;
        // SAFETY: the call created it for this caller.
        drop(unsafe { Event::owning(mapped) });
        let no_room = || Error::OutOfHostMemory { what: format!("a buffer of {len} bytes") };
        let start = NonNull::new(start.cast()).ok_or_else(no_room)?;
        // SAFETY: `len` bytes are mapped from there on, and nothing else has access to them.
        unsafe { start.write_bytes(0, len) };
        Ok(Self { buffer, start, len })
    }

    #[cfg(test)]
    pub(crate) fn raw(&self) -> opencl3::types::cl_mem {
        self.buffer.raw()
    }

    /// Clears it and returns it, through a queue of its context that holds no more work using it.
    pub(crate) fn unmap(mut self, queue: &Queue) -> Result<(), Error> {
        // The compiler keeps these writes: it cannot see what the driver does with the memory.
        self.fill(0);
        // SAFETY: mapped by `new`, and not used after this.
        let unmapped = unsafe {
            command_queue::enqueue_unmap_mem_object(
                queue.raw(),
                self.buffer.raw(),
                self.start.as_ptr().cast(),
                0,
                ptr::null(),
            )
        };
        event_of("clEnqueueUnmapMemObject", unmapped).map(drop)
    }
}

impl Deref for Pinned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped, and were written by `new`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Pinned {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: `len` bytes are mapped, and nothing else has a reference.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}
