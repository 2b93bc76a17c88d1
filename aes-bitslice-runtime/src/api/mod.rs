//! The caller's types: an engine, a key on it, and calls.
//!
//! | file | idea |
//! |---|---|
//! | `auto` | choice of a backend where none is named |
//! | `engine` | an open backend |
//! | `keys` | loading a key on an engine |
//! | `printed` | loading printed kernels on an engine |
//! | `cipher` | a key on an engine, and the one call that takes any operation |
//! | `jobs` | calls under many keys |
//! | `named` | the same call under the names of modes, for host memory |
//! | `submit` | calls that return at once |
//! | `aead` | GCM, AES-GCM-SIV and XAES-256-GCM through the traits of the crate `aead` |
//! | `rng` | the key stream as random numbers |
//! | `host_buffer` | host memory that is fast for an engine |
//! | `cuda` | what only a CUDA engine supports |
//! | `opencl` | what only an OpenCL engine supports |
//! | `bake` | kernels with a key baked in, printed at run time |

#[cfg(feature = "aead")]
pub mod aead;
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
#[cfg(feature = "manifest")]
mod printed;
#[cfg(feature = "rand_core")]
pub mod rng;
pub mod submit;
