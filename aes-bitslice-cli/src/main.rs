//! `aes-bitslice`: encrypts files and streams with the bitsliced AES engine.
//!
//! ```text
//! aes-bitslice keygen --bits 256 -o key
//! aes-bitslice seal -k key -o data.sealed data
//! aes-bitslice open -k key -o data.again data.sealed
//! aes-bitslice encrypt --mode ctr --key-file key -o data.enc data
//! aes-bitslice decrypt --mode ctr --key-file key -o data.again data.enc
//! aes-bitslice encrypt --mode ctr --key-file key --out-dir encrypted *.tar
//! aes-bitslice keystream --bytes 1GiB --key-file key -o random
//! ```
//!
//! The output is byte-identical to `openssl enc` with the same mode, key and IV. The IV precedes it unless given with `--iv`. XTS, which
//! `openssl enc` does not have, takes no IV: sectors have numbers. The output of `keystream` is what `encrypt --mode ctr` makes of zeros;
//! its IV is printed on standard error.
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | failure: a file that is not sealed or was changed, bad padding, an engine that fails or disagrees with the reference, too little memory, no threads; failures of several kinds |
//! | 2 | usage: an unknown, missing or contradictory option; a range that the message does not have |
//! | 3 | key, passphrase, keyset or baked kernel: missing, unreadable, malformed, of a wrong length, or not the one that a file was sealed with |
//! | 4 | input or output: cannot be opened, read or written, exists already, is of a length that the mode does not take; a closed pipe |
//! | 5 | a GPU or an OpenCL device was asked for, and there is none |
//!
//! Signals end the process as they end any other, after the unfinished output file is removed ([`signals`]).
//!
//! A failure is one line on standard error; with `--out-dir`, one for each file that failed. A file given with `-o`, or made by
//! `--out-dir`, is always either complete or as it was before: the output grows in a temporary file in the same folder and takes its name
//! when it is synced ([`output`]). Standard output cannot be taken back: what was written before a failure stays written.
//!
//! # Modules
//!
//! Each module uses those below it, and none above:
//!
//! | module | idea |
//! |---|---|
//! | [`mod@seal`], [`crypt`] with [`many`], [`mod@keystream`], [`keygen`], [`info`], [`tune`], [`mod@bench`], [`pages`] | the commands |
//! | [`single`] | one stream by itself |
//! | [`context`], [`engine`], [`secret`] | a key on an engine, for all streams of a command |
//! | [`pipeline`] | streams in chunks, over threads |
//! | [`transform`], [`method`], [`padding`], [`segments`] | what is done to a stream |
//! | [`input`], [`output`], [`standard`], [`mod@chunk`], [`keys`], [`text`], [`baked`], [`progress`] | where bytes and keys come from and go to |
//! | [`descriptors`] | which files were open at the start |
//! | [`scratch`], [`terminal`], [`signals`], [`access`] | temporary files, a terminal that hides what is typed, what undoes both, and who may use an existing file |
//! | [`core_dumps`] | no core dumps of a process that has keys |
//! | [`args`] | the command line as types |
//! | [`modes`] | the modes: one file is one mode |
//! | [`error`] | what can go wrong |
// Two modules have `unsafe`: one writes files through mappings, the other asks which files were open at the start.
#![deny(unsafe_code)]

mod access;
mod args;
mod baked;
mod bench;
mod chunk;
mod context;
mod core_dumps;
mod crypt;
#[cfg(unix)]
#[allow(unsafe_code)]
mod descriptors;
mod engine;
mod error;
mod filled;
mod info;
mod input;
mod keygen;
mod keys;
mod keystream;
mod many;
mod method;
mod modes;
mod output;
mod padding;
mod pages;
mod pipeline;
mod progress;
mod scratch;
mod seal;
mod secret;
mod segments;
mod signals;
mod single;
mod standard;
mod sync;
mod terminal;
mod text;
mod transform;
mod tune;

use std::process::ExitCode;

use aes_bitslice_runtime::Direction;
use args::command::{self, Asked, Command};
use error::Error;

fn main() -> ExitCode {
    core_dumps::disable();
    if let Err(error) = signals::watch() {
        return Error::thread(error).report();
    }
    let outcome = command::parse().and_then(|asked| match asked {
        Asked::Command(command) => run(*command),
        Asked::Help(text) => pages::help(&text),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

fn run(command: Command) -> error::Result<()> {
    match command {
        Command::Encrypt(args) => crypt::run(Direction::Encrypt, &args),
        Command::Decrypt(args) => crypt::run(Direction::Decrypt, &args),
        Command::Seal(args) => seal::seal(&args),
        Command::Open(args) => seal::open(&args),
        Command::Keystream(args) => keystream::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Tune(args) => tune::command::run(&args),
        Command::Bench(args) => bench::command::run(&args.each_once()),
        Command::Completions(args) => pages::completions(&args),
        Command::Man(args) => pages::man(&args),
    }
}
