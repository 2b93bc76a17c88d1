//! The commands, their help, and the one-line form of what is wrong with a command line.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use super::bench::{self, BenchArgs};
use super::crypt::{self, CryptArgs};
use super::info::InfoArgs;
use super::key::KeygenArgs;
use super::keystream::{self, KeystreamArgs};
use super::tune::TuneArgs;
use crate::error::{Error, Result};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failure: bad padding, an engine that fails or disagrees with the reference;
     failures of several kinds
  2  usage: an unknown, missing or contradictory option
  3  key: missing, unreadable, not hexadecimal, or of a length AES does not have
  4  input or output: cannot be opened, read or written, exists already,
     is not whole blocks; a closed pipe
  5  a GPU was asked for and there is none
A signal ends it as it ends any program, after the unfinished output file is removed.";

const EXAMPLES: &str = "\
Examples:
  aes-bitslice keygen --bits 256 -o key
  aes-bitslice encrypt --mode ctr --key-file key --iv random -o data.enc data
  aes-bitslice decrypt --mode ctr --key-file key --iv stored -o data.again data.enc
  aes-bitslice encrypt --mode ctr --key-file key --out-dir encrypted *.tar
  aes-bitslice keystream --bytes 1GiB --key-file key --iv random -o random
  aes-bitslice info
  aes-bitslice tune
  aes-bitslice bench --modes ctr --sizes 1GiB";

/// Encrypts files and streams with AES on bit-planes, on a GPU where there is one, through CUDA or OpenCL, and on the CPU
/// otherwise.
#[derive(Parser, Debug)]
#[command(name = "aes-bitslice", version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Encrypt files or a stream, byte for byte as `openssl enc` does
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", crypt::EXAMPLES))]
    Encrypt(CryptArgs),
    /// Decrypt files or a stream, byte for byte as `openssl enc -d` does
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", crypt::EXAMPLES))]
    Decrypt(CryptArgs),
    /// Write the key stream of CTR, which without the key cannot be told from random bytes
    #[command(after_help = format!("{}\n\n{EXIT_CODES}", keystream::EXAMPLES))]
    Keystream(KeystreamArgs),
    /// Write a new random key to a new file that only its owner may read
    #[command(after_help = "Example:\n  aes-bitslice keygen --bits 256 -o key")]
    Keygen(KeygenArgs),
    /// Show the engines of this machine, which of them `auto` takes and why, and what is tuned
    Info(InfoArgs),
    /// Measure what is fastest on a GPU, and keep it for all that runs there from now on
    #[command(after_help = "\
Examples:
  aes-bitslice tune
  aes-bitslice tune --device 1 --seconds 60
  aes-bitslice tune --dry-run --json > tuning.json

Measures the kernels and their geometries on data in the memory of the GPU, and the GPU against the CPU on data in host
memory, transfers counted. Every output is compared with that of the `cpu` engine first: all of it up to 4 MiB, chunks from
start to end of what is larger. What was fastest is kept in the user's cache folder (or in that of AES_BITSLICE_CACHE) for
GPUs of this name with this driver and this version of the program. It holds no secret.")]
    Tune(TuneArgs),
    /// Measure the engines, after checking what they compute
    #[command(after_help = bench::HELP)]
    Bench(BenchArgs),
}

/// Parses the command line. `--help` and `--version` print and end the process.
pub fn parse() -> Result<Command> {
    let error = match Cli::try_parse() {
        Ok(cli) => return Ok(cli.command),
        Err(error) => error,
    };
    let text = error.render();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print().map_err(|error| Error::io("cannot write standard output", &error))?;
            std::process::exit(0)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<_> =
                Cli::command().get_subcommands().map(|command| command.get_name().to_string()).collect();
            Err(Error::usage(format!("no command given: {}; see --help", names.join(", "))))
        }
        _ => Err(Error::usage(one_line(&text.to_string()))),
    }
}

/// The message of clap and its tips as one line, without the usage, which `--help` shows.
fn one_line(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let told = paragraphs.filter(|p| !p.starts_with("Usage:") && !p.starts_with("For more information"));
    format!("{}; see --help", told.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
