//! Options of `encrypt` and `decrypt`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::iv::{Iv, parse_to_encrypt};
use super::key::KeyArgs;
use super::mode::{ModeName, ModeParser};
use super::numbers::parse_bytes;
use super::sectors::SectorArgs;
use super::stream::StreamArgs;
use crate::baked::KernelFiles;

/// What `encrypt --help` and `decrypt --help` end with.
pub const EXAMPLES: &str = "\
Examples:
  A file, on the engine that is fastest for it, and back. A new IV stands in
  front of the ciphertext:
    aes-bitslice keygen -b 256 -o key
    aes-bitslice encrypt -m ctr -k key -o data.ctr data
    aes-bitslice decrypt -m ctr -k key -o data.again data.ctr
  Many files, each with an IV of its own, and back:
    mkdir encrypted decrypted
    aes-bitslice encrypt -m ctr -k key -d encrypted *.tar
    aes-bitslice decrypt -m ctr -k key -d decrypted encrypted/*.tar
  A stream, with the key from the environment:
    export KEY=$(cat key)
    tar c folder | aes-bitslice encrypt -m ctr --key-env KEY |
      ssh host 'cat > folder.ctr'
  A file of any length in whole blocks, and back:
    aes-bitslice encrypt -m cbc -p pkcs7 -k key -o data.cbc data
    aes-bitslice decrypt -m cbc -p pkcs7 -k key -o data.same data.cbc
  A disk image, sector by sector, and sectors 1 and 2 of it by themselves:
    aes-bitslice keygen -b 256 --xts -o disk-key
    aes-bitslice encrypt -m xts --sector-size 4096 -k disk-key -o disk.xts disk
    dd if=disk.xts bs=4096 skip=1 count=2 |
      aes-bitslice decrypt -m xts --sector-size 4096 --first-sector 1 \\
        -k disk-key -o sectors
  The same bytes from OpenSSL, where the IV is given. With a key for this test
  alone: every user of the machine can read it while `openssl` has it in -K:
    aes-bitslice keygen -b 256 -o test-key
    iv=$(openssl rand -hex 16)
    aes-bitslice encrypt -m ctr -k test-key -i $iv -o data.test data
    openssl enc -aes-256-ctr -K $(cat test-key) -iv $iv -in data |
      cmp - data.test

What to know:
  No mode authenticates: a change of the ciphertext changes the plaintext, and
  nothing tells. AES-GCM, which does, is what `seal` is made of.
  CTR with the same key and overlapping counters twice gives both plaintexts
  away. An IV is the first counter block, and a message of N bytes uses N/16 of
  them from there on.
  CBC needs an unpredictable IV: random digits, new for every message. If
  others learn whether the padding was right, by exit code or by time, they can
  have any ciphertext decrypted: check a MAC first. Its encryption is serial
  and runs on one core of the CPU, on every engine; its decryption runs on any.
  ECB shows which blocks are equal. Use it for what needs it, not for messages.
  XTS is for disks: bytes stay where they are, and a sector is written again
  under the same number. Who has two versions of a sector sees which of its
  blocks of 16 bytes have changed, so use a key for one disk or image, not for
  files with -d that should not be compared. What was encrypted with another
  size or number of sectors decrypts to nonsense, and nothing tells.
  Nothing in a file tells whether it begins with its IV. Decrypted as if it
  did, one that does not comes out wrong, and the other way about.
  A file given with -o, or made by --out-dir, appears complete or not at all.
  Standard output cannot be taken back: after a failure, what was written to it
  before must be thrown away.
  With --out-dir a file that fails does not keep the others. Each failure is a
  line that names the file, and the exit code is that of the failures, or 1 if
  they are of several kinds.";

/// Options of `encrypt` and `decrypt`.
#[derive(Args, Debug)]
pub struct CryptArgs {
    /// Mode
    ///
    /// A name like `aes-256-ctr` works, too, and is refused if the key has another length. The key of `xts` is two of the same length: 64
    /// hexadecimal digits are two of 128 bits, which is AES-128-XTS; 128 digits are AES-256-XTS.
    #[arg(short, long, value_parser = ModeParser)]
    pub mode: ModeName,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Manifest of a GPU kernel with the key baked in
    ///
    /// `cargo xtask gen --key` writes one.
    #[arg(long, value_name = "MANIFEST", group = "KeySource", conflicts_with = "kernel")]
    pub baked: Option<PathBuf>,
    /// Manifest of a GPU kernel that takes the key at launch
    ///
    /// `cargo xtask gen --preset hajihassani-2019-fetched` writes one. It gets the key of --key-file or --key-env, and runs its own mode.
    #[arg(long, value_name = "MANIFEST", hide_short_help = true, conflicts_with_all = ["kernel", "baked"])]
    pub generated: Option<PathBuf>,
    // Help and parser for `encrypt`; `decrypt` has its own.
    /// `random` (default) or 32 hexadecimal digits
    ///
    /// Initial counter block of CTR, initialization vector of CBC. `random`, the default, makes a new one and stores it in front of the
    /// ciphertext. A given one is not stored: for CTR, it must never have been used before with the same key; for CBC, it must be
    /// unpredictable.
    #[arg(short, long, value_name = "IV", value_parser = parse_to_encrypt)]
    pub iv: Option<Iv>,
    /// Padding for modes of whole blocks
    #[arg(short, long, default_value = "none")]
    pub padding: PaddingName,
    #[command(flatten)]
    pub sectors: SectorArgs,
    #[command(flatten)]
    pub stream: StreamArgs,
    /// Folder for the outputs of any number of files
    ///
    /// Each has the name of its input.
    #[arg(short = 'd', long, value_name = "DIR", conflicts_with = "output")]
    pub out_dir: Option<PathBuf>,
    /// Bytes of the input to read, from its start [default: all]
    ///
    /// For a disk or a file on which something else follows what was written. As a number, or with KiB, MiB, GiB, TiB.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, hide_short_help = true, conflicts_with = "out_dir")]
    pub length: Option<u64>,
    /// Input file [default: standard input]; several with -d
    #[arg(value_name = "IN")]
    pub inputs: Vec<PathBuf>,
}

impl CryptArgs {
    /// The kernels that are named.
    pub fn kernels(&self) -> KernelFiles<'_> {
        KernelFiles { baked: self.baked.as_deref(), generated: self.generated.as_deref() }
    }
}

/// The help of `decrypt --iv`, short and long.
pub const IV_TO_DECRYPT: [&str; 2] = [
    "`stored` (default) or 32 hexadecimal digits",
    "Initial counter block of CTR, initialization vector of CBC. `stored`, the default, takes the first 16 bytes of the \
     input, where `encrypt` stores it unless it is given one. For an input without, as OpenSSL writes it, give the IV. \
     Nothing in the input tells which it is: a wrong choice gives wrong output.",
];

/// Paddings of modes that take whole blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaddingName {
    /// The input is whole blocks of 16 bytes
    None,
    /// PKCS #7: 1 to 16 bytes are added
    Pkcs7,
}
