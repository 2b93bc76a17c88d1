//! Options of `seal` and `open`.

use std::path::PathBuf;

use clap::{Arg, Args, ValueEnum};

use super::key::KeyFormat;
use super::numbers::parse_bytes;
use super::stream::StreamArgs;

/// What `seal --help` and `open --help` end with.
pub const EXAMPLES: &str = "\
Examples:
  A file, and back:
    aes-bitslice keygen -b 256 -o key
    aes-bitslice seal -k key -o data.sealed data
    aes-bitslice open -k key -o data.again data.sealed
  A thousand bytes of it:
    aes-bitslice open -k key --range 5000..6000 -o part data.sealed
  With a passphrase, which is asked for:
    aes-bitslice seal --passphrase -o words.sealed data
    aes-bitslice open --passphrase -o words.again words.sealed
  A folder, over a pipe:
    tar c folder | aes-bitslice seal -k key | ssh host 'cat > folder.sealed'
  A stream of a Tink library, with its keyset:
    aes-bitslice open --format tink --keyset keyset.json -o message data.tink

What to know:
  `open` fails if any byte of the file was changed. With -o no output appears
  then. On standard output, what was written before is the true beginning of
  the message, but need not reach to the change: it may be nothing at all.
  A wrong key and a damaged file are told apart, except with --format tink.
  A sealed file shows how long the message is, and how its key was made.
  The CPU does it unless --backend names another engine: its cores are about
  as fast as the way to one GPU and back. Any engine opens what another sealed.";

/// For messages, where a word after --passphrase may be meant as its value.
pub const IT_ASKS: &str = "--passphrase takes no value: it asks for the passphrase";

/// The secret that a file is sealed with.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct SecretArgs {
    /// File with a key of 256 bits; `-` is standard input
    ///
    /// 64 hexadecimal digits, or as --key-format says.
    #[arg(short, long, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
    /// Environment variable with the key in hexadecimal
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
    /// Ask for a passphrase on the terminal
    ///
    /// It has at most 1,023 bytes; a longer one can be in a file.
    #[arg(long)]
    pub passphrase: bool,
    /// File with a passphrase as its first line; `-` is standard input
    #[arg(long, value_name = "PATH")]
    pub passphrase_file: Option<PathBuf>,
    /// Tink keyset as JSON, in the clear, with --format tink; `-` is standard input
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub keyset: Option<PathBuf>,
}

/// Formats of sealed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A header that says how the key was made, then a Tink stream
    Sealed,
    /// A Tink AES-GCM-HKDF stream alone
    Tink,
}

/// `--backend` for these commands.
pub fn backend(arg: Arg) -> Arg {
    arg.help("Engine: cpu (default), cuda, opencl, cpu-bitsliced").long_help(
        "Engine: cpu (default), cuda, opencl, cpu-bitsliced\n\n\
         One of cpu, cuda, cuda:N, cuda:all, opencl, opencl:P.D and cpu-bitsliced. `auto` is the CPU: for data that comes from files its \
         cores are about as fast as the way to a GPU and back. `aes-bitslice info` lists the devices and their numbers.",
    )
}

/// Options of both.
#[derive(Args, Debug)]
pub struct SealArgs {
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Form of the key file: hex or raw
    #[arg(long, value_name = "FORMAT", default_value = "hex", hide_short_help = true)]
    #[arg(conflicts_with_all = ["passphrase", "passphrase_file", "keyset"])]
    pub key_format: KeyFormat,
    /// Format of the sealed file
    #[arg(long, default_value = "sealed", hide_short_help = true)]
    pub format: Format,
    /// Text that is authenticated along with a Tink stream
    #[arg(long, value_name = "TEXT", hide_short_help = true)]
    pub associated_data: Option<String>,
    #[command(flatten)]
    pub stream: StreamArgs,
    /// Bytes of the input to read, from its start [default: all]
    ///
    /// For a disk or a file on which something else follows what was written. As a number, or with KiB, MiB, GiB, TiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, hide_short_help = true)]
    pub length: Option<u64>,
    /// Input file [default: standard input]
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,
}

/// Options of `open`.
#[derive(Args, Debug)]
pub struct OpenArgs {
    #[command(flatten)]
    pub common: SealArgs,
    /// Only these bytes of the message
    ///
    /// START is the first one, counted from 0, and END is one past the last: 0..100 are the first hundred bytes. Without START they
    /// begin with the first, without END they reach to the end of the message.
    #[arg(long, value_name = "START..END", value_parser = parse_range)]
    pub range: Option<Bytes>,
    /// Print how many bytes the message has, and not the message
    ///
    /// The number is authentic: the last segment is opened.
    #[arg(long, conflicts_with_all = ["range", "output"], hide_short_help = true)]
    pub message_bytes: bool,
}

/// Bytes of a message: from `start` up to `end`, which is not one of them, or up to the end of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    pub start: u64,
    pub end: Option<u64>,
}

fn parse_range(text: &str) -> Result<Bytes, String> {
    // `parse` alone would accept a sign.
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|digit| digit.is_ascii_digit()));
    let [dashed, dotted] = ["-", ".."].map(|sign| text.split_once(sign));
    if let Some((start, end)) = dashed.filter(|&(start, end)| number(start).is_some() && number(end).is_some()) {
        return Err(format!("a range is written with two dots, as {start}..{end}; the byte {end} is not in it"));
    }
    let range = dotted.and_then(|(start, end)| {
        let start = if start.is_empty() { 0 } else { number(start)? };
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        Some(Bytes { start, end })
    });
    range.filter(|range| range.end.is_none_or(|end| range.start <= end)).ok_or_else(|| {
        "a range is START..END in bytes, END not before START and less than 2^64, as in 5000..6000, 5000.. or ..6000; the byte END is not in it".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let most = u64::MAX;
        for (text, start, end) in [
            ("0..0", 0, Some(0)),
            ("5..600", 5, Some(600)),
            ("5..", 5, None),
            ("..5", 0, Some(5)),
            ("..", 0, None),
            (&format!("{most}..{most}"), most, Some(most)),
        ] {
            assert_eq!(parse_range(text), Ok(Bytes { start, end }), "{text}");
        }
        let past = format!("{}0..", most);
        for bad in
            ["", "5", "6..5", "-1..5", "+1..5", "a..b", "1..=2", "1...2", "1..2..3", "0..18446744073709551616", &past]
        {
            assert!(parse_range(bad).is_err(), "{bad}");
        }
        let told = |text| parse_range(text).unwrap_err().contains("with two dots");
        assert!(told("5-6") && !told("5-x") && !told("x-6"));
    }
}
