//! Where a table lies.

use std::fmt;

/// Where the tables lie.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableMemory {
    /// In constant memory.
    Constant,
    /// In shared memory, once a thread block.
    Shared,
}

impl fmt::Display for TableMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Constant => "constant",
            Self::Shared => "shared",
        })
    }
}
