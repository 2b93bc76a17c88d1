//! Key material in device memory, for kernels that read it there: round keys, and tables of a hash key.

use crate::backend::device::round_keys::KeyMaterial;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, for_buffer};
use crate::backend::opencl::memory::in_flight::InFlight;
use crate::backend::opencl::place::Place;
use crate::base::error::Error;
use std::slice;
use std::sync::Arc;

/// Round keys, or tables of a hash key, in device memory, for kernels that read them there: cleared on drop, once every
/// launch that was given them has completed.
pub(crate) struct KeyMemory {
    context: Arc<Context>,
    buffer: Buffer,
    len: usize,
    /// Launches that may still read it.
    readers: InFlight,
}

impl KeyMemory {
    /// A copy of the words on the device.
    pub(crate) fn new(context: &Arc<Context>, words: &[u32]) -> Result<Self, Error> {
        let len = size_of_val(words);
        let buffer = context.buffer(len)?;
        let memory = Self { context: context.clone(), buffer, len, readers: InFlight::default() };
        // SAFETY: words of this length.
        let bytes = unsafe { slice::from_raw_parts(words.as_ptr().cast(), len) };
        for_buffer("clEnqueueWriteBuffer", len, context.queue().write(&memory.buffer, 0, bytes))?;
        Ok(memory)
    }

    /// Records a launch that reads it.
    pub(crate) fn is_read_by(&self, launch: &Event) {
        self.readers.add(launch);
    }
}

impl KeyMaterial for KeyMemory {
    type Place = Place;

    fn place(&self) -> Place {
        Place::start_of(self.buffer.raw())
    }
}

impl Drop for KeyMemory {
    fn drop(&mut self) {
        // An error cannot be handled here.
        let _ = self.readers.wait();
        let _ = self.context.queue().clear(&self.buffer, self.len);
        let _ = self.context.queue().finish();
    }
}
