//! Code that the integration tests share.
//!
//! | module | idea |
//! |---|---|
//! | [`environment`] | the environment variables |
//! | [`fuzz`] | fuzzing with arbitrary bytes |
//! | [`harness`] | tests with needs that not every machine meets |
//! | [`engines`] | the engines under test |
//! | [`arrays`] | ranges of messages as arrays of integers |
//! | [`memory`] | where the data of a call is |
//! | [`messages`] | many messages, by another implementation, and the check of calls on them |
//! | [`device_calls`], [`counters`] | calls in GPU memory, by name; a profiler's counts of them |
//! | [`kernels`] | kernels as the generator prints them |
//! | [`cases`] | launches of kernels that are proved |
//! | [`outputs`] | whether a proof compares all of an output, and lets nothing else be written |
//! | [`formal`] | formal bits, for code that computes with words |
//! | [`operation`] | any operation as a value, and the reference's result |
//! | [`reference`](mod@reference) | the measure of every engine |
//! | [`others`] | modes from other implementations |
//! | [`vectors`] | published vectors |
#![forbid(unsafe_code)]

pub mod arrays;
pub mod cases;
pub mod counters;
pub mod device_calls;
pub mod engines;
pub mod environment;
pub mod formal;
pub mod fuzz;
pub mod harness;
pub mod kernels;
pub mod memory;
pub mod messages;
pub mod operation;
pub mod others;
pub mod outputs;
pub mod reference;
pub mod vectors;

pub use environment::exhaustive;

/// The programs in the README and in the guides: as documentation tests they are compiled and run.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/library.md")]
    struct Library;
}
