//! The kernels alone, from and to the memory of the GPU.

use std::time::Duration;

use aes_bitslice_runtime::{Engine, Error, Key};

use crate::args::BenchMode;

/// The time of each of `runs` runs of `mode` on `bytes` bytes of device memory; `None` for an engine without any.
pub fn kernel_only(
    _engine: &Engine,
    _mode: BenchMode,
    _key: &Key,
    _bytes: u64,
    _runs: usize,
) -> Result<Option<Vec<Duration>>, Error> {
    Ok(None)
}
