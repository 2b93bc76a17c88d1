//! The cipher byte by byte, as the standard has it.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | where the S-box lies, and who expands the key |
//! | `print` | the text |
//! | `*.h` | its templates |

mod print;
mod spec;

pub use spec::{Bytewise, KeyExpansion};
