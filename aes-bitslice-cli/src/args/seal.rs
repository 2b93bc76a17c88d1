//! Options of `seal` and `open`.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `seal --help` and `open --help` end with.
pub const EXAMPLES: &str = "\
Examples:
  A file, and back:
    aes-bitslice keygen -b 256 -o key
    aes-bitslice seal -k key -o data.sealed data
    aes-bitslice open -k key -o data data.sealed
  With a passphrase, which is asked for:
    aes-bitslice seal --passphrase -o data.sealed data
  A folder, over a pipe:
    tar c folder | aes-bitslice seal -k key | ssh host 'cat > folder.tar.sealed'
  A thousand bytes of a large file:
    aes-bitslice open -k key --range 5000..6000 large.sealed
  A stream of a Tink library, with its keyset:
    aes-bitslice open --format tink --keyset keyset.json -o data data.tink

What to know:
  `open` fails if any byte of the file was changed. With -o no output appears then. On standard output, the segments before the
  changed one have been written: they are the true beginning of the message.
  A wrong key and a damaged file are told apart.
  A sealed file shows how long the message is, and how its key was made.";

/// What a file is sealed with.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// File with a key of 256 bits; `-` is standard input
    #[arg(short, long, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
    /// Environment variable with the key in hexadecimal
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
    /// Ask for a passphrase on the terminal
    #[arg(long)]
    pub passphrase: bool,
    /// File with a passphrase, of which the first line counts
    #[arg(long, value_name = "PATH")]
    pub passphrase_file: Option<PathBuf>,
    /// Tink keyset as JSON, in the clear; with --format tink
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub keyset: Option<PathBuf>,
}

/// Formats of sealed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A header that says how the key was made, and a Tink stream behind it
    Sealed,
    /// A Tink AES-GCM-HKDF stream alone
    Tink,
}

/// Options of both.
#[derive(Args, Debug)]
pub struct SealArgs {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Format of the sealed file
    #[arg(long, default_value = "sealed", hide_short_help = true)]
    pub format: Format,
    /// Text that is authenticated along with a Tink stream
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub associated_data: Option<String>,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Replace outputs that exist; write to a terminal
    #[arg(short, long)]
    pub force: bool,
    /// No progress bar and no warnings
    #[arg(short, long)]
    pub quiet: bool,
    /// Input file [default: standard input]
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
}

/// Options of `open`.
#[derive(Args, Debug)]
pub struct OpenArgs {
    #[command(flatten)]
    pub common: SealArgs,
    /// Bytes of the message, from the first to the one before the last, as in 5000..6000
    #[arg(long, value_name = "START..END", value_parser = parse_range)]
    pub range: Option<Range<u64>>,
}

fn parse_range(text: &str) -> Result<Range<u64>, String> {
    let numbers = text.split_once("..").and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    numbers
        .filter(|range: &Range<u64>| range.start <= range.end)
        .ok_or_else(|| "a range is two numbers of bytes, the first not larger, as in 5000..6000".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!((parse_range("0..0"), parse_range("5..600")), (Ok(0..0), Ok(5..600)));
        for bad in ["", "5", "..", "6..5", "-1..5", "a..b", "1..=2"] {
            assert!(parse_range(bad).is_err(), "{bad}");
        }
    }
}
