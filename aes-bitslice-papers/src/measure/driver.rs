//! The errors of the CUDA driver.

use aes_bitslice_runtime::cuda::cudarc::driver::DriverError;
use anyhow::{Error, anyhow};

/// An error of the driver, which has no words for it where there is no driver.
pub fn driver(error: DriverError) -> Error {
    anyhow!("CUDA: {:?}", error.0)
}
