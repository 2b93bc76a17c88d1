//! Options of `bench`.

use std::path::PathBuf;

use aes_bitslice_runtime::{Backend, KeyBits, Transfers};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::engine::{KernelName, KernelParser};
use super::mode::{MeasuredModeParser, MeasuredModes};
use super::numbers::{parse_chunk_bytes, parse_in, parse_key_bits, parse_sector_blocks, parse_size};
use super::size::{Size, parse_call_size};
use crate::modes::measured::MeasuredMode;
use crate::modes::mode::Sectors;

/// Powers of four: the sizes of `bench --all`.
const ALL_SIZES: &str = "4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB,1GiB,4GiB";

/// What `bench --help` ends with.
pub const HELP: &str = "\
Examples:
  aes-bitslice bench
  aes-bitslice bench --modes gcm,gcm-siv,cmac --sizes 16,1MiB --backends cpu
  aes-bitslice bench --modes ctr,ecb-encrypt --key-bits 128,256 --sizes 1GiB \\
    --backends cuda,cpu --json few.json
  aes-bitslice bench --modes gcm,cmac,ctr --sizes 4096x16KiB,44739x1500
  aes-bitslice bench --all --json rates.json --plot rates.svg
  aes-bitslice bench --backends cuda --modes ctr --sizes 16MiB,4GiB \\
    --timings host,host-in-place,pinned,pinned-in-place
  aes-bitslice bench --files /dev/shm --modes ctr --key-bits 128 --sizes 1GiB
  aes-bitslice bench --plot-from rates.json --plot rates.svg --force

Every output and every tag is compared with that of the `cpu` engine before and
after it is timed; what is decrypted with a tag was encrypted by `cpu`. `host`
is from host memory to host memory, as a caller sees it, `pinned` the same with
memory of `Engine::host_buffer`, which a GPU copies from and to as it is;
`device` is the kernel alone, from one buffer in the memory of the device to
another, by its own clock, one call at a time; on several GPUs (`--backends
cuda:all`) it is whole calls on memory sharded over all, by the clock of the
host, and sizes are those of all together. Of more than 4 GiB in GPU memory some
chunks are compared. `copy` is what the links give: pinned memory to the GPUs
and as much back at once, nothing computed; rows of calls that go over the links
both ways show how many percent of it they reach. `keystream` reads nothing: in
place is the same for it. `cmac` and `gmac` only read. Of many messages in one
call, each is compared with `cpu` doing it alone. `--files` measures the modes
of `encrypt` and `decrypt`. Kernels with the key baked in need NVRTC and are
left out without it.";

/// Options of `bench`.
#[derive(Args, Debug)]
pub struct BenchArgs {
    /// Measure everything, unless other options narrow it
    ///
    /// All modes, key lengths, strategies and timings, sizes from 4 KiB to 4 GiB, 20 runs each.
    #[arg(long)]
    pub all: bool,
    /// What to measure
    ///
    /// The name of a mode, such as `gcm`, stands for both its directions.
    #[arg(long, value_delimiter = ',', value_parser = MeasuredModeParser)]
    #[arg(default_value = "gcm,ctr,ecb,cbc-decrypt,xts", default_value_if("all", "true", MeasuredMode::names()))]
    modes: Vec<MeasuredModes>,
    /// Lengths of keys
    #[arg(long, value_name = "BITS", value_delimiter = ',', value_parser = parse_key_bits)]
    #[arg(default_value = "128,256", default_value_if("all", "true", "128,192,256"))]
    pub key_bits: Vec<KeyBits>,
    /// In bytes or with KiB, MiB, GiB, TiB; many messages in one call as 4096x16KiB
    ///
    /// gcm and cmac have many messages under one key, ctr, ecb and keystream with keys of their own, and gcm with --keys, too.
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_call_size)]
    #[arg(default_value = "1MiB,64MiB", default_value_if("all", "true", ALL_SIZES))]
    pub sizes: Vec<Size>,
    /// How many keys messages with keys of their own take in turn [default: one for each message; for gcm, one key for all]
    ///
    /// Those of cmac have one.
    #[arg(long, value_name = "N", value_parser = parse_in::<usize, 1, { u32::MAX as usize }>, hide_short_help = true)]
    pub keys: Option<usize>,
    /// Bytes of a sector, for xts: whole blocks of 16 bytes
    #[arg(long, value_name = "N", default_value = "512", value_parser = parse_sector_blocks, hide_short_help = true)]
    pub sector_size: u64,
    /// What to time
    #[arg(long, value_delimiter = ',', default_value = "host,pinned,device", hide_short_help = true)]
    #[arg(default_value_if("all", "true", "host,host-in-place,pinned,pinned-in-place,device,new-key"))]
    pub timings: Vec<Timing>,
    /// How kernels get their key; those with the key baked in are timed at the largest size
    #[arg(long, value_delimiter = ',', default_value = "planes", hide_short_help = true)]
    #[arg(default_value_if("all", "true", "planes,one-hot-mux"))]
    pub strategies: Vec<Strategy>,
    /// GPU kernels with the key given at launch; those with tables (tbox, co-resident, auto-any) must be requested
    #[arg(long = "kernel", value_name = "KERNELS", value_delimiter = ',', default_value = "auto")]
    #[arg(value_parser = KernelParser, hide_short_help = true)]
    pub kernels: Vec<KernelName>,
    /// The largest size to time from host memory to host memory [default: any; with --all, 64MiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value_if("all", "true", "64MiB"))]
    #[arg(hide_short_help = true)]
    pub host_largest: Option<usize>,
    /// Engines [default: all, but only the first GPU]
    ///
    /// Any of cuda, cuda:N, cuda:all, opencl, opencl:P.D, cpu, cpu-bitsliced.
    #[arg(short, long, value_name = "BACKENDS", value_delimiter = ',')]
    pub backends: Option<Vec<Backend>>,
    #[command(flatten)]
    pub transfers: TransferArgs,
    /// Time whole commands on files in a folder below DIR
    ///
    /// On files of these sizes: this program with every backend, `openssl enc` and `cp`, with one file and with 16.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "all", "timings", "strategies", "host_largest", "keys", "chunk_bytes", "streams", "workers", "plot",
    ])]
    pub files: Option<PathBuf>,
    /// Timed runs of each case
    #[arg(long, value_name = "N", value_parser = parse_in::<u32, 1, { u32::MAX as usize }>)]
    #[arg(default_value = "7", default_value_if("all", "true", "20"))]
    pub runs: u32,
    /// Write the results as JSON as well
    ///
    /// `-` is standard output, without the table.
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Draw throughput over size as SVG as well
    ///
    /// That of calls on one message, with the key given at launch, by the first of these timings that there is: device, stream, host,
    /// host-in-place, pinned, pinned-in-place. `-` is standard output, without the table.
    #[arg(long, value_name = "PATH")]
    pub plot: Option<PathBuf>,
    /// Measure nothing: draw what --json wrote; `-` is standard input
    #[arg(long, value_name = "JSON", requires = "plot", conflicts_with_all = [
        "all", "modes", "key_bits", "sizes", "keys", "sector_size", "timings", "strategies", "kernels", "host_largest", "backends", "files",
        "chunk_bytes", "streams", "workers", "runs", "json",
    ])]
    pub plot_from: Option<PathBuf>,
    /// Replace the files if they exist
    #[arg(short, long)]
    pub force: bool,
}

/// Each once, where it is first.
fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in all {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

impl BenchArgs {
    /// With each item of these lists once, so that what is named twice is not measured twice. Sizes may repeat.
    pub fn each_once(self) -> Self {
        Self {
            key_bits: once(self.key_bits),
            timings: once(self.timings),
            strategies: once(self.strategies),
            kernels: once(self.kernels),
            backends: self.backends.map(once),
            ..self
        }
    }

    /// The modes, each once.
    pub fn modes(&self) -> Vec<MeasuredMode> {
        once(self.modes.iter().flatten().copied())
    }

    /// The sectors of modes that have them.
    pub fn sectors(&self) -> Sectors {
        Sectors { bytes: self.sector_size, ..Sectors::DEFAULT }
    }

    /// Bytes of a sector, if a mode has sectors.
    pub fn sector_bytes(&self) -> Option<u64> {
        self.modes().iter().any(|mode| mode.has_sectors()).then_some(self.sector_size)
    }
}

/// How data in host memory goes to GPUs and back; the engine chooses what is not given, by the size of the call.
#[derive(Args, Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TransferArgs {
    /// Bytes per chunk between host memory and a GPU, at most 64MiB [default: by size]
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_chunk_bytes)]
    pub chunk_bytes: Option<usize>,
    /// Chunks in flight for each thread, 1 to 32 [default: by size]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_in::<usize, 1, 32>)]
    pub streams: Option<usize>,
    /// Threads that copy, for each GPU, 1 to 16 [default: by size]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_in::<usize, 1, 16>)]
    pub workers: Option<usize>,
}

impl TransferArgs {
    /// These settings as the engine takes them.
    pub fn transfers(self) -> Transfers {
        let Self { chunk_bytes, streams, workers } = self;
        Transfers { chunk_bytes, streams, workers }
    }
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
    /// Kernels alone, from and to the memory of the GPU; on several GPUs whole calls on memory sharded over them
    Device,
    /// Calls in a row on a stream of a GPU, from and to its memory, without waiting for one's result before the next
    Stream,
    /// Calls in a row on many messages of gcm, whose offsets, lengths, nonces and tags are arrays in the memory of the GPU
    StreamArrays,
    /// Copies of pinned memory to the GPU and back at once; done with every timing of whole calls on a GPU
    Copy,
    /// From the bytes of a new key to the first kernel launched with it, and to that kernel's end
    NewKey,
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

    /// Whether calls on data in device memory are timed.
    pub fn is_on_device(self) -> bool {
        matches!(self, Self::Device | Self::Stream | Self::StreamArrays)
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

/// How a GPU kernel gets its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Strategy {
    /// Given at launch
    Planes,
    /// Baked in, chosen by round
    OneHotMux,
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Command, FromArgMatches};

    fn parsed(line: &str) -> BenchArgs {
        let matches =
            BenchArgs::augment_args(Command::new("bench").no_binary_name(true)).get_matches_from(line.split(' '));
        BenchArgs::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn sectors_are_those_of_modes_that_have_them() {
        assert_eq!(parsed("--modes xts --sector-size 4096").sector_bytes(), Some(4096));
        assert_eq!(parsed("--modes ctr --sector-size 4096").sector_bytes(), None);
    }

    #[test]
    fn what_is_named_twice_is_measured_once() {
        let args = parsed(
            "--modes ctr,gcm,gcm-encrypt --key-bits 256,128,256 --timings host,host --strategies planes,planes --kernel tbox,auto,tbox \
             --backends cpu,cpu-bitsliced,cpu",
        );
        let args = args.each_once();
        assert_eq!(
            args.modes().iter().map(|mode| mode.name).collect::<Vec<_>>(),
            ["ctr", "gcm-encrypt", "gcm-decrypt"]
        );
        assert_eq!((args.key_bits, args.timings), (vec![KeyBits::Aes256, KeyBits::Aes128], vec![Timing::Host]));
        assert_eq!((args.strategies, args.kernels), (vec![Strategy::Planes], vec![KernelName::Tbox, KernelName::Auto]));
        assert_eq!(args.backends, Some(vec![Backend::Cpu, Backend::CpuBitsliced]));
    }

    #[test]
    fn timings_say_where_data_is() {
        let those = |are: fn(Timing) -> bool| {
            let names = Timing::value_variants().iter().filter(|&&timing| are(timing)).map(|timing| timing.name());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(those(Timing::is_on_host), "host host-in-place pinned pinned-in-place");
        assert_eq!(those(Timing::is_pinned), "pinned pinned-in-place");
        assert_eq!(those(Timing::is_in_place), "host-in-place pinned-in-place");
        assert_eq!(those(Timing::is_on_device), "device stream stream-arrays");
    }

    /// Tables print the name that the command line takes.
    #[test]
    fn names_are_those_of_the_command_line() {
        for timing in Timing::value_variants() {
            assert_eq!(Timing::from_str(&timing.name(), false), Ok(*timing));
        }
        for strategy in Strategy::value_variants() {
            assert_eq!(Strategy::from_str(&strategy.name(), false), Ok(*strategy));
        }
    }
}
