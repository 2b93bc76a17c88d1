//! The backends: where operations run.
//!
//! | module | idea |
//! |---|---|
//! | `cpu` | keys on the processor's cores: for its instructions, or bitsliced |
//! | `cuda` | the generated kernels on NVIDIA GPUs |
//! | `opencl` | the generated kernels on OpenCL devices |
//! | `device` | what the last two do in the same way, over a driver for each |
//!
//! `past_caches` copies staged data past the processor's caches.

#[forbid(unsafe_code)]
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
pub mod cuda;
#[cfg(any(feature = "cuda", feature = "opencl"))]
#[allow(unsafe_code)]
pub(crate) mod device;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
pub mod opencl;
#[cfg(any(feature = "cuda", feature = "opencl"))]
#[allow(unsafe_code)]
mod past_caches;
