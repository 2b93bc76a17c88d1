//! Printers: a plan or a circuit in, text and its manifest out. Deterministic to the byte; printing makes no decisions.
//!
//! | file | idea |
//! |---|---|
//! | [`c`] | circuits as statements |
//! | [`bitsliced`] | bitsliced kernels as text, the same in every dialect |
//! | [`ghash`] | kernels of another function, from their own templates |
//! | [`gcm`] | that function and counter mode in one kernel |
//! | `conflict_free` | table kernels as text for the memory of NVIDIA's GPUs |
//! | [`look_ups`] | the text that kernels with table look-ups share |
//! | [`dialect`] | the differences between dialects: a page in front of the text |
//! | [`lut3`] | lookup tables as expressions |
//! | [`cuda`], [`opencl`] | a design and a dialect: source and manifest |
//! | [`device`] | the cipher as a header, for kernels of other programs |
//! | [`manifest`], [`header`] | the description of a source, in a file next to it and in its first lines |
//! | [`rust`] | the engine of the CPU |

pub mod bitsliced;
pub mod c;
mod conflict_free;
pub mod cuda;
pub mod device;
pub mod dialect;
pub mod gcm;
pub mod ghash;
pub mod header;
pub mod look_ups;
pub mod lut3;
pub mod manifest;
pub(crate) mod no_such_kernel;
pub mod opencl;
pub mod rust;

pub use no_such_kernel::NoSuchKernel;
