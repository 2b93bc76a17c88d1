//! A mode with a key, and its rate.

use std::time::Duration;

use aes_bitslice_runtime::{Key, Mode};

use crate::bench::report::min_and_median;
use crate::bench::start::start;
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;
use crate::modes::operation::AnyOperation;

/// The subject that each kernel and engine is measured with.
pub struct Subject {
    pub mode: MeasuredMode,
    pub kernels: Mode,
    pub key: Key,
}

impl Subject {
    /// The operation on a whole input.
    pub fn operation(&self) -> Box<dyn AnyOperation> {
        self.mode.operation(&start(Sectors::DEFAULT))
    }
}

/// The rate of the median of runs that took these `times` for `bytes` bytes each, in 10^9 bytes a second.
pub fn rate(bytes: u64, times: Vec<Duration>) -> f64 {
    bytes as f64 / min_and_median(times).1 / 1e9
}
