//! Printers: a plan or a circuit in, text out, and a manifest of what was printed. Deterministic to the byte; what is
//! printed decides nothing.
//!
//! | file | idea |
//! |---|---|
//! | [`c`] | circuits as statements |
//! | [`bitsliced`] | kernels as text that is the same in every dialect |
//! | [`ghash`] | kernels of another function, from templates of their own |
//! | `conflict_free` | kernels as text for the memory of NVIDIA's GPUs |
//! | [`look_ups`] | what kernels that look tables up have in common |
//! | [`dialect`] | what is not the same: a page in front of the text |
//! | [`lut3`] | lookup tables as expressions |
//! | [`cuda`], [`opencl`] | a design and a dialect: source and manifest |
//! | [`manifest`], [`header`] | what is said of a source, in a file next to it and in its first lines |
//! | [`rust`] | the engine of the CPU |

pub mod bitsliced;
pub mod c;
mod conflict_free;
pub mod cuda;
pub mod dialect;
pub mod ghash;
pub mod header;
pub mod look_ups;
pub mod lut3;
pub mod manifest;
pub(crate) mod no_such_kernel;
pub mod opencl;
pub mod rust;

pub use no_such_kernel::NoSuchKernel;
