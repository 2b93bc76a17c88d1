//! Modes of operation as the command line has them. A mode is one file, with one [`Mode`](mode::Mode), and, if `encrypt` has
//! it, its line in [`table::ALL`]: options, messages, streams and measurements go by these.
//!
//! | file | idea |
//! |---|---|
//! | `operation` | an operation of the runtime, whichever it is, on each kind of memory |
//! | `mode` | what is said of a mode |
//! | `ecb`, `cbc`, `ctr`, `xts` | the modes |
//! | `keystream` | the key stream of CTR alone, which reads nothing |
//! | `table` | all of them, and `--mode` |
//! | `measured` | those of one key that engines have kernels for, by direction: what `bench` and `tune` measure |

mod cbc;
pub mod ctr;
pub mod ecb;
pub mod keystream;
pub mod measured;
pub mod mode;
pub mod operation;
pub mod table;
mod xts;
