//! Options of `keystream`.

use clap::Args;

use super::crypt::parse_iv_digits;
use super::key::KeyArgs;
use super::numbers::parse_bytes;
use super::stream::StreamArgs;

/// What `keystream --help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  A file of random bytes:
    aes-bitslice keystream --bytes 1GiB --key-file key --iv random -o random
  Into a pipe, from an IV that is kept elsewhere:
    aes-bitslice keystream --bytes 16TiB --key-file key --iv $IV | program
  The second half of a GiB by itself:
    aes-bitslice keystream --bytes 512MiB --offset 512MiB --key-file key --iv $IV -o half
  The same bytes, where zeros are encrypted:
    head -c 1000 /dev/zero | aes-bitslice encrypt --mode ctr --key-file key --iv $IV
  The same bytes from OpenSSL, for a key of 128 bits:
    head -c 1000 /dev/zero | openssl enc -aes-128-ctr -K $(cat key) -iv $IV

What to know:
  Without the key nobody can tell the bytes from random ones. With the same key, IV and offset they are the same again.
  An IV is the first counter block, and N bytes use N/16 of them from there on. Key stream of counter blocks that data
  was encrypted with under the same key gives that data away: use a key of its own, or an IV never used before.
  A file given with -o appears complete or not at all. Standard output cannot be taken back: after a failure, what was
  written to it before must be thrown away.";

/// Options of `keystream`.
#[derive(Args, Debug)]
pub struct KeystreamArgs {
    /// Bytes to write, or with KiB, MiB, GiB, TiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub bytes: u64,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Initial counter block: 32 hexadecimal digits never used before with the same key, or `random` to make one, which is
    /// printed on standard error, unless --quiet
    #[arg(long, value_name = "IV", value_parser = parse_iv)]
    pub iv: Option<NewIv>,
    /// Bytes of the key stream before those to write, or with KiB, MiB, GiB, TiB
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "0")]
    pub offset: u64,
    #[command(flatten)]
    pub stream: StreamArgs,
}

/// Where an IV comes from that no input begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewIv {
    /// The command line
    Given([u8; 16]),
    /// The system's random number generator
    Random,
}

fn parse_iv(text: &str) -> Result<NewIv, String> {
    match text {
        "random" => Ok(NewIv::Random),
        _ => parse_iv_digits(text, "`random`").map(NewIv::Given),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ivs() {
        let digits = "000102030405060708090a0B0c0d0e0F";
        assert_eq!(parse_iv(digits), Ok(NewIv::Given(std::array::from_fn(|i| i as u8))));
        assert_eq!(parse_iv("random"), Ok(NewIv::Random));
        assert!(parse_iv("stored").unwrap_err().ends_with("nothing else, or `random`"));
        assert!(parse_iv("00").is_err());
    }
}
