//! Device memory, and a queue whose commands are timed by the device's own clock: for whoever has no OpenCL of their own.

use super::handles::{Buffer, Event, call, event_of};
use super::{BufferSlice, Device};
use crate::Error;
use opencl3::command_queue::{self, CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::event;
use opencl3::types::{CL_TRUE, cl_event, cl_mem};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

/// Bytes of device memory that belong to an engine ([`Engine::opencl_memory`](crate::Engine::opencl_memory)). They are zero at
/// first, and set to zero again when it is dropped.
pub struct DeviceMemory {
    device: Arc<Device>,
    buffer: Buffer,
    len: usize,
}

impl DeviceMemory {
    pub(crate) fn new(device: &Arc<Device>, len: usize) -> Result<Self, Error> {
        // There are no buffers of no bytes.
        let buffer = device.zeroed(device.queue(), len.max(1))?;
        Ok(Self { device: device.clone(), buffer, len })
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `len` bytes from byte `at` on, for calls of [`BufferCipher`](super::BufferCipher).
    pub fn slice(&self, at: usize, len: usize) -> BufferSlice<'_> {
        BufferSlice::of_memory(self, at, len)
    }

    pub(super) fn raw(&self) -> cl_mem {
        self.buffer.raw()
    }

    /// Copies from host memory, to byte `at` on, and waits. What was put into queues of the caller's is not waited for.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], and what the driver reports.
    pub fn copy_from_host(&mut self, at: usize, host: &[u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        // SAFETY: the buffer has these bytes, and the call returns when they are copied.
        let copied = unsafe {
            command_queue::enqueue_write_buffer(
                self.device.queue().raw(),
                self.buffer.raw(),
                CL_TRUE,
                at,
                host.len(),
                host.as_ptr().cast(),
                0,
                std::ptr::null(),
            )
        };
        event_of("clEnqueueWriteBuffer", copied).map(drop)
    }

    /// Copies to host memory, from byte `at` on, and waits. What was put into queues of the caller's is not waited for.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn copy_to_host(&self, at: usize, host: &mut [u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        // SAFETY: as above.
        let copied = unsafe {
            command_queue::enqueue_read_buffer(
                self.device.queue().raw(),
                self.buffer.raw(),
                CL_TRUE,
                at,
                host.len(),
                host.as_mut_ptr().cast(),
                0,
                std::ptr::null(),
            )
        };
        event_of("clEnqueueReadBuffer", copied).map(drop)
    }

    /// Sets all bytes to zero, and waits.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn clear(&mut self) -> Result<(), Error> {
        Event::wait(&[self.device.queue().clear(&self.buffer, self.len.max(1))?])
    }

    fn check(&self, at: usize, bytes: usize) -> Result<(), Error> {
        match at.checked_add(bytes).is_some_and(|end| end <= self.len) {
            true => Ok(()),
            false => Err(Error::OutOfRange { at, bytes, len: self.len }),
        }
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // Nothing can be done here about an error.
        let _ = self.clear();
    }
}

/// A queue of an engine's ([`Engine::opencl_queue`](crate::Engine::opencl_queue)), whose commands are done in order, and timed.
pub struct TimedQueue {
    /// What it belongs to.
    _device: Arc<Device>,
    /// Released by `Drop`: its own panics where that fails.
    queue: ManuallyDrop<CommandQueue>,
}

impl TimedQueue {
    pub(crate) fn new(device: &Arc<Device>) -> Result<Self, Error> {
        let (context, id) = (device.context().get(), device.id());
        // SAFETY: the context is the device's.
        let queue = unsafe { command_queue::create_command_queue(context, id, CL_QUEUE_PROFILING_ENABLE) };
        let queue = CommandQueue::new(call("clCreateCommandQueue", queue)?, 0);
        Ok(Self { _device: device.clone(), queue: ManuallyDrop::new(queue) })
    }

    /// The queue, for calls of [`BufferCipher`](super::BufferCipher).
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// Waits for everything in the queue.
    ///
    /// # Errors
    /// What the driver reports.
    pub fn finish(&self) -> Result<(), Error> {
        call("clFinish", command_queue::finish(self.queue.get()))
    }

    /// What the device takes, by its own clock, for what `work` puts into the queue: from the end of all that is in it now. It
    /// waits for that.
    ///
    /// # Errors
    /// Those of `work`, and what the driver reports.
    pub fn time<E: From<Error>>(&self, work: impl FnOnce(&CommandQueue) -> Result<(), E>) -> Result<Duration, E> {
        let start = self.mark()?;
        let worked = work(&self.queue);
        let end = self.mark();
        self.finish()?;
        worked?;
        let at = |mark: &Event| -> Result<u64, Error> {
            let bytes = event::get_event_profiling_data(mark.raw(), event::CL_PROFILING_COMMAND_END);
            super::handles::number("clGetEventProfilingInfo", bytes)
        };
        Ok(Duration::from_nanos(at(&end?)?.saturating_sub(at(&start)?)))
    }

    /// A command that does nothing, behind all others.
    fn mark(&self) -> Result<Event, Error> {
        // SAFETY: the queue is alive; there is no list of events.
        let mark: Result<cl_event, _> =
            unsafe { command_queue::enqueue_marker_with_wait_list(self.queue.get(), 0, std::ptr::null()) };
        event_of("clEnqueueMarkerWithWaitList", mark)
    }
}

impl Drop for TimedQueue {
    fn drop(&mut self) {
        // Nothing can be done here about an error.
        // SAFETY: ours, and not used after this.
        let _ = unsafe { command_queue::release_command_queue(self.queue.get()) };
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, Engine, Error};
    use std::io::Write;

    fn engine() -> Option<Engine> {
        // Past the harness, which would keep it to itself.
        let say = |e: &Error| _ = writeln!(std::io::stderr(), "NO OPENCL DEVICE OPENED: memory was not tested ({e})");
        Engine::open(Backend::OpenClFirst).inspect_err(say).ok()
    }

    #[test]
    fn more_memory_than_there_is_is_refused_by_its_size() {
        let Some(engine) = engine() else { return };
        let Err(Error::OutOfDeviceMemory { what }) = engine.opencl_memory(1 << 46) else { panic!("64 TiB") };
        assert_eq!(what, format!("a buffer of {} bytes", 1u64 << 46));
        assert!(engine.opencl_memory(0).unwrap().is_empty());
    }
}
