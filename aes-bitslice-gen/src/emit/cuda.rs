//! CUDA C that is also plain C11: the same text runs on a GPU and, for checks, on a CPU.
//!
//! | entry | alignment | unit |
//! |---|---|---|
//! | `NAME(...)` | 16 bytes | whole blocks |
//! | `NAME_bytes(...)` | any | if the state is data: whole blocks; if counters: bytes, starting anywhere in a block of key stream |
//!
//! The manifest lists the parameters of each.

use super::no_such_kernel::NoSuchKernel;
use super::{bitsliced, conflict_free, dialect, manifest};
use crate::kernel::design::Design;
use crate::kernel::plan::Plan;
use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use zeroize::Zeroizing;

/// Prints a kernel. `command` is the command line that regenerates it.
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

/// The definitions that printed text relies on, for circuits that are printed alone ([`super::c::function`]).
pub fn prelude() -> String {
    dialect::page(Dialect::Cuda, "")
}
