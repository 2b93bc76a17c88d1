//! The measurements, as plain data: `papers.json`. Measuring writes it, rendering reads it, and neither knows the other.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fmt, fs};

/// Runs at different times, possibly on different machines; no paper is in two of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measured {
    /// The runs, at least one.
    pub runs: Vec<Run>,
}

/// Some papers' tables, measured in one go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Version of the program.
    pub version: String,
    /// The commit that the program was built from, if it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The day, in the form 2026-11-21, UTC.
    pub date: String,
    /// The time that it took, from the first kernel's compilation to the last check.
    pub seconds: f64,
    /// The CUDA GPUs of the machine, the measured one first. The others took part only where the data was sharded. None if no paper needs
    /// them.
    pub gpus: Vec<Gpu>,
    /// The OpenCL devices that were measured, at most one of each kind; none if no paper needs them.
    pub opencl: Vec<OpenClDevice>,
    /// The CPU, as its engine describes it.
    pub cpu: String,
    /// The price of one GPU, if the user gave it.
    pub price: Option<Price>,
    /// For a quick run, which only shows that everything works: larger cases were measured with this many bytes.
    pub largest: Option<u64>,
    /// The profiles of kernels that were printed in CUDA C, by name.
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
    /// The profiler's counts while kernels encrypted [`COUNTED_BYTES`], by kernel and counter; none where there is no profiler.
    #[serde(default)]
    pub counters: BTreeMap<String, BTreeMap<String, f64>>,
    /// Whether clocks were counted while cases ran; else right after their last run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clock_beside: bool,
    /// Everything that was to be timed.
    pub timings: Vec<Timing>,
}

/// The counters, as `ncu` names them.
pub const COUNTERS: [&str; 8] = [
    "smsp__inst_executed.sum",
    "smsp__inst_executed_pipe_alu.sum",
    "smsp__inst_executed_pipe_fma.sum",
    "smsp__inst_executed_pipe_lsu.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__inst_executed.avg.per_cycle_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
];

/// The bytes that kernels encrypt while the profiler counts.
pub const COUNTED_BYTES: u64 = 64 << 20;

/// The price of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// In dollars.
    pub dollars: f64,
    /// Who names it, and the date of the page or report that does.
    pub source: String,
}

/// The resources of a multiprocessor that a kernel takes, as the driver reports them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread, for spills and indexed arrays.
    pub local_bytes: u32,
    /// Bytes of shared memory per thread block.
    pub shared_bytes: u32,
    /// Threads per thread block.
    pub threads: u32,
    /// Thread blocks that a multiprocessor has at a time.
    pub thread_blocks: u32,
    /// Their threads, as a fraction of all that it may have.
    pub occupancy: f64,
}

/// A GPU, as its driver describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// Its compute capability, in the form 9.0.
    pub compute_capability: String,
    /// Its multiprocessors.
    pub multiprocessors: u32,
    /// Their highest clock, in MHz.
    pub clock_mhz: u32,
    /// Its memory.
    pub memory_bytes: u64,
    /// The newest CUDA that its driver supports.
    pub driver: String,
    /// The highest clock of its memory, in MHz.
    #[serde(default)]
    pub memory_clock_mhz: Option<u32>,
    /// Bits that its memory's bus transfers at a time.
    #[serde(default)]
    pub memory_bus_bits: Option<u32>,
    /// Whether its memory corrects errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<bool>,
    /// The release of its driver, where `nvidia-smi` tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_release: Option<String>,
}

/// An OpenCL device, as its driver describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenClDevice {
    /// The name of its platform.
    pub platform: String,
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// The release of its driver.
    pub driver: String,
    /// Its compute units: multiprocessors, or cores.
    pub compute_units: u32,
    /// The clock that timed it.
    pub clock: Clock,
}

/// A kind of OpenCL device.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Kind {
    #[serde(rename = "GPU")]
    Gpu,
    #[serde(rename = "CPU")]
    Cpu,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpu => "GPU",
            Self::Cpu => "CPU",
        })
    }
}

/// The clock that timed the work of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Its own.
    Device,
    /// The host's, which includes the launch and the notice of completion.
    Host,
}

/// A place in a table, and the outcome there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// The table.
    pub table: String,
    /// Its row, or column.
    pub case: String,
    /// Bytes that the table names.
    pub bytes: u64,
    /// The outcome.
    pub outcome: Outcome,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Times, of outputs that were right.
    Timed(Times),
    /// Why there are none.
    Failed(String),
}

/// The times of the runs of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The number of runs.
    pub runs: usize,
    /// The time of the median run.
    pub median_seconds: f64,
    /// The time of the fastest run.
    pub min_seconds: f64,
    /// The times between which the middle half of the runs is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quartiles: Option<[f64; 2]>,
    /// The time of each run in nanoseconds, in the order of the runs, with spaces between them; all else but the clock follows from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nanoseconds: Option<String>,
    /// The clock of the GPU's multiprocessors in MHz, as a kernel there counts it: [`Run::clock_beside`] says when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
}

/// Why there is no time for a case that is in no run.
pub const NOT_MEASURED: &str = "was not measured";

/// The name of a table's paper, with which the table's name begins.
pub fn paper_of(table: &str) -> &str {
    table.split_once(',').map_or(table, |(paper, _)| paper)
}

impl Times {
    /// Sums up times in seconds, at least one, rounded to nanoseconds. The median of an even number of times is the mean of the two in the
    /// middle; a clock too coarse to see anything counts as one nanosecond.
    pub fn new(seconds: &[f64]) -> Self {
        Self::of(&seconds.iter().map(|time| (1e9 * time).round().max(1.0) as u64).collect::<Vec<_>>())
    }

    fn of(nanoseconds: &[u64]) -> Self {
        let mut seconds: Vec<f64> = nanoseconds.iter().map(|&time| time as f64 / 1e9).collect();
        seconds.sort_by(f64::total_cmp);
        let last = seconds.len() - 1;
        let median_seconds = (seconds[last / 2] + seconds[last.div_ceil(2)]) / 2.0;
        let quartiles = Some([seconds[last / 4], seconds[last - last / 4]]);
        let nanoseconds = nanoseconds.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let (runs, min_seconds) = (seconds.len(), seconds[0]);
        Self { runs, median_seconds, min_seconds, quartiles, nanoseconds: Some(nanoseconds), clock_mhz: None }
    }

    /// Whether all else follows from the time of each run, where those are there.
    fn is_of_its_runs(&self) -> bool {
        let Some(nanoseconds) = &self.nanoseconds else { return true };
        let each: Result<Vec<u64>, _> = nanoseconds.split(' ').map(str::parse).collect();
        each.is_ok_and(|each| Self { clock_mhz: self.clock_mhz, ..Self::of(&each) } == *self)
    }

    /// How far apart the quartiles are, as a part of the median.
    pub fn spread(&self) -> Option<f64> {
        self.quartiles.map(|[first, third]| (third - first) / self.median_seconds)
    }
}

impl Measured {
    /// Reads what [`json`](Self::json) wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let foreign = || format!("`{}` is not what `cargo xtask papers` writes", path.display());
        let measured: Self = serde_json::from_str(&text).with_context(foreign)?;
        measured.check().with_context(|| format!("`{}`", path.display()))?;
        Ok(measured)
    }

    fn check(&self) -> Result<()> {
        if self.runs.is_empty() {
            bail!("there is no run in it");
        }
        let mut papers = BTreeSet::new();
        for run in &self.runs {
            for Timing { table, case, bytes, outcome } in &run.timings {
                if let Outcome::Timed(times) = outcome
                    && !(times.median_seconds > 0.0 && times.min_seconds > 0.0 && *bytes > 0)
                {
                    bail!("{table}, {case} has a time or a size that nothing has");
                }
                if matches!(outcome, Outcome::Timed(times) if !times.is_of_its_runs()) {
                    bail!("{table}, {case} has a median or a spread that its runs do not have");
                }
            }
            if run.gpus.is_empty() && run.opencl.is_empty() {
                bail!("the run of {} names no GPU, and no OpenCL device", run.date);
            }
            if let Some(twice) = run.papers().into_iter().find(|paper| !papers.insert(*paper)) {
                bail!("{twice} is in two runs");
            }
        }
        Ok(())
    }

    /// Indented JSON with a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// The run that a paper is in, by its name.
    pub fn of(&self, paper: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.papers().contains(paper))
    }

    /// These runs, after the results of older runs for papers that these do not have.
    pub fn after(self, mut older: Self) -> Self {
        let is_kept = |timing: &Timing| self.of(paper_of(&timing.table)).is_none();
        older.runs.iter_mut().for_each(|run| run.timings.retain(is_kept));
        older.runs.retain(|run| !run.timings.is_empty());
        older.runs.extend(self.runs);
        older
    }
}

impl Run {
    /// The names of the papers that it covers.
    pub fn papers(&self) -> BTreeSet<&str> {
        self.timings.iter().map(|timing| paper_of(&timing.table)).collect()
    }

    /// The OpenCL device of a kind.
    pub fn opencl(&self, kind: Kind) -> Option<&OpenClDevice> {
        self.opencl.iter().find(|device| device.kind == kind)
    }

    /// The median time of a case in seconds, or why there is none.
    pub fn seconds(&self, table: &str, case: &str, bytes: u64) -> Result<f64, &str> {
        self.times(table, case, bytes).map(|times| times.median_seconds)
    }

    /// The times of a case, or why there are none.
    pub fn times(&self, table: &str, case: &str, bytes: u64) -> Result<&Times, &str> {
        let is_it = |timing: &&Timing| timing.table == table && timing.case == case && timing.bytes == bytes;
        match self.timings.iter().find(is_it).map(|timing| &timing.outcome) {
            Some(Outcome::Timed(times)) => Ok(times),
            Some(Outcome::Failed(why)) => Err(why),
            None => Err(NOT_MEASURED),
        }
    }

    /// The profile of a kernel, by its name.
    pub fn profile(&self, kernel: &str) -> Option<Profile> {
        self.profiles.get(kernel).copied()
    }

    /// The median rate of a case in Gbit/s (10^9 bits a second), or why there is none.
    pub fn gbits(&self, table: &str, case: &str, bytes: u64) -> Result<f64, &str> {
        let measured = self.largest.map_or(bytes, |largest| bytes.min(largest));
        Ok(8.0 * measured as f64 / self.seconds(table, case, bytes)? / 1e9)
    }

    /// The cases that were to be timed and were not, each with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&Timing, &str)> {
        self.timings.iter().filter_map(|timing| match &timing.outcome {
            Outcome::Failed(why) => Some((timing, why.as_str())),
            Outcome::Timed(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        let sums = |seconds: &[f64]| {
            let times = Times::new(seconds);
            (times.runs, times.min_seconds, times.median_seconds)
        };
        assert_eq!(sums(&[7.0]), (1, 7.0, 7.0));
        assert_eq!(sums(&[9.0, 1.0, 2.0]), (3, 1.0, 2.0));
        assert_eq!(sums(&[4.0, 3.0, 1.0, 9.0]), (4, 1.0, 3.5));
        assert_eq!(sums(&[0.0]), (1, 1e-9, 1e-9));
        let quartiles = |count: u32| Times::new(&(1..=count).map(f64::from).collect::<Vec<_>>()).quartiles.unwrap();
        assert_eq!([1, 4, 5, 20].map(quartiles), [[1.0, 1.0], [1.0, 4.0], [2.0, 4.0], [5.0, 16.0]]);
        assert_eq!(Times::new(&[1.0, 2.0, 3.0, 4.0, 5.0]).spread(), Some(2.0 / 3.0));
    }

    #[test]
    fn medians_are_those_of_the_runs() {
        let times = Times { clock_mhz: Some(1980.0), ..Times::new(&[3.0000004e-6, 1e-6, 0.0]) };
        assert_eq!(times.nanoseconds.as_deref(), Some("3000 1000 1"));
        assert!(times.is_of_its_runs());
        assert!(!Times { median_seconds: 2e-6, ..times.clone() }.is_of_its_runs());
        assert!(!Times { nanoseconds: Some("3000 1000".into()), ..times.clone() }.is_of_its_runs());
        assert!(!Times { nanoseconds: Some("3000 1000 ".into()), ..times.clone() }.is_of_its_runs());
        assert!(Times { nanoseconds: None, ..times }.is_of_its_runs(), "of an older run");
    }
}
