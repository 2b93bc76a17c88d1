//! Bitsliced kernels with data and round keys staged through shared memory (Hajihassani et al. 2019).
//!
//! | file | idea |
//! |---|---|
//! | `spec` | mode and S-box, and the plan |
//! | `modes` | the templates of each mode |
//! | `print` | the parts beside the plan, and the text |
//! | `*.h` | the templates |

mod modes;
mod print;
mod spec;

pub use spec::Staged;
