//! `bench`: how fast the engines are, once they are known to be right.
//!
//! Inputs are random, keys are random, and every output is compared, all of it, with the `cpu` engine's before
//! its case is timed and again after the last run: for more than 4 GiB in GPU memory, chunks from start to end. Everything that is timed
//! has run before.
//!
//! | file | idea |
//! |---|---|
//! | `command` | what is measured, and in which order |
//! | `subject` | an engine, and what is kept on it from case to case |
//! | `engines`, `keys`, `sizes` | what is requested |
//! | `case` | a mode with a key, and whether an engine computes it correctly |
//! | `host` | whole calls on host memory |
//! | `memory` | memory of devices, of one of these kinds |
//! | `cuda` | memory of a CUDA GPU: kernels alone; new keys |
//! | `described` | messages that arrays in the memory of a CUDA GPU describe |
//! | `opencl` | memory of an OpenCL device: kernels alone |
//! | `sharded` | memory sharded over several CUDA GPUs: whole calls |
//! | `copy` | the throughput of the links to GPUs: the ceiling of whole calls on them |
//! | `files` | whole commands on files, compared with other programs |
//! | `baked` | kernels with their key baked in |
//! | `host_data` | inputs, outputs, and what is expected |
//! | `chunks` | the chunks that are compared of data that is too large to compare as a whole |
//! | `cores` | filling and comparing on all cores |
//! | `random` | random bytes, fast |
//! | `start` | the start of everything that is measured: its IV, its sectors |
//! | `warm_up` | runs that are not timed |
//! | `report` | the results as a table and as JSON |
//! | `plot` | throughput over size as SVG |

mod baked;
pub mod case;
pub mod chunks;
pub mod command;
mod copy;
pub mod cores;
pub mod cuda;
mod described;
mod engines;
mod files;
pub mod host;
pub mod host_data;
mod keys;
mod memory;
mod opencl;
mod plot;
mod random;
pub mod report;
mod sharded;
mod sizes;
pub mod start;
mod subject;
pub mod warm_up;
