//! Round keys as kernels take them: with the launch, or in memory of the device.

use super::Device;
use super::handles::{Buffer, Event, for_buffer};
use super::pending::Pending;
use crate::Error;
use aes_bitslice_gen::emit::KeySource;
use aes_bitslice_gen::layout::PLANES;
use opencl3::command_queue;
use opencl3::types::{CL_TRUE, cl_mem};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Round keys as a kernel is launched with them.
pub(super) enum RoundKeys {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// Their planes lie in memory of the device.
    Memory { planes: KeyMemory, rounds: u32 },
}

impl RoundKeys {
    /// The words of a key, for a kernel that takes them from there; none where it is in the code.
    pub(super) fn new(
        device: &Arc<Device>,
        source: KeySource,
        words: Zeroizing<Vec<u32>>,
    ) -> Result<Option<Self>, Error> {
        Ok(match source {
            KeySource::Memory => {
                let rounds = (words.len() / PLANES) as u32 - 1;
                Some(Self::Memory { planes: KeyMemory::new(device, &words)?, rounds })
            }
            KeySource::Baked => None,
            _ => Some(Self::Argument(words)),
        })
    }
}

/// Round keys in device memory, for kernels that read them there: cleared on drop, when every launch that was given them is
/// done.
pub(super) struct KeyMemory {
    device: Arc<Device>,
    buffer: Buffer,
    len: usize,
    /// Launches that may read it still.
    readers: Pending,
}

impl KeyMemory {
    /// A copy of the words on the device.
    fn new(device: &Arc<Device>, words: &[u32]) -> Result<Self, Error> {
        let len = size_of_val(words);
        let buffer = device.buffer(len)?;
        let memory = Self { device: device.clone(), buffer, len, readers: Pending::default() };
        let (queue, raw) = (device.queue().raw(), memory.buffer.raw());
        // SAFETY: the words are as long as the buffer, and were read when the call returns.
        let written = unsafe {
            command_queue::enqueue_write_buffer(
                queue,
                raw,
                CL_TRUE,
                0,
                len,
                words.as_ptr().cast_mut().cast(),
                0,
                std::ptr::null(),
            )
        };
        let written = for_buffer("clEnqueueWriteBuffer", len, written)?;
        // SAFETY: made by the call for us.
        drop(unsafe { Event::owning(written) });
        Ok(memory)
    }

    pub(super) fn raw(&self) -> cl_mem {
        self.buffer.raw()
    }

    /// Tells of a launch that reads it.
    pub(super) fn is_read_by(&self, launch: &Event) {
        self.readers.add(launch);
    }
}

impl Drop for KeyMemory {
    fn drop(&mut self) {
        // Nothing can be done here about an error.
        let _ = self.readers.wait();
        let _ = self.device.queue().clear(&self.buffer, self.len);
        let _ = self.device.queue().finish();
    }
}
