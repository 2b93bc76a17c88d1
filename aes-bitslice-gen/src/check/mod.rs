//! Checks before use: of a plan by evaluation, of a printed kernel by compiling and running it on the CPU.
//!
//! | check | faults it can find |
//! |---|---|
//! | [`evaluate`] | circuits, steps and round keys that are not the cipher of FIPS 197 |
//! | [`printed`] | all of that, and printing faults: transposition, counters, indices, accesses beyond the data |
//! | [`printed_hash`] | printing faults of a hash kernel |
//! | [`printed_gcm`], [`printed_gcm_batch`] | printing faults of the kernel of GCM in one launch, and of its entry points for many messages |
//! | [`printed_messages`] | printing faults of the entry points for many messages |
//! | [`printed_descriptions`] | printing faults of the entry points for messages that arrays describe |
//! | [`printed_cmac`] | printing faults of the entry point for CMAC of many messages |
//! | [`printed_jobs`] | printing faults of the entry points for many keys |
//!
//! The printed kernel is plain C11 as well as CUDA C (see [`crate::emit::cuda`]); [`CompiledC`] compiles it with the C
//! compiler of the system and runs it over a whole grid. Data for the checks is key stream of the reference cipher
//! under the key being checked, so that a check is reproducible.
//!
//! | file | idea |
//! |---|---|
//! | `checks` | the two checks |
//! | `launch` | a launch of a printed kernel |
//! | `compiled` | launches of a kernel of a cipher |
//! | `hash` | launches of a hash kernel, and its check |
//! | `gcm` | the check of the kernel of GCM in one launch |
//! | `gcm_batch` | the check of its entry points for many messages |
//! | `batches` | the batches of messages for that and the next check |
//! | `messages` | the check of kernels for many messages |
//! | `described` | the check of kernels for messages that arrays describe |
//! | `cmac` | the check of a kernel for CMAC of many messages |
//! | `jobs` | the check of a kernel for many keys |
//! | `program` | a printed kernel as a program for the CPU, whose entry points all of these launch |
//! | `library` | a printed kernel as a library, for programs that manage the memory of its launches themselves |
//! | `compiler` | the C compiler |
//! | `unfinished` | compilers and folders that a signal must not leave behind |
//! | `private_folder` | such folders, and those of killed processes |
//! | `error` | errors of a check |
//! | `faults` | for tests: faults that a check must find |
//! | `sample` | how much the tests cover |

mod batches;
mod checks;
mod cmac;
mod compiled;
mod compiler;
mod described;
mod error;
mod faults;
mod gcm;
mod gcm_batch;
mod hash;
mod jobs;
mod launch;
mod library;
mod messages;
mod private_folder;
mod program;
mod sample;
mod unfinished;

pub use checks::{evaluate, printed};
pub use cmac::printed_cmac;
pub use compiled::CompiledC;
pub use described::printed_descriptions;
pub use error::CheckError;
pub use gcm::printed_gcm;
pub use gcm_batch::printed_gcm_batch;
pub use hash::{CompiledHash, HashLaunch, printed_hash};
pub use jobs::printed_jobs;
pub use launch::{Access, Launch, Tweaks};
pub use messages::printed_messages;
pub use sample::{all_or, exhaustive, has_turn, sample, turn};
pub use unfinished::abandon;

// For other crates of this project; not part of this crate's public API.
#[doc(hidden)]
pub use compiler::has_compiler;
#[doc(hidden)]
pub use faults::{faults_show, missing_barriers_show};
#[doc(hidden)]
pub use library::library;
#[doc(hidden)]
pub use private_folder::PrivateFolder;
