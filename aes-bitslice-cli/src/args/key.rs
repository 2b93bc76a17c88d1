//! Where a key comes from, and options of `keygen`.

use std::path::PathBuf;

use aes_bitslice_runtime::KeyBits;
use clap::{Args, ValueEnum};

use super::numbers::parse_key_bits;

/// Where the key comes from. It has no place on the command line, which every user of the machine can read.
#[derive(Args, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    pub source: KeySource,
    /// Form of the key file: hex or raw
    #[arg(long, value_name = "FORMAT", default_value = "hex", hide_short_help = true)]
    pub key_format: KeyFormat,
}

/// One of the two, or, for a command that has it, --baked.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct KeySource {
    /// File with the key; `-` is standard input
    ///
    /// A key of 128, 192 or 256 bits: 32, 48 or 64 hexadecimal digits, or as --key-format says.
    #[arg(short, long, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
    /// Environment variable with the key in hexadecimal
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
}

/// Forms of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyFormat {
    /// Two hexadecimal digits for each byte of the key, and at most one newline
    Hex,
    /// The bytes of the key alone
    Raw,
}

/// Options of `keygen`.
#[derive(Args, Debug)]
pub struct KeygenArgs {
    /// Length of the key: 128, 192 or 256
    #[arg(short, long, value_parser = parse_key_bits)]
    pub bits: KeyBits,
    /// For --mode xts: two keys of this length, 128 or 256, one after the other
    #[arg(long)]
    pub xts: bool,
    /// New file, never an existing one; `-` is standard output
    ///
    /// Standard output gets the key if it is a pipe or a file, as for a program that stores secrets; not if it is a terminal.
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
}
