//! The value that a call on OpenCL buffers returns besides its output: it is available once the queue has reached it.

use crate::backend::opencl::memory::device_memory::DeviceMemory;
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::op::operation::Operation;
use crate::op::partial_hash::HASH;

/// The value that a call on OpenCL buffers returns, such as a tag, available once the caller's queue has reached it.
///
/// Dropping it waits for that point of the queue. If the queue is held up by an event that is never set, it waits forever.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation> {
    call: Call<O>,
    /// The number of bytes that are hashed, and the memory that receives the hash; `None` if there is no data.
    hash: Option<(u64, DeviceMemory)>,
}

impl<O: Operation> Pending<O> {
    pub(super) fn new(call: Call<O>, hash: Option<(u64, DeviceMemory)>) -> Self {
        Self { call, hash }
    }

    /// Waits until the queue has reached it, and returns the value.
    ///
    /// # Errors
    /// Any error of the operation, and any error the driver reports. On a driver error, use none of the output: whether it is authentic was
    /// not determined.
    pub fn wait(self) -> Result<O::Output, Error> {
        let mut parts = vec![];
        if let Some((len, memory)) = self.hash {
            let mut hash = [0; HASH];
            memory.copy_to_host(0, &mut hash)?;
            parts.push(self.call.operation().part(len, &hash));
        }
        self.call.finish(parts)
    }
}
