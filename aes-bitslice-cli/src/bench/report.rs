//! The results, as a table for people and as JSON.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use aes_bitslice_core::count::counted;
use aes_bitslice_plot::size;
use aes_bitslice_runtime::{Backend, Engine, KeyBits, Transfers, cuda, opencl};
use serde::{Deserialize, Serialize};

use super::case::{Case, Keyed};
use super::engines::{is_device, is_gpu};
use crate::args::bench::{Strategy, Timing, TransferArgs};
use crate::args::engine::KernelName;
use crate::args::size::Size;
use crate::error::{Error, Exit, Result};
use crate::modes::measured::MeasuredMode;
use crate::standard;

/// Everything measured.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// Version of the program.
    pub version: String,
    pub engines: Vec<EngineLine>,
    /// How data went between host memory and GPUs, if this was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfers: Option<TransferArgs>,
    /// The throughput of the links to GPUs.
    #[serde(default)]
    pub copies: Vec<Copied>,
    pub results: Vec<Measured>,
    #[serde(default)]
    pub new_keys: Vec<NewKey>,
    #[serde(default)]
    pub files: Vec<FileRates>,
    /// What was requested but could not be measured, and why.
    #[serde(default)]
    pub skipped: Vec<String>,
}

/// An engine that was measured.
#[derive(Serialize, Deserialize)]
pub struct EngineLine {
    pub backend: String,
    pub description: String,
    /// The newest CUDA that the GPU's driver supports; for OpenCL, the release of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// For OpenCL, compute units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiprocessors: Option<u32>,
}

/// How fast runs were.
#[derive(Serialize, Deserialize)]
pub struct Rates {
    pub runs: usize,
    pub min_seconds: f64,
    pub median_seconds: f64,
    /// 10^9 bytes a second, of the median run.
    pub median_gbytes_per_second: f64,
    /// 10^9 bytes a second, of the fastest run.
    pub max_gbytes_per_second: f64,
    /// 10^12 bits a second, of the median run.
    pub median_tbits_per_second: f64,
}

/// Plain copies of pinned memory to GPUs and of the same number of bytes back, at once: the most that calls on host memory can reach.
#[derive(Serialize, Deserialize)]
pub struct Copied {
    /// Each way.
    pub bytes: usize,
    pub backend: String,
    #[serde(flatten)]
    pub rates: Rates,
}

/// The runs of one case.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    pub mode: String,
    pub key_bits: usize,
    /// Of a mode that has sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_bytes: Option<u64>,
    /// How a GPU kernel gets its key.
    #[serde(default)]
    pub strategy: Option<String>,
    /// Which kernels a GPU might use; `None` for a kernel with the key baked in.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Of all messages.
    pub bytes: usize,
    /// Of a batch: how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<usize>,
    /// Of a batch with keys of its messages' own: how many there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<usize>,
    pub backend: String,
    pub timing: Timing,
    #[serde(flatten)]
    pub rates: Rates,
    /// For a call that goes over the links: the rate of the median run in percent of a plain copy of the same number of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_copy: Option<f64>,
}

/// How long new keys took, from the bytes of the key on, on an open engine with its kernels loaded and the GPU idle.
#[derive(Serialize, Deserialize)]
pub struct NewKey {
    pub mode: String,
    pub key_bits: usize,
    /// The bytes that were encrypted first.
    pub bytes: usize,
    pub backend: String,
    /// How many keys there were.
    pub keys: usize,
    /// To the return of the call that launches the first kernel.
    pub min_seconds_to_launch: Option<f64>,
    pub median_seconds_to_launch: Option<f64>,
    /// To the end of this first encryption.
    pub median_seconds_to_end: f64,
}

/// Whole commands on files.
#[derive(Serialize, Deserialize)]
pub struct FileRates {
    pub mode: String,
    pub key_bits: usize,
    /// Of a mode that has sectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_bytes: Option<u64>,
    /// How many files there were.
    pub files: usize,
    /// Of all of them together.
    pub bytes: usize,
    /// A backend of this program, or another program.
    pub program: String,
    /// Which kernels a GPU might use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(flatten)]
    pub rates: Rates,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(engines: &[Engine], transfers: TransferArgs) -> Self {
        let line = |engine: &Engine| {
            let backend = engine.backend();
            let (driver_version, multiprocessors) = driver(backend).unzip();
            EngineLine {
                backend: backend.to_string(),
                description: engine.description(),
                driver_version,
                multiprocessors,
            }
        };
        Report {
            version: env!("CARGO_PKG_VERSION").into(),
            engines: engines.iter().map(line).collect(),
            transfers: (transfers.transfers() != Transfers::default()).then_some(transfers),
            copies: Vec::new(),
            results: Vec::new(),
            new_keys: Vec::new(),
            files: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Whether nothing that was requested could be measured.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty() && self.results.is_empty() && self.new_keys.is_empty() && self.files.is_empty()
    }

    /// Reads what `--json` wrote; `-` is standard input.
    pub fn read(path: &Path) -> Result<Self> {
        let is_standard_input = path == Path::new("-");
        let name = if is_standard_input { "standard input".into() } else { format!("`{}`", path.display()) };
        if path.is_dir() {
            let message = format!("cannot read {name}: it is a folder, not a file");
            return Err(Error::new(Exit::InputOutput, message));
        }
        let failed = |error| Error::io(format!("cannot read {name}"), &error);
        let mut file = if is_standard_input { standard::input()? } else { standard::open(path).map_err(failed)? };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|error| {
            // The parser's error may quote the text, and some file may hold a key.
            let (line, column) = (error.line(), error.column());
            let what = format!("line {line}, column {column}: not the JSON of it");
            let message = format!("{name} is not what `bench --json` writes: {what}");
            Error::new(Exit::InputOutput, message)
        })
    }

    /// The text above the rows; `sector_bytes` if sectors are measured.
    pub fn heading(&self, sector_bytes: Option<u64>) -> String {
        let mut text = String::new();
        for EngineLine { backend, description, .. } in &self.engines {
            let _ = writeln!(text, "{backend}: {description}");
        }
        if let Some(bytes) = sector_bytes {
            let _ = writeln!(text, "xts: sectors of {bytes} bytes");
        }
        let columns = ["mode", "key", "strategy", "kernel", "size", "engine", "timing"];
        text += "\n";
        text += &row(&columns, &["min", "median", "max", "median", "median", "median"]);
        text += &row(&[""; 7], &["", "", "GB/s", "GB/s", "Tbit/s", "of copy"]);
        text
    }
}

/// The driver's version of a device, and its multiprocessors or compute units. Asks only the driver that the device has: the question loads
/// its library.
fn driver(backend: Backend) -> Option<(String, u32)> {
    if backend.is_cuda() {
        let is_it = |d: &cuda::DeviceInfo| [Backend::Cuda { ordinal: d.ordinal }, Backend::CudaAll].contains(&backend);
        let device = cuda::devices().ok()?.into_iter().find(is_it)?;
        Some((device.driver_version, device.multiprocessors))
    } else if backend.is_opencl() {
        let is_it = |d: &opencl::DeviceInfo| backend == Backend::OpenCl { platform: d.platform, device: d.device };
        let device = opencl::devices().ok()?.into_iter().find(is_it)?;
        Some((device.driver, device.compute_units))
    } else {
        None
    }
}

/// A row of the table: what was timed, and the figures.
fn row(what: &[&str; 7], figures: &[&str; 6]) -> String {
    let [mode, key, strategy, kernel, size, engine, timing] = what;
    let [min, median, max_rate, median_rate, bits, of_copy] = figures;
    let row = format!(
        "{mode:<15} {key:>4} {strategy:<12} {kernel:<11} {size:>16}  {engine:<14} {timing:<15} \
         {min:>13} {median:>13} {max_rate:>9} {median_rate:>9} {bits:>9} {of_copy:>8}"
    );
    row.trim_end().to_string() + "\n"
}

impl Rates {
    /// Sums up the `times` of runs on `bytes` bytes each; there is at least one.
    pub fn new(bytes: usize, times: Vec<Duration>) -> Self {
        let runs = times.len();
        let (min, median) = min_and_median(times);
        let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
        Rates {
            runs,
            min_seconds: min,
            median_seconds: median,
            median_gbytes_per_second: rate(median),
            max_gbytes_per_second: rate(min),
            median_tbits_per_second: rate(median) * 8.0 / 1e3,
        }
    }

    /// A row of the table.
    fn row(&self, what: &[&str; 7], percent_of_copy: Option<f64>) -> String {
        let figures = [
            microseconds(self.min_seconds),
            microseconds(self.median_seconds),
            format!("{:.3}", self.max_gbytes_per_second),
            format!("{:.3}", self.median_gbytes_per_second),
            format!("{:.4}", self.median_tbits_per_second),
            percent_of_copy.map_or(String::new(), |percent| format!("{percent:.1} %")),
        ];
        row(what, &figures.each_ref().map(String::as_str))
    }
}

impl Copied {
    /// Sums up `times`, which are not empty.
    pub fn new(engine: &Engine, bytes: usize, times: Vec<Duration>) -> Self {
        Copied { bytes, backend: engine.backend().to_string(), rates: Rates::new(bytes, times) }
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        let size = size(self.bytes as u64);
        self.rates.row(&["-", "-", "-", "-", &size, &self.backend, &Timing::Copy.name()], Some(100.0))
    }
}

impl Measured {
    /// Sums up `times`, which are not empty; `copied` is the ceiling of this engine and size.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        engine: &Engine,
        case: &Case,
        strategy: Strategy,
        kernel: Option<KernelName>,
        timing: Timing,
        times: Vec<Duration>,
        copied: Option<&Copied>,
    ) -> Self {
        let Case { bytes, size: Size { messages, .. }, keyed: Keyed { key, mode, sectors, keys, .. }, .. } = *case;
        let rates = Rates::new(bytes, times);
        let percent = |copied: &Copied| 100.0 * rates.median_gbytes_per_second / copied.rates.median_gbytes_per_second;
        Measured {
            mode: mode.name.into(),
            key_bits: key.bits().bits(),
            sector_bytes: mode.has_sectors().then_some(sectors.bytes),
            strategy: is_device(engine).then(|| strategy.name()),
            kernel: kernel.filter(|_| is_gpu(engine)).map(|kernel| kernel.kernels().to_string()),
            bytes,
            messages,
            keys: messages.and_then(|count| mode.mode.batches.keys(count, keys)),
            backend: engine.backend().to_string(),
            timing,
            percent_of_copy: copied.map(percent),
            rates,
        }
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        let Self { strategy, kernel, .. } = self;
        let size = Size { messages: self.messages, each: self.bytes / self.messages.unwrap_or(1) };
        let (key, size, timing) = (self.key_bits.to_string(), size.to_string(), self.timing.name());
        let [strategy, kernel] = [strategy, kernel].map(|name| name.as_deref().unwrap_or("-"));
        self.rates.row(&[&self.mode, &key, strategy, kernel, &size, &self.backend, &timing], self.percent_of_copy)
    }
}

impl FileRates {
    /// A row of the table.
    pub fn row(&self) -> String {
        let (key, size) = (self.key_bits.to_string(), size(self.bytes as u64));
        let files = if self.files == 1 { "one file".into() } else { format!("{} files", self.files) };
        let kernel = self.kernel.as_deref().unwrap_or("-");
        self.rates.row(&[&self.mode, &key, "-", kernel, &size, &self.program, &files], None)
    }
}

impl NewKey {
    /// Sums up times, which are not empty: to the end, and to the launch if there is one.
    pub fn new(engine: &Engine, bits: KeyBits, bytes: usize, to_launch: Vec<Duration>, to_end: Vec<Duration>) -> Self {
        let keys = to_end.len();
        let launch = (!to_launch.is_empty()).then(|| min_and_median(to_launch));
        NewKey {
            mode: MeasuredMode::CTR.name.into(),
            key_bits: bits.bits(),
            bytes,
            backend: engine.backend().to_string(),
            keys,
            min_seconds_to_launch: launch.map(|(min, _)| min),
            median_seconds_to_launch: launch.map(|(_, median)| median),
            median_seconds_to_end: min_and_median(to_end).1,
        }
    }

    /// A line below the table.
    pub fn row(&self) -> String {
        let launch = |seconds| format!("launched after {}, ", microseconds(seconds));
        format!(
            "new key, {} bits, {}, {}: {}{} encrypted after {} (median of {})\n",
            self.key_bits,
            self.mode,
            self.backend,
            self.median_seconds_to_launch.map_or(String::new(), launch),
            size(self.bytes as u64),
            microseconds(self.median_seconds_to_end),
            counted(self.keys, "key"),
        )
    }
}

fn microseconds(seconds: f64) -> String {
    format!("{:.2} µs", seconds * 1e6)
}

/// In seconds. The median of an even number of times is the mean of the two in the middle. A time too short for the clock counts as one
/// nanosecond.
pub fn min_and_median(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let seconds = |index: usize| times[index].max(Duration::from_nanos(1)).as_secs_f64();
    let last = times.len() - 1;
    (seconds(0), (seconds(last / 2) + seconds(last.div_ceil(2))) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let seconds = |times: &[u64]| min_and_median(times.iter().map(|&s| Duration::from_secs(s)).collect());
        assert_eq!(seconds(&[7]), (7.0, 7.0));
        assert_eq!(seconds(&[9, 1, 2]), (1.0, 2.0));
        assert_eq!(seconds(&[4, 3, 1, 9]), (1.0, 3.5));
    }
}
