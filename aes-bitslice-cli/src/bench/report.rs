//! The results, as a table for people and as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use aes_bitslice_runtime::{Engine, KeyBits};
use indicatif::HumanBytes;
use serde::Serialize;

use crate::args::BenchMode;

/// Everything measured.
#[derive(Serialize)]
pub struct Report {
    version: &'static str,
    engines: Vec<EngineLine>,
    results: Vec<Measured>,
}

#[derive(Serialize)]
struct EngineLine {
    backend: String,
    description: String,
}

/// What the clock saw.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Timing {
    /// The call, from host memory to host memory.
    Host,
    /// The kernel, from and to device memory.
    Device,
}

/// The runs of one case.
#[derive(Serialize)]
pub struct Measured {
    mode: String,
    key_bits: usize,
    bytes: usize,
    backend: String,
    timing: Timing,
    runs: usize,
    min_seconds: f64,
    median_seconds: f64,
    /// 10^9 bytes a second, of the median run.
    median_gbytes_per_second: f64,
    /// 10^9 bytes a second, of the fastest run.
    max_gbytes_per_second: f64,
}

impl Report {
    /// Nothing measured yet.
    pub fn new(engines: &[Engine]) -> Self {
        let line = |e: &Engine| EngineLine { backend: e.backend().to_string(), description: e.description() };
        Report { version: env!("CARGO_PKG_VERSION"), engines: engines.iter().map(line).collect(), results: Vec::new() }
    }

    /// Adds a result.
    pub fn push(&mut self, measured: Measured) {
        self.results.push(measured);
    }

    /// What stands above the rows.
    pub fn heading(&self) -> String {
        let mut text = String::new();
        for EngineLine { backend, description } in &self.engines {
            let _ = writeln!(text, "{backend}: {description}");
        }
        let _ = writeln!(
            text,
            "\n{:<12} {:>4} {:>10}  {:<14} {:<6} {:>10} {:>10} {:>8} {:>8} {:>8}",
            "mode", "key", "size", "engine", "timing", "min", "median", "max", "median", "median",
        );
        let _ = writeln!(text, "{:>82} {:>8} {:>8}", "GB/s", "GB/s", "Tbit/s");
        text
    }
}

impl Measured {
    /// Sums up `times`, which are not empty.
    pub fn new(
        engine: &Engine,
        mode: BenchMode,
        bits: KeyBits,
        bytes: usize,
        timing: Timing,
        times: Vec<Duration>,
    ) -> Self {
        let runs = times.len();
        let (min, median) = min_and_median(times);
        let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
        Measured {
            mode: mode.name(),
            key_bits: bits.bits(),
            bytes,
            backend: engine.backend().to_string(),
            timing,
            runs,
            min_seconds: min,
            median_seconds: median,
            median_gbytes_per_second: rate(median),
            max_gbytes_per_second: rate(min),
        }
    }

    /// A row of the table.
    pub fn row(&self) -> String {
        format!(
            "{:<12} {:>4} {:>10}  {:<14} {:<6} {:>10} {:>10} {:>8.3} {:>8.3} {:>8.4}\n",
            self.mode,
            self.key_bits,
            HumanBytes(self.bytes as u64).to_string(),
            self.backend,
            format!("{:?}", self.timing).to_lowercase(),
            milliseconds(self.min_seconds),
            milliseconds(self.median_seconds),
            self.max_gbytes_per_second,
            self.median_gbytes_per_second,
            self.median_gbytes_per_second * 8.0 / 1000.0,
        )
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// In seconds. The median of an even number of times is the mean of the two in the middle. A clock too coarse to
/// see anything counts as one nanosecond.
fn min_and_median(mut times: Vec<Duration>) -> (f64, f64) {
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
