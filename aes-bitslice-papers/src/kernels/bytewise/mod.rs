//! The cipher byte by byte, as the standard has it.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | where the S-box and the round keys lie, and who expands the key |
//! | `print` | the text |
//! | `*.h` | its templates |

mod print;
mod spec;

pub use spec::{BlockAccess, Bytewise, SboxMemory, ScheduleMemory};
