//! A device's context, in which its memory, its queues and its programs are created.

use crate::backend::opencl::handles::{Buffer, Event, Queue, call, for_buffer};
use crate::backend::opencl::platforms::{self, DeviceInfo, DeviceKind, Found, Wanted};
use crate::base::error::Error;
use aes_bitslice_core::layout::Layout;
use opencl3::context::{self, context as calls};
use opencl3::memory;
use opencl3::types::{cl_context, cl_device_id, cl_mem_flags};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// An OpenCL device, and a context of this device only.
pub(crate) struct Context {
    found: Found,
    /// Released by `Drop` here. It lives on until everything created in it is released, too.
    context: ManuallyDrop<context::Context>,
    queue: Queue,
}

impl Drop for Context {
    fn drop(&mut self) {
        // Not by its own drop, which panics if this fails.
        // SAFETY: not used after this.
        let _ = unsafe { calls::release_context(self.context.get()) };
    }
}

impl Context {
    pub(crate) fn open(wanted: Wanted) -> Result<Arc<Self>, Error> {
        let found = platforms::find(wanted)?;
        let id = found.id.raw();
        let made = calls::create_context(&[id], std::ptr::null(), None, std::ptr::null_mut());
        let context = ManuallyDrop::new(context::Context::new(call("clCreateContext", made)?, &[id]));
        // SAFETY: the context was created for this device just now.
        let queue = unsafe { Queue::new(context.get(), id) }.inspect_err(|_| {
            // SAFETY: created above, and not used after this.
            let _ = unsafe { calls::release_context(context.get()) };
        })?;
        Ok(Arc::new(Self { found, context, queue }))
    }

    /// The device, as its driver describes it.
    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.found.info
    }

    /// The context as the type of the crate `opencl3`.
    pub(crate) fn shared(&self) -> &context::Context {
        &self.context
    }

    /// The context's handle.
    pub(crate) fn raw(&self) -> cl_context {
        self.context.get()
    }

    /// The device's handle.
    pub(crate) fn device(&self) -> cl_device_id {
        self.found.id.raw()
    }

    /// Whether its compiler is NVIDIA's.
    pub(crate) fn is_nvidia(&self) -> bool {
        self.found.is_nvidia
    }

    /// The maximum size of one buffer, in bytes.
    pub(crate) fn largest_buffer(&self) -> u64 {
        self.found.largest_buffer
    }

    /// Whether it is the processor of this machine.
    pub(crate) fn is_cpu(&self) -> bool {
        self.info().kind == DeviceKind::Cpu
    }

    /// The layout that is fast on this device: by column where threads exchange words, by state elsewhere.
    pub(crate) fn layout(&self) -> Layout {
        if self.is_nvidia() { Layout::Column } else { Layout::State }
    }

    /// A queue for commands that belong to no call.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Another queue.
    pub(crate) fn new_queue(&self) -> Result<Queue, Error> {
        // SAFETY: the context is the device's.
        unsafe { Queue::new(self.raw(), self.device()) }
    }

    /// A buffer of `len` bytes, at least one, with undefined contents.
    pub(crate) fn buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.buffer_with(memory::CL_MEM_READ_WRITE, len)
    }

    /// A buffer of `len` bytes, at least one, in host memory of the driver, with undefined contents.
    pub(crate) fn host_buffer(&self, len: usize) -> Result<Buffer, Error> {
        self.buffer_with(memory::CL_MEM_READ_WRITE | memory::CL_MEM_ALLOC_HOST_PTR, len)
    }

    /// The flags refer to no memory of the caller.
    fn buffer_with(&self, flags: cl_mem_flags, len: usize) -> Result<Buffer, Error> {
        // SAFETY: the context is alive.
        let buffer = unsafe { memory::create_buffer(self.raw(), flags, len, std::ptr::null_mut()) };
        // SAFETY: created just now.
        for_buffer("clCreateBuffer", len, buffer).map(|buffer| unsafe { Buffer::owning(buffer) })
    }

    /// A buffer of `len` bytes, at least one, all zero: its memory is already allocated. The queue belongs to this context.
    pub(crate) fn zeroed(&self, queue: &Queue, len: usize) -> Result<Buffer, Error> {
        let buffer = self.buffer(len)?;
        let cleared = for_buffer("clEnqueueFillBuffer", len, queue.clear(&buffer, len))?;
        for_buffer("clWaitForEvents", len, Event::waited([&cleared])).map(|()| buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::handles::event_of;
    use opencl3::{error_codes, event};

    #[test]
    #[ignore = "needs an OpenCL device"]
    fn commands_that_failed_are_told_by_their_own_error() {
        let context = Context::open(Wanted::First).unwrap();
        let ended_with = |status| {
            let made = event_of("clCreateUserEvent", event::create_user_event(context.raw())).unwrap();
            event::set_user_event_status(made.raw(), status).unwrap();
            made
        };
        let [done, failed, other] =
            [event::CL_COMPLETE, error_codes::CL_MAP_FAILURE, error_codes::CL_INVALID_VALUE].map(ended_with);
        assert!(done.is_over() && failed.is_over());
        Event::wait([&done]).unwrap();
        let said = Event::wait(&[done, failed, other]).unwrap_err().to_string();
        assert_eq!(said, "OpenCL: clWaitForEvents failed with CL_MAP_FAILURE");
    }
}
