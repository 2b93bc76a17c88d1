//! `aes-bitslice`: encrypts files and streams with the bitsliced AES engine.
//!
//! ```text
//! aes-bitslice keygen --bits 256 -o key
//! aes-bitslice encrypt --mode ctr --key-file key --iv random -o data.enc data
//! aes-bitslice decrypt --mode ctr --key-file key --iv stored -o data.again data.enc
//! aes-bitslice encrypt --mode ctr --key-file key --out-dir encrypted *.tar
//! ```
//!
//! The output is byte for byte that of `openssl enc` with the same mode, key and IV, which `--iv random` puts in front of it.
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failure: bad padding, an engine that fails or disagrees with the reference; failures of several kinds |
//! | 2 | usage: an unknown, missing or contradictory option |
//! | 3 | key: missing, unreadable, not hexadecimal, or of a length AES does not have |
//! | 4 | input or output: cannot be opened, read or written, exists already, is not whole blocks; a closed pipe |
//! | 5 | a GPU was asked for and there is none |
//!
//! SIGINT and SIGTERM end the process as they end any other, after the unfinished output file is removed.
//!
//! A failure is one line on standard error, for each of the files of `--out-dir`. Whatever happens, a file given with
//! `-o`, or made by `--out-dir`, is either complete or as it was before: the output grows in a temporary file beside it
//! and takes its name when it is synced ([`output`]).
//! Standard output cannot be taken back: what was written before a failure stays written.
//!
//! # Rooms
//!
//! [`args`] is the command line as types; one module for each subcommand ([`crypt`] with [`many`], [`keygen`], [`info`],
//! [`tune`], [`mod@bench`]); below them the key on its engine ([`context`]), what is done to bytes ([`transform`]), where
//! they come from and go to ([`input`], [`output`]), how they get there ([`pipeline`], [`progress`]), [`keys`],
//! [`engine`] and [`error`].
// `unsafe` lives in one module only, which writes files through mappings.
#![deny(unsafe_code)]

mod args;
mod baked;
mod bench;
mod context;
mod crypt;
mod engine;
mod error;
mod info;
mod input;
mod keygen;
mod keys;
mod many;
mod output;
mod pipeline;
mod progress;
mod transform;
mod tune;

use std::process::ExitCode;

use aes_bitslice_runtime::Direction;
use args::Command;
use error::Error;

fn main() -> ExitCode {
    if let Err(error) = output::watch_signals() {
        return Error::io("cannot start a thread", &error).report();
    }
    let outcome = args::parse().and_then(|command| match command {
        Command::Encrypt(args) => crypt::run(Direction::Encrypt, &args),
        Command::Decrypt(args) => crypt::run(Direction::Decrypt, &args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Bench(args) => bench::run(&args),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
