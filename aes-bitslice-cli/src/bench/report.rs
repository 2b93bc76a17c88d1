//! The results, as a table for people and as JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::cuda;
use aes_bitslice_runtime::{Backend, Engine, KeyBits};
use serde::{Deserialize, Serialize};

use crate::args::{BenchMode, KernelName, Strategy};
use crate::error::{Error, Exit, Result};

/// Everything measured.
#[derive(Serialize, Deserialize)]
pub struct Report {
    /// Version of the program.
    pub version: String,
    pub engines: Vec<EngineLine>,
    pub results: Vec<Measured>,
    #[serde(default)]
    pub new_keys: Vec<NewKey>,
    /// What was asked for and could not be measured, and why.
    #[serde(default)]
    pub skipped: Vec<String>,
}

/// An engine that was measured.
#[derive(Serialize, Deserialize)]
pub struct EngineLine {
    pub backend: String,
    pub description: String,
    /// The newest CUDA that the GPU's driver supports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiprocessors: Option<u32>,
}

/// What the clock saw of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// All of it, from host memory to host memory.
    Host,
    /// The kernel, from and to device memory.
    Device,
}

/// The runs of one case.
#[derive(Serialize, Deserialize)]
pub struct Measured {
    pub mode: String,
    pub key_bits: usize,
    /// How a GPU kernel has its key.
    #[serde(default)]
    pub strategy: Option<String>,
    /// Which kernels a GPU might use; of a kernel with the key baked in, nothing.
    #[serde(default)]
    pub kernel: Option<String>,
    pub bytes: usize,
    pub backend: String,
    pub timing: Clock,
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

/// How long new keys took on an engine that was open and had its kernels loaded, the GPU idle: from the bytes of the key
/// on.
#[derive(Serialize, Deserialize)]
pub struct NewKey {
    pub mode: String,
    pub key_bits: usize,
    /// What was encrypted first.
    pub bytes: usize,
    pub backend: String,
    /// How many keys there were.
    pub keys: usize,
    /// To the return of the call that launches the first kernel.
    pub min_seconds_to_launch: Option<f64>,
    pub median_seconds_to_launch: Option<f64>,
    /// To the end of what was encrypted first.
    pub median_seconds_to_end: f64,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(engines: &[Engine]) -> Self {
        let devices = cuda::devices().unwrap_or_default();
        let line = |engine: &Engine| {
            let backend = engine.backend();
            let device = devices.iter().find(|d| backend == Backend::Cuda { ordinal: d.ordinal });
            EngineLine {
                backend: backend.to_string(),
                description: engine.description(),
                driver_version: device.map(|d| d.driver_version.clone()),
                multiprocessors: device.map(|d| d.multiprocessors),
            }
        };
        Report {
            version: env!("CARGO_PKG_VERSION").into(),
            engines: engines.iter().map(line).collect(),
            results: Vec::new(),
            new_keys: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Reads what `--json` wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| Error::io(format!("cannot read `{}`", path.display()), &error))?;
        serde_json::from_str(&text).map_err(|error| {
            let message = format!("`{}` is not what `bench --json` writes: {error}", path.display());
            Error::new(Exit::InputOutput, message)
        })
    }

    /// What stands above the rows.
    pub fn heading(&self) -> String {
        let mut text = String::new();
        for EngineLine { backend, description, .. } in &self.engines {
            let _ = writeln!(text, "{backend}: {description}");
        }
        let _ = writeln!(
            text,
            "\n{:<12} {:>4} {:<12} {:<9} {:>8}  {:<14} {:<6} {:>12} {:>12} {:>9} {:>9} {:>9}",
            "mode", "key", "strategy", "kernel", "size", "engine", "timing", "min", "median", "max", "median", "median",
        );
        let _ = writeln!(text, "{:>106} {:>9} {:>9}", "GB/s", "GB/s", "Tbit/s");
        text
    }
}

impl Measured {
    /// Sums up `times`, which are not empty.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        engine: &Engine,
        mode: BenchMode,
        bits: KeyBits,
        strategy: Strategy,
        kernel: Option<KernelName>,
        bytes: usize,
        timing: Clock,
        times: Vec<Duration>,
    ) -> Self {
        let runs = times.len();
        let (min, median) = min_and_median(times);
        let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
        let on_gpu = matches!(engine.backend(), Backend::Cuda { .. });
        Measured {
            mode: mode.name(),
            key_bits: bits.bits(),
            strategy: on_gpu.then(|| strategy.name()),
            kernel: kernel.filter(|_| on_gpu).map(|kernel| kernel.kernels().to_string()),
            bytes,
            backend: engine.backend().to_string(),
            timing,
            runs,
            min_seconds: min,
            median_seconds: median,
            median_gbytes_per_second: rate(median),
            max_gbytes_per_second: rate(min),
            median_tbits_per_second: rate(median) * 8.0 / 1e3,
        }
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<12} {:>4} {:<12} {:<9} {:>8}  {:<14} {:<6} {:>12} {:>12} {:>9.3} {:>9.3} {:>9.4}\n",
            self.mode,
            self.key_bits,
            self.strategy.as_deref().unwrap_or("-"),
            self.kernel.as_deref().unwrap_or("-"),
            size(self.bytes as u64),
            self.backend,
            format!("{:?}", self.timing).to_lowercase(),
            microseconds(self.min_seconds),
            microseconds(self.median_seconds),
            self.max_gbytes_per_second,
            self.median_gbytes_per_second,
            self.median_tbits_per_second,
        )
    }
}

impl NewKey {
    /// Sums up times, which are not empty: to the end, and to the launch where there is one.
    pub fn new(engine: &Engine, bits: KeyBits, bytes: usize, to_launch: Vec<Duration>, to_end: Vec<Duration>) -> Self {
        let keys = to_end.len();
        let launch = (!to_launch.is_empty()).then(|| min_and_median(to_launch));
        NewKey {
            mode: BenchMode::Ctr.name(),
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
            "new key, {} bits, {}, {}: {}{} encrypted after {} (median of {} keys)\n",
            self.key_bits,
            self.mode,
            self.backend,
            self.median_seconds_to_launch.map_or(String::new(), launch),
            size(self.bytes as u64),
            microseconds(self.median_seconds_to_end),
            self.keys,
        )
    }
}

fn microseconds(seconds: f64) -> String {
    format!("{:.2} µs", seconds * 1e6)
}

/// In seconds. The median of an even number of times is the mean of the two in the middle. A clock too coarse to
/// see anything counts as one nanosecond.
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
