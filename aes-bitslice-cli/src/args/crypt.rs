//! Options of `encrypt` and `decrypt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::key::KeyArgs;
use super::stream::StreamArgs;
use crate::modes::mode::Mode;

/// What `encrypt --help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  A file, on the engine that is fastest for it; the IV stands in front of the ciphertext:
    aes-bitslice encrypt --mode ctr --key-file key --iv random -o data.enc data
  And back:
    aes-bitslice decrypt --mode ctr --key-file key --iv stored -o data data.enc
  Many files into a folder, each with an IV of its own, and back:
    aes-bitslice encrypt --mode ctr --key-file key --out-dir encrypted *.tar
    aes-bitslice decrypt --mode ctr --key-file key --out-dir . encrypted/*.tar
  A stream, with the key from the environment, and an IV that is kept elsewhere:
    tar c folder | aes-bitslice encrypt --mode ctr --iv $IV --key-env KEY | ssh host 'cat > folder.tar.enc'
  A file of any length in whole blocks, and back:
    aes-bitslice encrypt --mode cbc --padding pkcs7 --key-file key --iv random -o data.enc data
    aes-bitslice decrypt --mode cbc --padding pkcs7 --key-file key --iv stored -o data data.enc
  The same bytes from OpenSSL, for a key of 128 bits, where the IV is given:
    aes-bitslice encrypt --mode ctr --key-file key --iv 000102030405060708090a0b0c0d0e0f -o data.enc data
    openssl enc -aes-128-ctr -K $(cat key) -iv 000102030405060708090a0b0c0d0e0f -in data -out data.enc

What to know:
  No mode authenticates: a change of the ciphertext changes the plaintext, and nothing tells.
  CTR with the same key and overlapping counters twice gives both plaintexts away. An IV is the first counter
  block, and a message of N bytes uses N/16 of them from there on.
  CBC needs an IV that nobody can foretell: random digits, new for every message. If others learn whether the
  padding was right, by exit code or by time, they can have any ciphertext decrypted: check a MAC first. Its
  encryption is serial and runs on one core of the CPU, on every engine; its decryption runs on any.
  ECB shows which blocks are equal. Use it for what needs it, not for messages.
  A file given with -o, or made by --out-dir, appears complete or not at all. Standard output cannot be taken back:
  after a failure, what was written to it before must be thrown away.
  With --out-dir a file that fails does not keep the others. Each failure is a line that names the file, and the exit code
  is that of the failures, or 1 if they are of several kinds.";

/// Options of `encrypt` and `decrypt`.
#[derive(Args, Debug)]
pub struct CryptArgs {
    /// Mode of operation
    #[arg(long)]
    pub mode: &'static Mode,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Initial counter block of CTR, initialization vector of CBC: `random` to make one and store it in front of the
    /// ciphertext, `stored` to read it from there (both the default with --out-dir), or 32 hexadecimal digits; to encrypt
    /// with CTR, of one never used before with the same key, with CBC, of one that nobody can foretell
    #[arg(long, value_name = "IV", value_parser = parse_iv)]
    pub iv: Option<IvName>,
    /// Padding of modes that take whole blocks
    #[arg(long, default_value = "none")]
    pub padding: PaddingName,
    #[command(flatten)]
    pub stream: StreamArgs,
    /// Folder for the outputs of any number of input files, each under the name of its input
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub out_dir: Option<PathBuf>,
    /// Input file [default: standard input]; more than one with --out-dir
    #[arg(value_name = "IN")]
    pub inputs: Vec<PathBuf>,
}

/// Where an IV comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IvName {
    /// The command line
    Given([u8; 16]),
    /// The system's random number generator; it is stored in front of the output
    Random,
    /// The front of the input
    Stored,
}

/// Paddings of modes that take whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaddingName {
    /// The input is whole blocks of 16 bytes
    None,
    /// PKCS #7: 1 to 16 bytes are added
    Pkcs7,
}

fn parse_iv(text: &str) -> Result<IvName, String> {
    match text {
        "random" => return Ok(IvName::Random),
        "stored" => return Ok(IvName::Stored),
        _ => {}
    }
    parse_iv_digits(text, "`random`, or `stored`").map(IvName::Given)
}

/// An IV as hexadecimal digits. `others` are the words that can stand in its place, for the message.
pub fn parse_iv_digits(text: &str, others: &str) -> Result<[u8; 16], String> {
    // `from_str_radix` alone would take a sign.
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(format!("an IV is hexadecimal digits and nothing else, or {others}"));
    }
    if text.len() != 32 {
        return Err(format!("an IV has 32 hexadecimal digits (16 bytes), this has {}", text.len()));
    }
    u128::from_str_radix(text, 16).map(u128::to_be_bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ivs() {
        assert_eq!(
            parse_iv("000102030405060708090a0B0c0D0e0F").unwrap(),
            IvName::Given(std::array::from_fn(|i| i as u8))
        );
        assert_eq!((parse_iv("random"), parse_iv("stored")), (Ok(IvName::Random), Ok(IvName::Stored)));
        for text in ["", "00", "+0102030405060708090a0b0c0d0e0f0", "000102030405060708090a0b0c0d0e0f00"] {
            assert!(parse_iv(text).is_err(), "{text}");
        }
    }
}
