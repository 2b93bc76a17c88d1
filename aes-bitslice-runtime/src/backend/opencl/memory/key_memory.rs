//! Round keys in the form that kernels take: with the launch, or in device memory.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, for_buffer};
use crate::backend::opencl::memory::in_flight::InFlight;
use crate::base::error::Error;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::PLANES;
use opencl3::command_queue;
use opencl3::types::{CL_TRUE, cl_mem};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Round keys in the form that a kernel is launched with.
pub(crate) enum RoundKeys {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// The two keys of XTS, which also travel with the launch.
    Two { data: Zeroizing<Vec<u32>>, tweaks: Zeroizing<Vec<u32>> },
    /// Their bit-planes are in device memory.
    Memory { planes: KeyMemory, rounds: u32 },
}

impl RoundKeys {
    /// The words of a key, for a kernel that takes the key from `source`; `None` where it is in the code. `tweaks` are
    /// the words of the tweak key, for a kernel that has one.
    pub(crate) fn new(
        context: &Arc<Context>,
        source: KeySource,
        words: Zeroizing<Vec<u32>>,
        tweaks: Option<Zeroizing<Vec<u32>>>,
    ) -> Result<Option<Self>, Error> {
        if let Some(tweaks) = tweaks {
            return Ok(Some(Self::Two { data: words, tweaks }));
        }
        Ok(match source {
            KeySource::Memory | KeySource::ScheduleInMemory => {
                let rounds = (words.len() / PLANES) as u32 - 1;
                Some(Self::Memory { planes: KeyMemory::new(context, &words)?, rounds })
            }
            KeySource::Baked => None,
            _ => Some(Self::Argument(words)),
        })
    }

    /// The part of a key that is the value of a kernel's argument.
    pub(crate) fn value(&self, argument: Argument) -> Option<KeyValue<'_>> {
        match (argument, self) {
            (Argument::Keys, Self::Argument(words) | Self::Two { data: words, .. }) => Some(KeyValue::Words(words)),
            (Argument::TweakKeys, Self::Two { tweaks, .. }) => Some(KeyValue::Words(tweaks)),
            (Argument::KeyPlanes, Self::Memory { planes, .. }) => Some(KeyValue::Planes(planes.buffer.raw())),
            (Argument::Rounds, Self::Memory { rounds, .. }) => Some(KeyValue::Rounds(*rounds)),
            _ => None,
        }
    }

    /// Records a launch that reads the device memory.
    pub(crate) fn is_read_by(&self, launch: &Event) {
        if let Self::Memory { planes, .. } = self {
            planes.is_read_by(launch);
        }
    }
}

/// The part of a key that a parameter takes.
pub(crate) enum KeyValue<'k> {
    /// Words that travel with the launch.
    Words(&'k [u32]),
    /// The buffer that holds the bit-planes.
    Planes(cl_mem),
    /// The number of rounds they are for.
    Rounds(u32),
}

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
        let (queue, raw) = (context.queue().raw(), memory.buffer.raw());
        // SAFETY: the words are as long as the buffer, and have been read when the call returns.
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
        // SAFETY: the call created it for this caller.
        drop(unsafe { Event::owning(written) });
        Ok(memory)
    }
}

impl KeyMemory {
    pub(crate) fn raw(&self) -> cl_mem {
        self.buffer.raw()
    }

    /// Records a launch that reads it.
    pub(crate) fn is_read_by(&self, launch: &Event) {
        self.readers.add(launch);
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
