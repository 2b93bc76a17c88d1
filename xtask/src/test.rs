//! The tests of the whole workspace: those of a few minutes, or all there are.

use crate::cargo::Cargo;
use anyhow::{Result, ensure};
use std::path::Path;

/// Makes tests do all there is to do, where it is set to anything but nothing and `0`.
const EXHAUSTIVE: &str = "AES_BITSLICE_EXHAUSTIVE";

#[derive(clap::Args)]
pub struct Args {
    /// Everything: the tests that are left out by default, and all that the others can do
    #[arg(long)]
    all: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let (options, environment): (&[&str], &[(&str, &str)]) = match args.all {
        // A program whose tests fail does not keep the others from running.
        true => (&["--no-fail-fast", "--", "--include-ignored"], &[(EXHAUSTIVE, "1")]),
        false => (&[], &[]),
    };
    ensure!(Cargo::new(root).test(options, environment)?, "tests failed");
    Ok(())
}
