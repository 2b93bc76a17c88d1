//! What a call on OpenCL buffers returns besides what it writes: it is there when the queue has come to it.

use crate::backend::opencl::memory::device_memory::DeviceMemory;
use crate::base::error::Error;
use crate::op::operation::{Operation, finished};
use crate::op::partial_hash::HASH;

/// What a call on OpenCL buffers returns, such as a tag, when the caller's queue has come to it.
///
/// Dropping it waits for that point of the queue. Of a queue that is held up, by an event that nobody sets, it waits for ever.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation> {
    operation: O,
    /// The number of bytes that are hashed, and the memory that the hash comes into; `None` if there is no data.
    hash: Option<(u64, DeviceMemory)>,
}

impl<O: Operation> Pending<O> {
    pub(super) fn new(operation: O, hash: Option<(u64, DeviceMemory)>) -> Self {
        Self { operation, hash }
    }

    /// Waits until the queue has come to it, and returns the value.
    ///
    /// # Errors
    /// What the operation returns as an error, and what the driver reports: then nothing of the output is to be used, as whether it is
    /// authentic was not found out.
    pub fn wait(self) -> Result<O::Output, Error> {
        let mut parts = vec![];
        if let Some((len, memory)) = self.hash {
            let mut hash = [0; HASH];
            memory.copy_to_host(0, &mut hash)?;
            parts.push(self.operation.part(len, &hash));
        }
        finished(&self.operation, parts)
    }
}
