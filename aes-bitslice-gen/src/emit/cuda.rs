//! CUDA C, which is plain C11 too: the same text runs on a GPU and, to be checked, on a CPU.
//!
//! | entry | alignment | unit |
//! |---|---|---|
//! | `NAME(...)` | 16 bytes | whole blocks |
//! | `NAME_bytes(...)` | any | where the state is data: whole blocks; counters: bytes, starting anywhere in a block of key stream |
//!
//! What each takes is in its manifest.

use super::no_such_kernel::NoSuchKernel;
use super::{bitsliced, conflict_free, dialect, manifest};
use crate::kernel::design::Design;
use crate::kernel::plan::Plan;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use zeroize::Zeroizing;

/// Prints a kernel. `command` is the command line that remakes it.
///
/// # Errors
/// [`NoSuchKernel`] for a bitsliced kernel that its mode does not have.
pub fn print(design: &Design, command: &str) -> Result<Printed, NoSuchKernel> {
    match design {
        Design::Bitsliced(spec) => bitsliced::print::print(&Plan::new(spec), Dialect::Cuda, command),
        Design::ConflictFree(spec) => {
            let source = Zeroizing::new(conflict_free::source(spec, command));
            let manifest = manifest::conflict_free(spec, &source);
            Ok(Printed { source, manifest })
        }
    }
}

/// What printed text is written in, for circuits that are printed alone ([`super::c::function`]).
pub fn prelude() -> String {
    dialect::page(Dialect::Cuda, "")
}
