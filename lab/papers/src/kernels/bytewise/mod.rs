//! The cipher byte by byte, as in the standard.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | where the S-box and the round keys are, and who expands the key |
//! | `print` | the text |
//! | `*.h` | its templates |

mod print;
mod spec;

pub use spec::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};
