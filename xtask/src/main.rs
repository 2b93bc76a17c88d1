//! `cargo xtask`: tasks for this project beyond building and testing it.
//!
//! | command | file | idea |
//! |---|---|---|
//! | `gen`, `gen --check` | [`stored`] | the files that the kernels' crate stores, rebuilt or compared |
//! | `gen --key`, `gen --preset` | [`bake`] | kernels of a design, with a key in them, checked before they are written |
//! | `gen --device-header` | [`device_header`] | the cipher as a header for kernels of other programs |
//! | `circuits` | [`circuits`] | a table of the circuits |
//! | `ptx` | [`images`] | the stored kernels compiled with NVRTC, and what they take: [`sass`] counts instructions, [`ceilings`] says how much is allowed |
//! | `constant-time` | [`constant_time`] | that kernels called constant-time are: secrets are followed through PTX and machine code |
//! | `search` | [`search`] | circuits of fewer gates |
//! | `gpu-bundle` | [`bundle`] | test programs and the command line for a machine with a GPU and without Rust |
//! | `benchmarks` | [`benchmarks`] | BENCHMARKS.md, the README's table and their plot, printed from measured figures |
//! | `papers` | [`papers`] | the papers' tables on the GPU of this machine |
//! | `demo` | [`demo`] | the main job, from start to finish |
//! | `test`, `test --all` | [`mod@test`] | the tests of the whole workspace |
//!
//! [`scratch`] has temporary files and folders, and [`signals`] removes them when the process is interrupted: no key is left in one.
//! [`kernels`] has the kernels to store as they would be generated now, for `gen` and `ptx`.
//!
//! Nothing here depends on the runtime or on the stored kernels: their folder can be deleted and rebuilt.
//!
//! Exit codes: 0 done, 1 failure or something stale, 2 usage. A failure is one line on standard error.
#![forbid(unsafe_code)]

/// Prints a line. That it cannot be written is no reason to stop, nor to panic as `println!` does: work that has begun is finished, and its
/// temporary files are deleted. At the end it is a failure, unless the reader went away.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        if let Err(error) = writeln!(std::io::stdout(), $($text)*)
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            let _ = crate::LOST_OUTPUT.set(error);
        }
    }};
}

/// Why a line could not be printed.
static LOST_OUTPUT: std::sync::OnceLock<std::io::Error> = std::sync::OnceLock::new();

mod bake;
mod benchmarks;
mod bundle;
mod cargo;
mod ceilings;
mod circuits;
mod constant_time;
mod demo;
mod device_header;
mod files;
mod images;
mod kernels;
mod key;
mod papers;
mod sass;
mod scratch;
mod search;
mod signals;
mod stored;
mod test;

use aes_bitslice_core::layout::Layout;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Generates, checks and bundles the kernels")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Rebuild the stored kernels, or bake a key into new ones
    Gen(GenArgs),
    /// Print a table of the circuits: gates, depth, values alive
    Circuits,
    /// Search for circuits of fewer gates
    Search(search::Args),
    /// Compile the stored kernels with NVRTC and keep PTX, machine code and their cost
    Ptx(images::Args),
    /// Trace keys and data through the stored kernels, and fail where a branch, an address, a lane or a time depends on them
    ConstantTime(constant_time::Args),
    /// Put test programs, the command line and a script into target/gpu-bundle, for a machine with a GPU
    GpuBundle(bundle::Args),
    /// Print the measured figures into BENCHMARKS.md and the README, or take over new ones
    Benchmarks(benchmarks::Args),
    /// Measure the papers' tables on the GPU of this machine, and render docs/papers.md
    Papers(papers::Args),
    /// Bake a key, encrypt a file with the fastest engine of this machine, verify it, and decrypt it again
    Demo(demo::Args),
    /// Run the tests of the whole workspace
    Test(test::Args),
}

#[derive(clap::Args)]
struct GenArgs {
    /// Change nothing; fail with a diff if a stored file is not what would be generated
    #[arg(long, conflicts_with = "kernel")]
    check: bool,
    /// The cipher as a header for kernels of your own, written to target/device: a function of the device that encrypts blocks in registers
    ///
    /// --layout column, the default: a warp calls it on 256 blocks. --layout state: a thread calls it on 32 blocks.
    #[arg(long, group = "kernel", conflicts_with_all = ["key", "preset", "mode", "sbox", "dialect", "force", "check"])]
    device_header: bool,
    #[command(flatten)]
    bake: bake::Args,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprintln!("error: no command is given; `cargo xtask --help` lists them");
            return ExitCode::from(2);
        }
        Err(error) => {
            // Everything before the usage, in one line.
            let message = error.to_string();
            let lines: Vec<&str> = message.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
            eprintln!("{}", lines.join(" "));
            return ExitCode::from(2);
        }
    };
    if let Err(error) = signals::watch() {
        eprintln!("error: cannot wait for signals: {error}");
        return ExitCode::FAILURE;
    }
    let root = files::root();
    let outcome = match cli.command {
        Command::Gen(args) if args.check => stored::check(&root),
        Command::Gen(GenArgs { device_header: true, bake, .. }) => {
            device_header::run(&root, bake.layout.unwrap_or(Layout::Column), bake.out)
        }
        Command::Gen(args) if args.bake.key.is_some() || args.bake.preset.is_some() => {
            bake::run(&root, args.bake).map(drop)
        }
        Command::Gen(_) => stored::rebuild(&root),
        Command::Circuits => circuits::run(),
        Command::Search(args) => search::run(&root, &args),
        Command::Ptx(args) => images::run(&root, &args),
        Command::ConstantTime(args) => constant_time::run(&root, &args),
        Command::GpuBundle(args) => bundle::run(&root, &args),
        Command::Benchmarks(args) => benchmarks::run(&root, &args),
        Command::Papers(args) => papers::run(&root, &args),
        Command::Demo(args) => demo::run(&root, &args),
        Command::Test(args) => test::run(&root, &args),
    };
    let outcome = outcome.and_then(|()| match LOST_OUTPUT.get() {
        Some(error) => Err(anyhow::anyhow!("standard output cannot be written: {error}")),
        None => Ok(()),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
