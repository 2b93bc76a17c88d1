//! The value that a call on OpenCL buffers returns besides its output: it is available once the queue has reached it.

use crate::backend::opencl::memory::device_memory::DeviceMemory;
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::op::operation::{Operation, Pass, Ready};
use crate::op::partial_hash::HASH;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};

/// The value that a call on OpenCL buffers returns, such as a tag, available once the caller's queue has reached it.
///
/// Dropping it waits for that point of the queue. If the queue is held up by an event that is never set, it waits forever.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation>(pub(super) Later<O::Output>);

impl<O: Operation> Pending<O> {
    /// Waits until the queue has reached it, and returns the value.
    ///
    /// # Errors
    /// Any error of the operation, and any error the driver reports. On a driver error, use none of the output: whether it is authentic was
    /// not determined.
    pub fn wait(self) -> Result<O::Output, Error> {
        (self.0)()
    }
}

/// A value that is waited for when it is asked for, and whose work is waited for when it is dropped.
pub(super) type Later<V> = Box<dyn FnOnce() -> Result<V, Error> + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// A pass that is in a queue.
pub(super) struct Started<O: Pass> {
    pub(super) call: Call<O>,
    /// The number of bytes that are hashed, and the memory that receives the hash; `None` if there is no data.
    pub(super) hash: Option<(u64, DeviceMemory)>,
}

impl<O: Pass> Started<O> {
    /// Its value, once it is there.
    pub(super) fn later(self) -> Later<O::Output> {
        // It is used once, or only dropped.
        Box::new(AssertUnwindSafe(move || self.wait()))
    }

    /// Waits until the queue has reached its end, and returns the value.
    fn wait(self) -> Result<O::Output, Error> {
        let mut parts = vec![];
        if let Some((len, memory)) = self.hash {
            let mut hash = [0; HASH];
            memory.copy_to_host(0, &mut hash)?;
            parts.push(self.call.operation().part(len, &hash));
        }
        self.call.finish(parts)
    }
}
