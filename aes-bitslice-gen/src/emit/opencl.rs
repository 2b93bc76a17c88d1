//! OpenCL C 1.2, for the GPUs of every vendor, and for CPUs. The entry points are those of [`super::cuda`], but data lies in
//! buffers at an offset, counted in what an entry point works on (blocks of 16 bytes, or bytes):
//!
//! ```text
//! ECB   NAME(in, in_at, out, out_at, blocks, keys)
//! CTR   NAME(in, in_at, out, out_at, blocks, counter, keys)     NAME_bytes(in, in_at, out, out_at, length, skip, counter, keys)
//! CBC   NAME(in, in_at, out, out_at, blocks, previous, previous_at, stride, iv, keys)
//! ```

use super::{Dialect, Printed, bitsliced, bytewise};
use crate::kernel::{Design, Plan};

/// A kernel that is not printed in OpenCL C.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no {kernel} in OpenCL C: its tables are laid out for the memory of NVIDIA's GPUs")]
pub struct NotInOpenCl {
    /// The kernel's name.
    pub kernel: String,
}

/// Prints a kernel. `command` is the command line that remakes it.
///
/// # Errors
/// [`NotInOpenCl`] for kernels with T-boxes.
pub fn print(design: &Design, command: &str) -> Result<Printed, NotInOpenCl> {
    match design {
        Design::Bitsliced(spec) => Ok(bitsliced::print(&Plan::new(spec), Dialect::OpenCl, command)),
        Design::Bytewise(spec) => Ok(bytewise::print(spec, Dialect::OpenCl, command)),
        Design::Table(_) | Design::ConflictFree(_) => Err(NotInOpenCl { kernel: design.name() }),
    }
}
