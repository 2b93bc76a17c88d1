//! Options of `keystream`.

use clap::Args;

use super::iv::{Iv, parse_for_keystream};
use super::key::KeyArgs;
use super::numbers::parse_bytes;
use super::stream::StreamArgs;

/// What `keystream --help` ends with.
pub const EXAMPLES: &str = "\
Examples:
  A file of random bytes; the new IV that they are made with is printed:
    aes-bitslice keygen -b 256 -o key
    aes-bitslice keystream -n 1GiB -k key -o random
  Into a pipe, with an IV that is kept, and the second half of the first GiB of
  the same bytes by itself:
    iv=$(openssl rand -hex 16)
    aes-bitslice keystream -n 16TiB -k key -i $iv | program
    aes-bitslice keystream -n 512MiB --offset 512MiB -k key -i $iv -o half
  The same bytes from OpenSSL, which encrypts zeros. With a key for this test
  alone: every user of the machine can read it while `openssl` has it in -K:
    aes-bitslice keygen -b 256 -o test-key
    iv=$(openssl rand -hex 16)
    aes-bitslice keystream -n 1000 -k test-key -i $iv -o random.test
    head -c 1000 /dev/zero |
      openssl enc -aes-256-ctr -K $(cat test-key) -iv $iv | cmp - random.test

What to know:
  Without the key nobody can tell the bytes from random ones. With the same
  key, IV and offset they are the same again.
  An IV is the first counter block, and N bytes use N/16 of them from there on.
  Key stream of counter blocks that data was encrypted with under the same key
  gives that data away: use a key of its own, or an IV never used before.
  A file given with -o appears complete or not at all. Standard output cannot
  be taken back: after a failure, what was written to it before must be thrown
  away.";

/// Options of `keystream`.
#[derive(Args, Debug)]
pub struct KeystreamArgs {
    /// Bytes to write, or with KiB, MiB, GiB, TiB
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = parse_bytes)]
    pub bytes: u64,
    #[command(flatten)]
    pub key: KeyArgs,
    /// `random` (default) or 32 hexadecimal digits
    ///
    /// Initial counter block. `random`, the default, makes a new one and prints it on standard error, unless --quiet. A given one must
    /// never have been used before with the same key.
    #[arg(short, long, value_name = "IV", value_parser = parse_for_keystream)]
    pub iv: Option<Iv>,
    /// Bytes of the key stream to skip at its start
    ///
    /// As a number, or with KiB, MiB, GiB, TiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "0")]
    pub offset: u64,
    #[command(flatten)]
    pub stream: StreamArgs,
}
