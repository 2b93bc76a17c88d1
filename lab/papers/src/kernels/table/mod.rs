//! Kernels with T-boxes, as in papers of 2010 to 2017: fast, and not constant-time ([`aes_bitslice_gen::table`] says what the time of a
//! look-up depends on).
//!
//! | file | idea |
//! |---|---|
//! | `spec` | a thread's part of the data, where tables and round keys are, and what the papers measured |
//! | `word_major` | blocks in the order of their words, and the paper's chain of CBC: Li et al. 2012 |
//! | `modes` | the templates of each mode |
//! | `print` | the text |
//! | `*.h` | its templates |

mod modes;
mod print;
mod spec;
mod word_major;

pub use spec::{Granularity, KeyMemory, Rounds, Staging, TableSpec, ThreadBlocks};
pub use word_major::WordMajor;
