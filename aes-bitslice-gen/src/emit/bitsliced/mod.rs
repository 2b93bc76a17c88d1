//! Bitsliced kernels as text, the same in every dialect.
//!
//! The text that does not depend on the plan is in templates, the `.h` files next to this one; the printer adds the circuits as functions,
//! the cipher as calls of them, and the entry points of the mode. The text uses CUDA's terms (thread, thread block, warp, shared memory),
//! which [`crate::emit::dialect`] defines.
//!
//! | file | idea |
//! |---|---|
//! | `parts` | the parts of a kernel besides its plan: templates, sizes, and how the code reaches the round keys |
//! | `modes` | the parts of the generator's kernels: a row for each mode and layout |
//! | `keys` | how the code reaches the round keys, for each possible source |
//! | `own_keys` | the functions that kernels for many keys call in the basis of the plan |
//! | `cipher` | the steps of a plan as C |
//! | `print` | the whole kernel as one text |

mod cipher;
mod keys;
pub(crate) mod modes;
mod own_keys;
pub(crate) mod parts;
pub(crate) mod print;

pub use modes::{REPRESENTATION, parts};
pub use parts::{Batch, Geometry, KeyAccess, Parts};
pub use print::{print, print_parts, source};
