//! A queue whose commands are timed with the device's own clock, for callers without a queue.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Event, call, event_of, number};
use crate::base::error::Error;
use opencl3::command_queue::{self, CL_QUEUE_PROFILING_ENABLE, CommandQueue};
use opencl3::event;
use opencl3::types::cl_event;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::time::Duration;

/// A queue of an engine ([`Engine::opencl_queue`](crate::Engine::opencl_queue)), whose commands run in order and are
/// timed.
pub struct TimedQueue {
    /// The context it belongs to.
    _context: Arc<Context>,
    /// Released by `Drop`: the queue's own drop panics if that fails.
    queue: ManuallyDrop<CommandQueue>,
}

impl TimedQueue {
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, Error> {
        // SAFETY: the context is the device's.
        let queue =
            unsafe { command_queue::create_command_queue(context.raw(), context.device(), CL_QUEUE_PROFILING_ENABLE) };
        let queue = CommandQueue::new(call("clCreateCommandQueue", queue)?, 0);
        Ok(Self { _context: context.clone(), queue: ManuallyDrop::new(queue) })
    }

    /// The queue, for calls of [`BufferCipher`](crate::opencl::BufferCipher).
    pub fn queue(&self) -> &CommandQueue {
        &self.queue
    }

    /// Waits for everything in the queue.
    ///
    /// # Errors
    /// Any error the driver reports.
    pub fn finish(&self) -> Result<(), Error> {
        call("clFinish", command_queue::finish(self.queue.get()))
    }

    /// The time that the device takes, by its own clock, for what `work` puts into the queue, measured from the end of
    /// everything now in the queue. It waits for that work.
    ///
    /// # Errors
    /// The errors of `work`, and any error the driver reports.
    pub fn time<E: From<Error>>(&self, work: impl FnOnce(&CommandQueue) -> Result<(), E>) -> Result<Duration, E> {
        let start = self.mark()?;
        let worked = work(&self.queue);
        let end = self.mark();
        self.finish()?;
        worked?;
        let at = |mark: &Event| -> Result<u64, Error> {
            let bytes = event::get_event_profiling_data(mark.raw(), event::CL_PROFILING_COMMAND_END);
            number("clGetEventProfilingInfo", bytes)
        };
        Ok(Duration::from_nanos(at(&end?)?.saturating_sub(at(&start)?)))
    }

    /// A command that does nothing, after all others.
    fn mark(&self) -> Result<Event, Error> {
        // SAFETY: the queue is alive; there is no list of events.
        let mark: Result<cl_event, _> =
            unsafe { command_queue::enqueue_marker_with_wait_list(self.queue.get(), 0, std::ptr::null()) };
        event_of("clEnqueueMarkerWithWaitList", mark)
    }
}

impl Drop for TimedQueue {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: this owns it, and it is not used after this.
        let _ = unsafe { command_queue::release_command_queue(self.queue.get()) };
    }
}
