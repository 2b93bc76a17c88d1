//! OpenCL as devices in general use it ([`Driver`]): memory, copies and launches in queues.

use crate::backend::device::driver::{Driver, Waited};
use crate::backend::device::values::{Found, Values};
use crate::backend::device::{hash, kernel, round_keys, slots, span};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{self, Buffer, Event, call, event_of};
use crate::backend::opencl::kernel::binding::Bound;
use crate::backend::opencl::kernel::gather::Gathered;
use crate::backend::opencl::kernel::program::EntryPoints;
use crate::backend::opencl::memory::key_memory::KeyMemory;
use crate::backend::opencl::memory::pinned::Pinned;
use crate::backend::opencl::place::Place;
use crate::base::error::Error;
use crate::op::launch::Launch;
use opencl3::command_queue;
use opencl3::types::{CL_FALSE, cl_command_queue, cl_event};
use std::ptr;
use std::sync::Arc;

pub(crate) type Span = span::Span<Place>;
pub(crate) type Slots = slots::Slots<Context>;
pub(crate) type Kernel = kernel::Kernel<Context>;
pub(crate) type RoundKeys = round_keys::RoundKeys<KeyMemory>;
pub(crate) type HashKernel = hash::HashKernel<Context>;

/// A queue, and the commands that were put into it through this value.
pub(crate) struct Commands {
    queue: cl_command_queue,
    /// The events of the commands, which are not waited for yet.
    pub(crate) events: Vec<Event>,
}

// SAFETY: handles, which any thread may use.
unsafe impl Send for Commands {}

impl Commands {
    /// In a queue that is alive as long as this value.
    pub(crate) fn of(queue: cl_command_queue) -> Self {
        Self { queue, events: Vec::new() }
    }

    /// Makes later commands wait for what is in the queue.
    pub(crate) fn barrier(&self) -> Result<(), Error> {
        // SAFETY: the queue is alive.
        let barrier = unsafe { command_queue::enqueue_barrier_with_wait_list(self.queue, 0, ptr::null()) };
        event_of("clEnqueueBarrierWithWaitList", barrier).map(drop)
    }
}

/// A queue of the engine's, in order.
pub(crate) struct OwnQueue {
    queue: handles::Queue,
    commands: Commands,
}

impl Driver for Context {
    type Place = Place;
    type Queue = Commands;
    type OwnQueue = OwnQueue;
    type Memory = Buffer;
    type Pinned = Pinned;
    type KeyMemory = KeyMemory;
    type Code = EntryPoints;

    /// OpenCL has no state of a thread.
    fn enter(&self) -> Result<(), Error> {
        Ok(())
    }

    fn enter_to_free(&self) {}

    fn own_queue(self: &Arc<Self>) -> Result<OwnQueue, Error> {
        let queue = self.new_queue()?;
        Ok(OwnQueue { commands: Commands::of(queue.raw()), queue })
    }

    fn queue(own: &mut OwnQueue) -> &mut Commands {
        &mut own.commands
    }

    fn memory(self: &Arc<Self>, own: &mut OwnQueue, len: usize) -> Result<Buffer, Error> {
        self.zeroed(&own.queue, len)
    }

    fn place(memory: &Buffer) -> Place {
        Place::start_of(memory.raw())
    }

    fn pinned(self: &Arc<Self>, own: &mut OwnQueue, len: usize) -> Result<Pinned, Error> {
        Pinned::new(self, &own.queue, len)
    }

    fn free_pinned(own: &mut OwnQueue, pinned: Pinned) {
        // An error cannot be handled here.
        let _ = pinned.unmap(&own.queue).and_then(|()| own.queue.finish());
    }

    fn key_memory(self: &Arc<Self>, words: &[u32]) -> Result<KeyMemory, Error> {
        KeyMemory::new(self, words)
    }

    unsafe fn copy_in(&self, own: &mut OwnQueue, from: &[u8], to: Place) -> Result<(), Error> {
        let (queue, at, data) = (own.queue.raw(), to.at as usize, from.as_ptr().cast_mut().cast());
        // SAFETY: as the caller guarantees.
        let copied = unsafe {
            command_queue::enqueue_write_buffer(queue, to.buffer, CL_FALSE, at, from.len(), data, 0, ptr::null())
        };
        own.commands.events.push(event_of("clEnqueueWriteBuffer", copied)?);
        Ok(())
    }

    unsafe fn copy_out(&self, own: &mut OwnQueue, from: Place, to: &mut [u8]) -> Result<(), Error> {
        let (queue, at, data) = (own.queue.raw(), from.at as usize, to.as_mut_ptr().cast());
        // SAFETY: as the caller guarantees.
        let copied = unsafe {
            command_queue::enqueue_read_buffer(queue, from.buffer, CL_FALSE, at, to.len(), data, 0, ptr::null())
        };
        own.commands.events.push(event_of("clEnqueueReadBuffer", copied)?);
        Ok(())
    }

    unsafe fn clear(&self, commands: &mut Commands, at: Place, len: usize) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        let cleared = unsafe { handles::clear(commands.queue, at.buffer, at.at as usize, len) };
        commands.events.push(call("clEnqueueFillBuffer", cleared)?);
        Ok(())
    }

    unsafe fn launch(
        self: &Arc<Self>,
        commands: &mut Commands,
        code: &EntryPoints,
        launch: &Launch,
        values: &Values<'_, KeyMemory>,
    ) -> Result<(), Error> {
        let entry = code.one(launch.entry)?;
        let mut gathered = Vec::new();
        let mut gather = || {
            for parameter in &entry.signature.parameters {
                if let Found::Gathered(input, blocks) = values.find(parameter)? {
                    // SAFETY: as the caller guarantees; the blocks are within the span.
                    gathered.push((parameter.name, unsafe { Gathered::new(self, commands.queue, input, *blocks) }?));
                }
            }
            Ok(())
        };
        // SAFETY: the entry point takes what its parameters say: they were read from its source, and counted. The caller guarantees the
        // values.
        let bound = gather().and_then(|()| unsafe { Bound::new(entry, values, &gathered) });
        let enqueued = bound.and_then(|bound| {
            let (global, local) =
                ([launch.thread_blocks as usize * launch.threads as usize], [launch.threads as usize]);
            let before: Vec<cl_event> = gathered.iter().map(|(_, blocks)| blocks.done.raw()).collect();
            let first = if before.is_empty() { ptr::null() } else { before.as_ptr() };
            // SAFETY: every argument was set, and the entry point has been locked since; the caller guarantees the values and the queue;
            // the geometry is the one the kernel was compiled for; events and sizes are alive.
            let launched = unsafe {
                let (global, local) = (global.as_ptr(), local.as_ptr());
                let (queue, object, before) = (commands.queue, bound.raw(), before.len() as u32);
                command_queue::enqueue_nd_range_kernel(queue, object, 1, ptr::null(), global, local, before, first)
            };
            let launched = event_of("clEnqueueNDRangeKernel", launched);
            let wiped = bound.wipe();
            launched.map(|launched| (launched, wiped))
        });
        match enqueued {
            Ok((launched, wiped)) => {
                values.key_memories().for_each(|memory| memory.is_read_by(&launched));
                // Whatever else failed, the launch is in the queue.
                commands.events.push(launched);
                wiped
            }
            Err(error) => {
                // Nothing waits for the copies, which read the input.
                commands.events.extend(gathered.into_iter().map(|(_, blocks)| blocks.done));
                Err(error)
            }
        }
    }

    fn begin(&self, own: &mut OwnQueue) -> Result<(), Error> {
        own.queue.flush()
    }

    fn wait(&self, own: &mut OwnQueue) -> Waited {
        let waited = Event::wait(&std::mem::take(&mut own.commands.events));
        // Also after an error: the device must have finished with the memory before it is used again.
        match (waited, own.queue.finish()) {
            (Ok(()), Ok(())) => Waited::Done,
            (Err(error), Ok(())) => Waited::Failed(error),
            (Err(error), Err(_)) | (Ok(()), Err(error)) => Waited::Unknown(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::device::slots::tests::{a_large_call_leaves_slots_to_small_ones, a_slot_comes_back_cleared};
    use crate::backend::opencl::platforms::Wanted;

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn slots_on_a_device() {
        let context = Context::open(Wanted::First).unwrap();
        a_slot_comes_back_cleared(context.clone());
        a_large_call_leaves_slots_to_small_ones(context);
    }
}
