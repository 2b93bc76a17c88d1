//! What a caller has: an engine, a key on it, and calls.
//!
//! | file | idea |
//! |---|---|
//! | `auto` | which backend is taken where none is named |
//! | `engine` | a backend that was opened |
//! | `keys` | what brings keys to an engine |
//! | `cipher` | a key on an engine, and the one call that takes any operation |
//! | `jobs` | calls under many keys |
//! | `named` | the same call by the names of modes, for host memory |
//! | `submit` | calls that return at once |
//! | `rng` | key stream as random numbers |
//! | `host_buffer` | host memory that is fast for an engine |
//! | `cuda` | what only a CUDA engine answers |
//! | `opencl` | what only an OpenCL engine answers |
//! | `bake` | kernels with a key baked in, printed at run time |

mod auto;
#[cfg(feature = "bake")]
mod bake;
pub mod cipher;
#[cfg(feature = "cuda")]
mod cuda;
pub mod engine;
pub mod host_buffer;
mod jobs;
mod keys;
mod named;
#[cfg(feature = "opencl")]
mod opencl;
pub mod rng;
pub mod submit;
