//! Checks of what is about to be used: a plan by evaluation, a printed kernel by compiling and running it on the CPU.
//!
//! | check | what it can find |
//! |---|---|
//! | [`evaluate`] | circuits, steps and round keys that are not the cipher of FIPS 197 |
//! | [`printed`] | all of that, and what was printed wrongly: transposition, counters, indices, accesses beyond the data |
//! | [`printed_hash`] | what was printed wrongly of a hash kernel |
//! | [`printed_messages`] | what was printed wrongly of the entry points for many messages |
//! | [`printed_cmac`] | what was printed wrongly of the entry point for CMAC of many messages |
//! | [`printed_jobs`] | what was printed wrongly of the entry points for many keys |
//!
//! The printed kernel is plain C11 as well as CUDA C (see [`crate::emit::cuda`]); [`CompiledC`] compiles it with the C
//! compiler of the system and runs it over a whole grid. Data for the checks is key stream of the reference cipher
//! under the key that is checked, so that a check repeats exactly.
//!
//! | file | idea |
//! |---|---|
//! | `checks` | the two checks |
//! | `launch` | a launch of a printed kernel |
//! | `compiled` | a printed kernel as a program for the CPU |
//! | `library` | a printed kernel as a library, for programs that have the memory of its launches themselves |
//! | `hash` | a hash kernel as a program, and its check |
//! | `messages` | kernels for many messages as programs, and their check |
//! | `cmac` | a kernel for CMAC of many messages as a program, and its check |
//! | `jobs` | a kernel for many keys as a program, and its check |
//! | `unfinished` | compilers and folders that a signal must not leave behind |
//! | `calls` | the calls of its entry points in C, made of the manifest's parameters |
//! | `error` | what a check finds |
//! | `sample` | how much tests do |

mod calls;
mod checks;
mod cmac;
mod compiled;
mod error;
mod hash;
mod jobs;
mod launch;
mod library;
mod messages;
mod sample;
mod unfinished;

pub use checks::{evaluate, printed};
pub use cmac::printed_cmac;
pub use compiled::CompiledC;
pub use error::CheckError;
pub use hash::{CompiledHash, HashLaunch, printed_hash};
pub use jobs::printed_jobs;
pub use launch::{Access, Launch, Tweaks};
pub use messages::printed_messages;
pub use sample::exhaustive;
pub use unfinished::abandon;

// For tests of other crates of this project; not part of what this crate promises.
#[doc(hidden)]
pub use compiled::has_compiler;
#[doc(hidden)]
pub use library::library;
