//! The tests of the whole workspace: the default ones, which take a few minutes, or all.

use crate::cargo::Cargo;
use anyhow::{Result, ensure};
use std::path::Path;

/// The variables that require devices, and the modules of the unit tests that need such a device: these are always
/// ignored.
const DEVICES: [(&str, &str); 2] =
    [("AES_BITSLICE_REQUIRE_GPU", "cuda::"), ("AES_BITSLICE_REQUIRE_OPENCL", "opencl::")];

/// Make tests exhaustive, and have all cases proved, if they are set to anything other than an empty value or `0`.
const EVERYTHING: [(&str, &str); 2] = [("AES_BITSLICE_EXHAUSTIVE", "1"), ("AES_BITSLICE_PROOFS", "1")];

#[derive(clap::Args)]
pub struct Args {
    /// Everything: also the tests that are left out by default, and all cases of the others
    #[arg(long)]
    all: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let cargo = Cargo::new(root);
    let passed = if args.all {
        // A failing test program does not keep the others from running.
        let test = |options: &[&str]| cargo.test(&[&["--no-fail-fast"], options].concat(), &EVERYTHING);
        let absent = DEVICES.into_iter().filter(|(variable, _)| !is_set(variable)).map(|(_, tests)| tests);
        // One GPU is all that is required.
        let skipped = absent.chain(["several::"]).flat_map(|tests| ["--skip", tests]);
        let ignored: Vec<&str> = ["--", "--ignored"].into_iter().chain(skipped).collect();
        [test(&[])?, test(&ignored)?] == [true, true]
    } else {
        cargo.test(&[], &[])?
    };
    ensure!(passed, "tests failed");
    Ok(())
}

fn is_set(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| !["", "0"].contains(&value.as_str()))
}
