//! Tables in as many copies as there are lanes, so that no look-up waits for another, whatever is looked up.
//!
//! | file | idea |
//! |---|---|
//! | `spec` | what such a kernel is |
//! | `modes` | what there is for each mode: templates and sizes |
//! | `*.h` | the templates |

pub(crate) mod modes;
pub(crate) mod spec;

pub use spec::{ConflictFree, TableCount};
