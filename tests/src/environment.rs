//! The environment variables that control the tests, and how much the tests do.

pub use aes_bitslice_gen::check::{all_or, exhaustive, has_turn, sample, turn};
use proptest::test_runner::{Config, RngSeed};
use std::io::Write;

/// Makes the absence of a GPU, or of anything its tests need, a failure.
pub const REQUIRE_GPU: &str = "AES_BITSLICE_REQUIRE_GPU";
/// Makes the absence of an OpenCL device a failure.
pub const REQUIRE_OPENCL: &str = "AES_BITSLICE_REQUIRE_OPENCL";
/// The OpenCL device under test, as in `1.0`: the second platform's first.
pub const OPENCL: &str = "AES_BITSLICE_OPENCL";
/// The program that runs the tests, with its options, if one does: an emulator.
pub const RUN_BY: &str = "AES_BITSLICE_RUN_BY";
/// Leaves out slow GPU tests, for runs under compute-sanitizer.
pub const SMALL: &str = "AES_BITSLICE_SMALL";
/// Adds buffers of more than 4 GiB and of more than 2^32 blocks of GPU memory.
pub const LARGE: &str = "AES_BITSLICE_LARGE";
/// Proves the stored kernels in every case, and finds all faults that are prepared; otherwise in a sample. Any value but `1` is a
/// part of names of kernels: `every_stored_kernel` and `stolen` of `every_length` prove [these](proves) alone.
pub const PROOFS: &str = "AES_BITSLICE_PROOFS";
/// Tries every mutant of the printed kernels, some 8,000; otherwise a sample.
pub const MUTANTS: &str = "AES_BITSLICE_MUTANTS";

/// Whether a switch is set to anything other than an empty value or `0`.
pub fn is_set(switch: &str) -> bool {
    std::env::var(switch).is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}

/// Whether a kernel with this name is proved: every one, unless [`PROOFS`] is a part of names, and not of this one.
pub fn proves(kernel: &str) -> bool {
    !is_set(PROOFS) || std::env::var(PROOFS).is_ok_and(|names| names == "1" || kernel.contains(&names))
}

/// Whether slow GPU tests are left out.
pub fn small() -> bool {
    is_set(SMALL)
}

/// All of a list in exhaustive runs, else a [sample] of one in `step`.
pub fn all_or_every<T>(step: usize, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    sample(0, all_or(1, step), list)
}

/// All of a list in exhaustive runs, else the one whose turn it is; with another `first`, another one.
pub fn all_or_one<T, const N: usize>(first: usize, list: [T; N]) -> impl Iterator<Item = T> {
    sample(first, all_or(1, N), list)
}

/// The configuration of a random test with this number of cases, others in each turn. It writes no files.
pub fn random(cases: u32) -> Config {
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(turn() as u64), ..Config::default() }
}

/// Prints it on standard error, past the capture of passing tests' output.
pub fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "\n{what}");
}
