//! Blocks of the input, copied to separate memory before a launch that may overwrite them.

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Buffer, Event, for_buffer};
use crate::backend::opencl::place::Place;
use crate::base::error::Error;
use crate::op::launch::Gather;
use opencl3::command_queue;
use opencl3::types::cl_command_queue;
use std::ptr;

/// Copies of blocks of the input, side by side. The launch that reads them keeps the memory as long as it needs it.
/// They were ciphertext, so they need not be cleared.
pub(crate) struct Gathered {
    pub(crate) buffer: Buffer,
    /// The event of the copies.
    pub(crate) done: Event,
}

impl Gathered {
    /// Puts the copies into a queue.
    ///
    /// # Safety
    /// The input is within a buffer of the context, and has these blocks; the queue belongs to the context, too, and
    /// all are valid.
    pub(crate) unsafe fn new(
        context: &Context,
        queue: cl_command_queue,
        input: Place,
        gather: Gather,
    ) -> Result<Self, Error> {
        let len = gather.bytes() as usize;
        let buffer = context.buffer(len)?;
        // One row for each block, at its start. The column is less than the row length.
        let (first, row) = ((input.at + gather.first) as usize, gather.apart as usize);
        let (from, to) = ([first % row, first / row, 0], [16, 0, 0]);
        let region = [16, gather.blocks as usize, 1];
        // SAFETY: the caller guarantees queue and input; the copies have room for all blocks.
        let copied = unsafe {
            command_queue::enqueue_copy_buffer_rect(
                queue,
                input.buffer,
                buffer.raw(),
                from.as_ptr(),
                to.as_ptr(),
                region.as_ptr(),
                row,
                0,
                16,
                0,
                0,
                ptr::null(),
            )
        };
        let copied = for_buffer("clEnqueueCopyBufferRect", len, copied)?;
        // SAFETY: the call created it for this caller.
        Ok(Self { buffer, done: unsafe { Event::owning(copied) } })
    }
}
