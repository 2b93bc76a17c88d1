//! OpenCL C 1.2, for the GPUs of every vendor, and for CPUs. The entry points are those of [`super::cuda`], but data is in buffers at an
//! offset, counted in the unit of the entry point (blocks of 16 bytes, or bytes): a pointer is two arguments, `in, in_at`
//! ([`aes_bitslice_core::signature`]).

use super::bitsliced;
use super::no_such_kernel::NoSuchKernel;
use crate::kernel::design::Design;
use crate::kernel::plan::Plan;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;

/// Prints a kernel. `command` is the command line that regenerates it.
///
/// # Errors
/// [`NoSuchKernel`] for kernels with T-boxes, and for a bitsliced kernel that its mode does not have.
pub fn print(design: &Design, command: &str) -> Result<Printed, NoSuchKernel> {
    match design {
        Design::Bitsliced(spec) => bitsliced::print::print(&Plan::new(spec), Dialect::OpenCl, command),
        Design::ConflictFree(_) => Err(NoSuchKernel::OpenCl { kernel: design.name() }),
    }
}
