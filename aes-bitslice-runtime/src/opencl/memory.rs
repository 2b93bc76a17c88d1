//! Device memory, and a queue whose commands are timed by the device's own clock: for whoever has no OpenCL of their own.

use super::handles::{Buffer, Event, call, event_of};
use super::pending::Pending;
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
///
/// Copies, [`clear`](Self::clear) and drop wait for every call that was given a [slice](Self::slice) of it before, in
/// whatever queue: after a call, [`copy_to_host`](Self::copy_to_host) sees its output. If such a call failed on the device,
/// whoever waits for it first tells of it, and copies nothing. A queue that is held up, by an event that nobody sets, holds
/// them up too.
pub struct DeviceMemory {
    device: Arc<Device>,
    buffer: Buffer,
    len: usize,
    /// Calls that may use it still.
    calls: Pending,
}

impl DeviceMemory {
    pub(crate) fn new(device: &Arc<Device>, len: usize) -> Result<Self, Error> {
        // There are no buffers of no bytes.
        let buffer = device.zeroed(device.queue(), len.max(1))?;
        Ok(Self { device: device.clone(), buffer, len, calls: Pending::default() })
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

    /// Tells of a call that uses it.
    pub(super) fn is_used_by(&self, launch: &Event) {
        self.calls.add(launch);
    }

    /// Copies from host memory, to byte `at` on, after all calls that use it, and waits.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], and what the driver reports, also of those calls.
    pub fn copy_from_host(&mut self, at: usize, host: &[u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        self.calls.wait()?;
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

    /// Copies to host memory, from byte `at` on, after all calls that use it, and waits.
    ///
    /// # Errors
    /// As [`copy_from_host`](Self::copy_from_host).
    pub fn copy_to_host(&self, at: usize, host: &mut [u8]) -> Result<(), Error> {
        self.check(at, host.len())?;
        if host.is_empty() {
            return Ok(());
        }
        self.calls.wait()?;
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

    /// Sets all bytes to zero, after all calls that use it, and waits.
    ///
    /// # Errors
    /// What the driver reports, also of those calls; after which it was cleared none the less, if it could be.
    pub fn clear(&mut self) -> Result<(), Error> {
        let waited = self.calls.wait();
        let cleared = self.device.queue().clear(&self.buffer, self.len.max(1));
        cleared.and_then(|cleared| Event::wait([&cleared])).and(waited)
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
    use super::*;
    use crate::{Backend, Counter, CounterMode, Engine, Key};
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

    /// A queue that is held up until it is opened, with a call in it on memory of ours.
    struct HeldUp {
        queue: TimedQueue,
        gate: Event,
        memory: DeviceMemory,
        expected: Vec<u8>,
    }

    impl HeldUp {
        fn new(engine: &Engine) -> Self {
            let cipher = engine.cipher(&Key::new(&[3; 16]).unwrap()).unwrap();
            let counter = Counter::new(CounterMode::Ctr128BE, [7; 16]);
            let mut expected = vec![0; 4096];
            cipher.ctr_apply(&counter, 0, &mut expected).unwrap();
            let (queue, memory) = (engine.opencl_queue().unwrap(), engine.opencl_memory(4096).unwrap());
            let made = event::create_user_event(engine.opencl_context().unwrap().get());
            let gate = event_of("clCreateUserEvent", made).unwrap();
            // SAFETY: queue and event are alive.
            let barrier = unsafe { command_queue::enqueue_barrier_with_wait_list(queue.queue().get(), 1, &gate.raw()) };
            event_of("clEnqueueBarrierWithWaitList", barrier).unwrap();
            let all = memory.slice(0, 4096);
            cipher.opencl().unwrap().ctr_apply(queue.queue(), &counter, 0, all, all).unwrap();
            Self { queue, gate, memory, expected }
        }

        /// After a while, so that whoever does not wait is done before.
        fn open_soon(gate: &Event) {
            std::thread::sleep(std::time::Duration::from_millis(100));
            event::set_user_event_status(gate.raw(), event::CL_COMPLETE).unwrap();
        }
    }

    #[test]
    fn memory_is_read_when_calls_on_it_are_done() {
        let Some(engine) = engine() else { return };
        let HeldUp { queue: _queue, gate, memory, expected } = HeldUp::new(&engine);
        let mut found = vec![0; 4096];
        std::thread::scope(|scope| {
            scope.spawn(|| HeldUp::open_soon(&gate));
            memory.copy_to_host(0, &mut found).unwrap();
        });
        assert!(found == expected);
    }

    #[test]
    fn memory_is_cleared_when_calls_on_it_are_done() {
        let Some(engine) = engine() else { return };
        let HeldUp { queue, gate, memory, .. } = HeldUp::new(&engine);
        let device = memory.device.clone();
        // SAFETY: alive; one more reference, to look at what is left of it.
        let left = unsafe {
            opencl3::memory::retain_mem_object(memory.raw()).unwrap();
            Buffer::owning(memory.raw())
        };
        std::thread::scope(|scope| {
            scope.spawn(|| HeldUp::open_soon(&gate));
            drop(memory);
        });
        queue.finish().unwrap();
        let left = DeviceMemory { device, buffer: left, len: 4096, calls: Pending::default() };
        let mut found = vec![1; 4096];
        left.copy_to_host(0, &mut found).unwrap();
        assert_eq!(found, [0; 4096]);
    }
}
