//! The errors of the CUDA driver.

use aes_bitslice_runtime::cuda::cudarc::driver::DriverError;
use anyhow::{Error, anyhow};

/// An error of the driver, as a code: without a driver there is no text for it.
pub fn driver(error: DriverError) -> Error {
    anyhow!("CUDA: {:?}", error.0)
}
