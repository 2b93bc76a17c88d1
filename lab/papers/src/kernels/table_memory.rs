//! Where a table is.

use std::fmt;

/// Where the tables are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableMemory {
    /// In constant memory.
    Constant,
    /// In shared memory, once per thread block.
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
