//! One copy of the tables for each lane, so that no look-up waits for another, whatever the entries.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | the specification of such a kernel |
//! | `modes` | templates and sizes for each mode |
//! | `*.h` | the templates |

pub(crate) mod modes;
pub(crate) mod spec;

pub use spec::{ConflictFree, TableCount};
