//! What a call on device memory returns besides what it writes: it is there when the stream has come to it.

use crate::backend::cuda::memory::hash_memory::HashMemory;
use crate::base::error::Error;
use crate::op::operation::{Operation, finished};

/// What a call on device memory returns, such as a tag, when the caller's stream has come to it.
///
/// Dropping it waits for that point of the stream.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation> {
    operation: O,
    len: u64,
    memory: HashMemory,
}

impl<O: Operation> Pending<O> {
    pub(crate) fn new(operation: O, len: u64, memory: HashMemory) -> Self {
        Self { operation, len, memory }
    }

    /// Waits until the stream has come to it, and returns the value.
    ///
    /// # Errors
    /// What the operation returns as an error, and what the driver reports.
    pub fn wait(self) -> Result<O::Output, Error> {
        let parts = match self.len {
            0 => vec![],
            len => vec![self.operation.part(len, &self.memory.read()?)],
        };
        finished(&self.operation, parts)
    }
}
