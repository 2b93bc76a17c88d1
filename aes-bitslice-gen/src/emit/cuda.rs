//! CUDA C, which is plain C11 too: the same text runs on a GPU and, to be checked, on a CPU.
//!
//! | entry | alignment | unit |
//! |---|---|---|
//! | `NAME(in, out, blocks, ...)` | 16 bytes | whole blocks |
//! | `NAME_bytes(in, out, ...)` | any | ECB and CBC: whole blocks; CTR: bytes, starting anywhere in a block of key stream |

use super::{Dialect, Manifest, Printed, bitsliced, bytewise, conflict_free, table};
use crate::kernel::{Design, Plan};
use zeroize::Zeroizing;

/// Prints a kernel. `command` is the command line that remakes it.
pub fn print(design: &Design, command: &str) -> Printed {
    match design {
        Design::Bitsliced(spec) => bitsliced::print(&Plan::new(spec), Dialect::Cuda, command),
        Design::Bytewise(spec) => bytewise::print(spec, Dialect::Cuda, command),
        Design::ConflictFree(spec) => {
            let source = Zeroizing::new(conflict_free::source(spec, command));
            let manifest = Manifest::conflict_free(spec, &source);
            Printed { source, manifest }
        }
        Design::Table(spec) => {
            let source = Zeroizing::new(table::source(spec, command));
            let manifest = Manifest::table(spec, &source);
            Printed { source, manifest }
        }
    }
}

/// What printed text is written in, for circuits that are printed alone ([`super::c::function`]).
pub fn prelude() -> String {
    Dialect::Cuda.page("")
}
