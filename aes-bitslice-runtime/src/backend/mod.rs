//! Where operations are done, by backend.
//!
//! | module | idea |
//! |---|---|
//! | `cpu` | the `aes` and `ctr` crates on the cores of the processor |
//! | `bitsliced` | the generated engine on vectors of the processor |
//! | `cuda` | the generated kernels on NVIDIA GPUs |
//! | `opencl` | the same on devices behind OpenCL |
//!
//! `past_caches` is a copy past the processor's caches, out of what is staged.

#[allow(unsafe_code)]
pub mod bitsliced;
#[forbid(unsafe_code)]
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
pub mod cuda;
#[cfg(feature = "opencl")]
#[allow(unsafe_code)]
pub mod opencl;
#[cfg(any(feature = "cuda", feature = "opencl"))]
#[allow(unsafe_code)]
mod past_caches;
