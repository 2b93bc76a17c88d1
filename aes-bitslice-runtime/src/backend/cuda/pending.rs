//! The value that a call on device memory returns besides its output: it is available once the stream has reached it.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::backend::cuda::memory::hash_memory::HashMemory;
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::op::operation::Operation;

/// The value that a call on device memory returns, such as a tag, available once the caller's stream has reached it.
///
/// Dropping it waits for that point of the stream.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation> {
    call: Call<O>,
    results: Results,
    /// The key of the call, where it has its own: work on the stream reads its tables.
    _own: Option<DeviceKey>,
}

/// The data from which the value is computed, once available.
pub(crate) enum Results {
    /// Nothing: the data is empty.
    None,
    /// The hash of this number of bytes.
    Hash(u64, HashMemory),
    /// The results of a batch.
    Batch(BatchMemory),
}

impl<O: Operation> Pending<O> {
    pub(crate) fn new(call: Call<O>, results: Results, own: Option<DeviceKey>) -> Self {
        Self { call, results, _own: own }
    }

    /// Waits until the stream has reached it, and returns the value.
    ///
    /// # Errors
    /// Any error of the operation, and any error the driver reports.
    pub fn wait(self) -> Result<O::Output, Error> {
        let parts = match self.results {
            Results::None => vec![],
            Results::Hash(len, memory) => vec![self.call.operation().part(len, &memory.read()?)],
            Results::Batch(memory) => vec![self.call.operation().part_of_batch(&memory.read()?)],
        };
        self.call.finish(parts)
    }
}
