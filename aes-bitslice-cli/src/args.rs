//! The command line as types, its help, and the one-line form of what is wrong with it.

use std::path::PathBuf;

use aes_bitslice_runtime::{Backend, Kernels, KeyBits, Mode, Transfers};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

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
  aes-bitslice info
  aes-bitslice tune
  aes-bitslice bench --modes ctr --sizes 1GiB";

/// Powers of four: the sizes of `bench --all`.
const ALL_SIZES: &str = "4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB,1GiB,4GiB";

const CRYPT_EXAMPLES: &str = "\
Examples:
  A file, with whatever engine is there; the IV stands in front of the ciphertext:
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
  No mode authenticates: whoever can change the ciphertext can change the plaintext unnoticed.
  CTR with the same key and overlapping counters twice gives both plaintexts away. An IV is the first counter
  block, and a message of N bytes uses N/16 of them from there on.
  CBC needs an IV that nobody can foretell: random digits, new for every message. Whoever decrypts and lets others
  learn whether the padding was right, by exit code or by time, decrypts for them: check a MAC first. Its encryption
  is serial and runs on one core of the CPU, whatever the engine; its decryption runs on any.
  ECB shows which blocks are equal. Use it for what needs it, not for messages.
  A file given with -o, or made by --out-dir, appears complete or not at all. Standard output cannot be taken back:
  after a failure, what was written to it before must be thrown away.
  With --out-dir a file that fails does not keep the others. Each failure is a line that names the file, and the exit code
  is that of the failures, or 1 if they are of several kinds.";

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
    #[command(after_help = format!("{CRYPT_EXAMPLES}\n\n{EXIT_CODES}"))]
    Encrypt(CryptArgs),
    /// Decrypt files or a stream, byte for byte as `openssl enc -d` does
    #[command(after_help = format!("{CRYPT_EXAMPLES}\n\n{EXIT_CODES}"))]
    Decrypt(CryptArgs),
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
memory, transfers counted. Every output is compared with that of the `cpu` engine first: all of it up to 4 MiB, pieces from
start to end of what is larger. What was fastest is kept in the user's cache folder (or in that of AES_BITSLICE_CACHE) for
GPUs of this name with this driver and this version of the program. It holds no secret.")]
    Tune(TuneArgs),
    /// Measure the engines, after checking what they compute
    #[command(after_help = "\
Examples:
  aes-bitslice bench
  aes-bitslice bench --modes ctr,ecb-encrypt --key-bits 128,256 --sizes 1GiB --backends cuda,cpu --json rates.json
  aes-bitslice bench --all --json rates.json --plot rates.svg
  aes-bitslice bench --backends cuda --modes ctr --timings host,host-in-place,pinned,pinned-in-place --sizes 16MiB,4GiB
  aes-bitslice bench --files /dev/shm --modes ctr --key-bits 128 --sizes 1GiB
  aes-bitslice bench --plot-from rates.json --plot rates.svg --force

Every output is compared with that of the `cpu` engine before and after it is timed. `host` is from host memory to
host memory, as a caller sees it, `pinned` the same with memory of `Engine::host_buffer`, which a GPU copies from and to
as it is; `device` is the kernel alone, from one buffer in the memory of the device to another, by its own clock, one
call at a time; on several GPUs (`--backends cuda:all`) it is whole calls on memory spread over all, by the clock of the
host, and sizes are those of all together. Of more than 4 GiB in GPU memory pieces are compared. `copy` is what the
links give: pinned memory to the GPUs and as much back at once, nothing computed; rows of calls that go over the links
show how many percent of it they reach. Kernels with the key baked in need NVRTC and are left out without it.")]
    Bench(BenchArgs),
}

/// Options of `encrypt` and `decrypt`.
#[derive(Args, Debug)]
pub struct CryptArgs {
    /// Mode of operation
    #[arg(long)]
    pub mode: ModeName,
    #[command(flatten)]
    pub key: KeyArgs,
    /// Initial counter block of CTR, initialization vector of CBC: `random` to make one and store it in front of the
    /// ciphertext, `stored` to read it from there (both the default with --out-dir), or 32 hexadecimal digits; to encrypt
    /// with CTR, of one never used before with the same key, with CBC, of one that nobody can foretell
    #[arg(long, value_name = "IV", value_parser = parse_iv)]
    pub iv: Option<IvName>,
    /// Padding of ECB and CBC
    #[arg(long, default_value = "none")]
    pub padding: PaddingName,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// Output file [default: standard output]
    #[arg(short, long, value_name = "OUT", conflicts_with = "out_dir")]
    pub output: Option<PathBuf>,
    /// Folder for the outputs of any number of input files, each under the name of its input
    #[arg(long, value_name = "DIR")]
    pub out_dir: Option<PathBuf>,
    /// Replace outputs that exist; write to a terminal
    #[arg(long)]
    pub force: bool,
    /// No progress bar and no warnings
    #[arg(long, short)]
    pub quiet: bool,
    /// Input file [default: standard input]; more than one with --out-dir
    #[arg(value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// Bytes a chunk, for tests
    #[arg(long, hide = true, value_parser = parse_whole_blocks)]
    pub chunk_bytes: Option<usize>,
    /// Threads that read, compute and write, for tests
    #[arg(long, hide = true, value_parser = parse_in::<1, 1024>)]
    pub workers: Option<usize>,
    /// How files are written, for tests
    #[arg(long, hide = true)]
    pub write_by: Option<WriteBy>,
    /// Fail as if the GPU were lost at this byte of a stream, for tests
    #[arg(long, hide = true)]
    pub fail_at: Option<u64>,
}

/// Where the key comes from. It has no place on the command line, which every user of the machine can read.
#[derive(Args, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    pub source: KeySource,
    /// Form of the key file
    #[arg(long, value_name = "FORMAT", default_value = "hex")]
    pub key_format: KeyFormat,
}

/// One of three.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct KeySource {
    /// File with the key
    #[arg(long, value_name = "PATH")]
    pub key_file: Option<PathBuf>,
    /// Environment variable with the key as hexadecimal digits
    #[arg(long, value_name = "VAR")]
    pub key_env: Option<String>,
    /// Manifest of a GPU kernel with the key baked in, as `cargo xtask gen --key` writes it
    #[arg(long, value_name = "MANIFEST")]
    pub baked: Option<PathBuf>,
}

/// Which engine to use.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// Engine: auto, cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu or cpu-bitsliced; `auto` takes the one that is faster for
    /// the size of the input, as `info` shows, where the devices and their numbers are, too
    #[arg(long, default_value = "auto")]
    pub backend: Backend,
    /// Number of the CUDA GPU, from 0; or of several that share the work, as in `0,2`, or `all` of them; asks for a GPU
    #[arg(long, value_name = "N", value_parser = parse_devices)]
    pub device: Option<Devices>,
    /// CUDA kernel. Those with tables (tbox, pair, auto-any) are faster in places, but look up at addresses that depend on
    /// key and data: where others can measure what runs, use the default, as the README says
    #[arg(long, default_value = "auto", conflicts_with = "baked")]
    pub kernel: KernelName,
}

/// Options of `keygen`.
#[derive(Args, Debug)]
pub struct KeygenArgs {
    /// Length of the key: 128, 192 or 256
    #[arg(long, value_parser = parse_key_bits)]
    pub bits: KeyBits,
    /// File to make; never one that exists
    #[arg(short, long, value_name = "PATH")]
    pub output: PathBuf,
}

/// Options of `info`.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Number of the GPU, from 0
    #[arg(long, value_name = "N", default_value = "0")]
    pub device: usize,
    /// How long it may take, more or less; however short, everything is run a few times
    #[arg(long, value_name = "S", default_value = "30", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub seconds: u32,
    /// Keep nothing: only show what would be kept
    #[arg(long)]
    pub dry_run: bool,
    /// Print what is kept, as JSON, without the table
    #[arg(long)]
    pub json: bool,
}

/// Options of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Measure everything, unless other options narrow it: all modes, lengths of keys, strategies and timings, sizes from
    /// 4 KiB to 4 GiB, 20 runs each
    #[arg(long)]
    pub all: bool,
    /// What to measure
    #[arg(long, value_delimiter = ',', default_value = "ecb-encrypt,ecb-decrypt,cbc-decrypt,ctr")]
    pub modes: Vec<BenchMode>,
    /// Lengths of keys
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = parse_key_bits)]
    #[arg(default_value = "128,256", default_value_if("all", "true", "128,192,256"))]
    pub key_bits: Vec<KeyBits>,
    /// Sizes, in bytes or with KiB, MiB, GiB, TiB
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_size)]
    #[arg(default_value = "1MiB,64MiB", default_value_if("all", "true", ALL_SIZES))]
    pub sizes: Vec<usize>,
    /// What to time
    #[arg(long, value_delimiter = ',', default_value = "host,pinned,device")]
    #[arg(default_value_if("all", "true", "host,host-in-place,pinned,pinned-in-place,device,new-key"))]
    pub timings: Vec<Timing>,
    /// How kernels have their key; those with the key baked in are timed in the largest size
    #[arg(long, value_delimiter = ',', default_value = "planes")]
    #[arg(default_value_if("all", "true", "planes,one-hot-mux,immediate"))]
    pub strategies: Vec<Strategy>,
    /// GPU kernels with the key given at launch; those with tables (tbox, pair, auto-any) have to be asked for
    #[arg(long = "kernel", value_name = "KERNELS", value_delimiter = ',', default_value = "auto")]
    pub kernels: Vec<KernelName>,
    /// The largest size to time from host memory to host memory [default: any; with --all, 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value_if("all", "true", "64MiB"))]
    pub host_largest: Option<usize>,
    /// Engines: cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu, cpu-bitsliced [default: all there are, of GPUs the first]
    #[arg(long, value_name = "BACKENDS", value_delimiter = ',')]
    pub backends: Option<Vec<Backend>>,
    #[command(flatten)]
    pub transfers: TransferArgs,
    /// Time whole commands instead, on files of these sizes in a folder below DIR: this program with every backend, `openssl
    /// enc` and `cp`, with one file and with 16
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "all", "timings", "strategies", "host_largest", "chunk_bytes", "streams", "workers", "plot",
    ])]
    pub files: Option<PathBuf>,
    /// Timed runs of each case
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(default_value = "7", default_value_if("all", "true", "20"))]
    pub runs: u32,
    /// Write the results as JSON as well; `-` is standard output, without the table
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Draw throughput over size as SVG as well; `-` is standard output, without the table
    #[arg(long, value_name = "PATH")]
    pub plot: Option<PathBuf>,
    /// Measure nothing: draw what --json wrote
    #[arg(long, value_name = "JSON", requires = "plot", conflicts_with_all = [
        "all", "modes", "key_bits", "sizes", "timings", "strategies", "kernels", "host_largest", "backends", "files",
        "chunk_bytes", "streams", "workers", "runs", "json",
    ])]
    pub plot_from: Option<PathBuf>,
    /// Replace the files if they exist
    #[arg(long)]
    pub force: bool,
}

/// How data in host memory goes to GPUs and back; what is not given, the engine chooses by the size of the call.
#[derive(Args, Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TransferArgs {
    /// Bytes a chunk between host memory and a GPU, at most 64MiB [default: by size]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub chunk_bytes: Option<usize>,
    /// Chunks on their way at the same time, for each thread, 1 to 32 [default: by size]
    #[arg(long, value_name = "N", value_parser = parse_in::<1, 32>)]
    pub streams: Option<usize>,
    /// Threads that copy, for each GPU, 1 to 16 [default: by size]
    #[arg(long, value_name = "N", value_parser = parse_in::<1, 16>)]
    pub workers: Option<usize>,
}

impl TransferArgs {
    /// The same for the engine.
    pub fn transfers(self) -> Transfers {
        let Self { chunk_bytes, streams, workers } = self;
        Transfers { chunk_bytes, streams, workers }
    }
}

/// Modes of `encrypt` and `decrypt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// Electronic codebook: every block on its own
    Ecb,
    /// Cipher block chaining: every block chained to the ciphertext before it
    Cbc,
    /// Counter mode of SP 800-38A, 128-bit counter, any length
    Ctr,
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

/// Ways to write a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteBy {
    /// Through a mapping of it
    Map,
    /// By system calls
    Write,
}

/// Paddings of ECB and CBC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaddingName {
    /// The input is whole blocks of 16 bytes
    None,
    /// PKCS #7: 1 to 16 bytes are added
    Pkcs7,
}

/// Forms of a key file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyFormat {
    /// 32, 48 or 64 hexadecimal digits and at most one newline
    Hex,
    /// 16, 24 or 32 bytes
    Raw,
}

/// GPUs to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// All there are
    All,
    /// One or several, each once, by their numbers
    These(Vec<usize>),
}

/// Which GPU kernels to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KernelName {
    /// The fastest without secret-dependent addresses
    Auto,
    /// On bit-planes
    Bitsliced,
    /// With look-up tables
    Tbox,
    /// One with tables and one on bit-planes, side by side
    Pair,
    /// The fastest of all
    AutoAny,
}

impl KernelName {
    /// The same for the engine.
    pub fn kernels(self) -> Kernels {
        match self {
            Self::Auto => Kernels::Auto,
            Self::Bitsliced => Kernels::Bitsliced,
            Self::Tbox => Kernels::Tbox,
            Self::Pair => Kernels::Pair,
            Self::AutoAny => Kernels::AutoAny,
        }
    }
}

/// What `bench` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BenchMode {
    /// ECB encryption
    EcbEncrypt,
    /// ECB decryption
    EcbDecrypt,
    /// CBC decryption
    CbcDecrypt,
    /// CTR
    Ctr,
}

/// What `bench` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Whole calls, from host memory to host memory
    Host,
    /// Whole calls in host memory, output in place of the input
    HostInPlace,
    /// Whole calls on a GPU, from pinned host memory to pinned host memory
    Pinned,
    /// Whole calls on a GPU in pinned host memory, output in place of the input
    PinnedInPlace,
    /// Kernels alone, from and to the memory of the GPU; on several GPUs whole calls on memory spread over them
    Device,
    /// Copies of pinned memory to the GPU and back at once; they come with every timing of whole calls on a GPU
    Copy,
    /// From the bytes of a new key to the first kernel launched with it, and to that kernel's end
    NewKey,
}

/// How a GPU kernel has its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Given at launch
    Planes,
    /// Baked in, chosen by round
    OneHotMux,
    /// Baked in, rounds written out
    Immediate,
}

impl BenchMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::EcbEncrypt, Self::EcbDecrypt, Self::CbcDecrypt, Self::Ctr];

    /// The same for the engine.
    pub fn mode(self) -> Mode {
        match self {
            Self::EcbEncrypt => Mode::EcbEncrypt,
            Self::EcbDecrypt => Mode::EcbDecrypt,
            Self::CbcDecrypt => Mode::CbcDecrypt,
            Self::Ctr => Mode::Ctr,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> String {
        name_of(&self)
    }
}

impl Timing {
    /// The name on the command line.
    pub fn name(self) -> String {
        name_of(&self)
    }

    /// Whether whole calls on data in host memory are timed.
    pub fn is_on_host(self) -> bool {
        matches!(self, Self::Host | Self::HostInPlace) || self.is_pinned()
    }

    /// Whether they are on pinned memory.
    pub fn is_pinned(self) -> bool {
        matches!(self, Self::Pinned | Self::PinnedInPlace)
    }

    /// Whether they are in place.
    pub fn is_in_place(self) -> bool {
        matches!(self, Self::HostInPlace | Self::PinnedInPlace)
    }
}

impl Strategy {
    /// The name on the command line.
    pub fn name(self) -> String {
        name_of(&self)
    }
}

fn name_of(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
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

fn parse_iv(text: &str) -> std::result::Result<IvName, String> {
    match text {
        "random" => return Ok(IvName::Random),
        "stored" => return Ok(IvName::Stored),
        _ => {}
    }
    // `from_str_radix` alone would take a sign.
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("an IV is hexadecimal digits and nothing else, or `random`, or `stored`".into());
    }
    if text.len() != 32 {
        return Err(format!("an IV has 32 hexadecimal digits (16 bytes), this has {}", text.len()));
    }
    u128::from_str_radix(text, 16).map(|iv| IvName::Given(iv.to_be_bytes())).map_err(|error| error.to_string())
}

fn parse_devices(text: &str) -> std::result::Result<Devices, String> {
    if text == "all" {
        return Ok(Devices::All);
    }
    let mut devices = Vec::new();
    for number in text.split(',') {
        // `parse` alone would take a sign.
        let is_number = number.bytes().all(|digit| digit.is_ascii_digit());
        match number.parse::<usize>().ok().filter(|_| is_number) {
            Some(device) if devices.contains(&device) => {
                return Err(format!("GPU {device} is there twice; name each once, or use `all`"));
            }
            Some(device) => devices.push(device),
            None => {
                return Err("GPUs are named by number, from 0, as in `0` or `0,2`, or `all`; `info` lists them".into());
            }
        }
    }
    Ok(Devices::These(devices))
}

fn parse_key_bits(text: &str) -> std::result::Result<KeyBits, String> {
    let known = |bits: &KeyBits| bits.bits().to_string() == text;
    KeyBits::ALL.into_iter().find(known).ok_or_else(|| "an AES key has 128, 192 or 256 bits".into())
}

/// A positive number of bytes that is whole blocks.
fn parse_whole_blocks(text: &str) -> std::result::Result<usize, String> {
    match text.parse::<usize>() {
        Ok(bytes) if (1..=64 << 20).contains(&bytes) && bytes.is_multiple_of(16) => Ok(bytes),
        _ => Err("a positive multiple of 16 is needed, up to 67108864".into()),
    }
}

/// A number within bounds.
fn parse_in<const LEAST: usize, const MOST: usize>(text: &str) -> std::result::Result<usize, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("{LEAST} to {MOST} are possible"))
}

fn parse_size(text: &str) -> std::result::Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40)];
    let unit = units.into_iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let (number, shift) = unit.unwrap_or((text, 0));
    let bytes = number.parse::<usize>().ok().and_then(|number| number.checked_mul(1_usize << shift));
    match bytes {
        Some(bytes) if bytes > 0 && bytes.is_multiple_of(16) => Ok(bytes),
        _ => Err("a size is a positive multiple of 16 bytes, such as 4096, 64MiB or 1GiB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("16", 16), ("4096", 4096), ("1KiB", 1 << 10), ("3MiB", 3 << 20), ("1GiB", 1 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes));
        }
        for text in ["", "0", "15", "-16", "16 ", "1KB", "MiB", "1.5MiB", "99999999999TiB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn devices() {
        assert_eq!(parse_devices("all"), Ok(Devices::All));
        assert_eq!(parse_devices("7"), Ok(Devices::These(vec![7])));
        assert_eq!(parse_devices("2,0,11"), Ok(Devices::These(vec![2, 0, 11])));
        for text in ["", ",", "0,", "-1", "+1", "0,0", "1,2,1", "0;1", "0, 1", "All", "all,0", "99999999999999999999"] {
            assert!(parse_devices(text).is_err(), "{text}");
        }
    }

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
