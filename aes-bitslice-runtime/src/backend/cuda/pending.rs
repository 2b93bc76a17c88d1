//! The value that a call on device memory returns besides its output: it is available once the stream has reached it.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::backend::cuda::memory::hash_memory::HashMemory;
use crate::backend::cuda::memory::tag_results::TagResult;
use crate::base::error::Error;
use crate::exec::call::Call;
use crate::op::operation::{Operation, Pass, Ready};
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe};

/// The value that a call on device memory returns, such as a tag, available once the caller's stream has reached it; for a batch, once the
/// results were then copied to the host, which the stream does not wait for.
///
/// Dropping a tag waits for nothing, nor does dropping a verdict of one launch, unless hundreds of dropped tags are still to be made. Dropping
/// any other value waits for that point of the stream, and so does dropping the value of a call that had a key of its own. Until then it
/// keeps the keys of [`Jobs`](crate::Jobs) and [`GcmJobs`](crate::GcmJobs), which are wiped when it is dropped.
#[must_use = "the value comes through it"]
pub struct Pending<O: Operation>(pub(crate) Later<O::Output>);

impl<O: Operation> Pending<O> {
    /// Waits until the stream has reached it, and returns the value.
    ///
    /// # Errors
    /// Any error of the operation, and any error the driver reports.
    pub fn wait(self) -> Result<O::Output, Error> {
        (self.0)()
    }
}

/// A value that is waited for when it is asked for.
pub(crate) type Later<V> = Box<dyn FnOnce() -> Result<V, Error> + Send + UnwindSafe + RefUnwindSafe>;

/// A pass that is on a stream.
pub(crate) struct Started<O: Pass> {
    pub(crate) call: Call<O>,
    /// The key of the call, where it has its own: work on the stream reads its tables. Dropping it waits for that work, before the results are dropped.
    pub(crate) _own: Option<DeviceKey>,
    pub(crate) results: Results,
}

/// The data from which the value is computed, once available.
pub(crate) enum Results {
    /// Nothing: the data is empty.
    None,
    /// The hash of this number of bytes.
    Hash(u64, HashMemory),
    /// The terms that are a tag, or a verdict, of one launch.
    Terms(TagResult),
    /// Those that are a tag, of several launches.
    Sum(HashMemory),
    /// The results of a batch.
    Batch(BatchMemory),
}

impl<O: Pass> Started<O> {
    /// What becomes of its value, once it is there.
    pub(crate) fn later<V>(self, value: impl FnOnce(O::Output) -> V + Send + 'static) -> Later<V> {
        // It is used once, or only dropped.
        Box::new(AssertUnwindSafe(move || self.wait().map(value)))
    }

    /// Waits until the stream has reached its end, and returns the value.
    pub(crate) fn wait(self) -> Result<O::Output, Error> {
        let of_terms = |terms| {
            let none = || Error::WrongCall { operation: "an operation without a tag", call: "run" };
            self.call.operation().of_terms(terms).ok_or_else(none)?
        };
        let parts = match self.results {
            Results::None => vec![],
            Results::Hash(bytes, memory) => vec![self.call.operation().part(bytes, &memory.read()?)],
            Results::Terms(result) => return of_terms(result.read()?),
            Results::Sum(memory) => return of_terms(memory.read()?),
            Results::Batch(memory) => vec![memory.read(|results| self.call.operation().part(0, results))?],
        };
        self.call.finish(parts)
    }
}
