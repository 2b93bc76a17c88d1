//! Cases timed on the devices of this machine; nothing here knows which paper they are from.
//!
//! | file | idea |
//! |---|---|
//! | `data` | random input, and what a mode makes of it |
//! | `devices` | the devices, opened |
//! | `kernels` | all kernels opened at the same time |
//! | `memory` | a kernel timed from one buffer in GPU memory to another |
//! | `copies` | a kernel timed between copies from and to pinned memory |
//! | `spread` | a kernel timed on several GPUs |
//! | `opencl` | a kernel timed through OpenCL |
//! | `host` | an engine on the processor, timed |
//!
//! A case that fails is recorded with its reason, and the others go on.

mod copies;
mod data;
mod devices;
mod host;
mod kernels;
mod memory;
mod opencl;
mod spread;

use crate::case::{Case, Work};
use crate::measured::{Outcome, Run, Times, Timing};
use crate::papers::{self, Api, Paper};
use aes_bitslice_runtime::cuda::cudarc::driver::DriverError;
use aes_bitslice_runtime::{Backend, Engine};
use anyhow::{Context, Error, Result, anyhow};
use data::{Data, Keys};
use devices::Devices;
use indicatif::{ProgressBar, ProgressStyle};
use kernels::Kernels;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The sizes of a quick run end here.
const QUICK: u64 = 1 << 20;

/// How often a case is run for its time.
#[derive(Clone, Copy)]
pub struct Runs {
    least: usize,
    most: usize,
    /// Fewer than `most` where they would take longer.
    seconds: f64,
}

impl Runs {
    const FULL: Self = Self { least: 5, most: 20, seconds: 0.5 };
    const QUICK: Self = Self { least: 1, most: 1, seconds: 0.0 };

    /// How many, if one takes so long.
    fn count(self, one: f64) -> usize {
        ((self.seconds / one) as usize).clamp(self.least, self.most)
    }
}

/// Measures some papers' tables; what is too large for a quick run is cut.
///
/// # Errors
/// Without the GPU and the compiler that a paper needs, or if not one kernel opens. Everything else is recorded in what is
/// returned: OpenCL devices that are missing, too, unless there is nothing to measure without them.
pub fn run(papers: &[&Paper], quick: bool, price: Option<f64>) -> Result<Run> {
    let start = Instant::now();
    let uses = |api| papers.iter().any(|paper| paper.api == api);
    let mut devices = Devices::none();
    if uses(Api::Cuda) {
        devices.open_cuda()?;
    }
    if uses(Api::OpenCl) {
        let opened = devices.open_opencl();
        if !uses(Api::Cuda) {
            opened?;
        }
    }
    let (largest, runs) = if quick { (Some(QUICK), Runs::QUICK) } else { (None, Runs::FULL) };

    let mut cases = papers::cases(papers, devices.gpus.len());
    // Modes one after the other: what each makes of the data is computed once, and kept no longer than it is needed.
    let of_mode = |case: &Case| case.work.computes().map(|(mode, key_bits)| (mode.name(), key_bits));
    cases.sort_by_key(|case| (of_mode(case), case.bytes));
    let keys = Keys::generate()?;
    let bar = progress_bar(cases.len() as u64);
    bar.set_message("kernels are compiled");
    let kernels = Kernels::open(&devices, &keys, &cases).inspect_err(|_| bar.finish_and_clear())?;
    let cut = |bytes: u64| largest.map_or(bytes, |largest| bytes.min(largest)) as usize;
    let most = cases.iter().map(|case| cut(case.bytes)).max().context("there are no cases")?;
    let mut bench = Bench { data: Data::new(&keys, most)?, devices, keys, kernels, runs };
    let mut timings = Vec::new();
    for case in &cases {
        bar.set_message(format!("{}: {}", case.table, case.name));
        let outcome = match bench.time(case, cut(case.bytes)) {
            Ok(times) => Outcome::Timed(times),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        };
        timings.push(Timing { table: case.table.into(), case: case.name.clone(), bytes: case.bytes, outcome });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Run {
        version: env!("CARGO_PKG_VERSION").into(),
        date: date(SystemTime::now()),
        seconds: start.elapsed().as_secs_f64(),
        cpu: Engine::open(Backend::Cpu)?.description(),
        opencl: bench.devices.opencl(),
        gpus: bench.devices.gpus,
        price,
        largest,
        timings,
    })
}

/// What cases are timed with.
struct Bench {
    devices: Devices,
    keys: Keys,
    kernels: Kernels,
    data: Data,
    runs: Runs,
}

impl Bench {
    /// The times of a case on so many bytes.
    fn time(&mut self, case: &Case, bytes: usize) -> Result<Times> {
        let Bench { devices, keys, kernels, data, runs } = self;
        if let Some((mode, key_bits)) = case.work.computes() {
            data.expect(mode, key_bits)?;
        }
        let times = match &case.work {
            Work::Kernel(kernel) => {
                devices.cuda_memory()?.time(kernels.get(None, kernel)?, kernel.mode, bytes, data, *runs)?
            }
            Work::Copied { kernel, pieces } => {
                copies::time(kernels.get(None, kernel)?, kernel.mode, bytes, *pieces, data, *runs)?
            }
            Work::Allocation => copies::time_allocation(devices.engine(None)?, bytes, *runs)?,
            Work::Spread { kernel, gpus, shares } => {
                spread::time(keys, kernel, &devices.gpus[..*gpus], *shares, bytes, data, *runs)?
            }
            Work::OpenCl { kernel, on } => {
                let cipher = kernels.get(Some(*on), kernel)?;
                devices.opencl_memory(*on)?.time(cipher, kernel.mode, bytes, data, *runs)?
            }
            Work::Host { backend, mode, key_bits } => {
                host::time(*backend, *mode, keys.get(*key_bits), bytes, data, *runs)?
            }
        };
        Ok(Times::new(times))
    }
}

/// An error of the driver, which has no words for it where there is no driver.
fn driver(error: DriverError) -> Error {
    anyhow!("CUDA: {:?}", error.0)
}

fn progress_bar(cases: u64) -> ProgressBar {
    let bar = ProgressBar::new(cases);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed}, {eta} to go\n{msg}") {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// The day in the Gregorian calendar, UTC.
fn date(time: SystemTime) -> String {
    let mut days = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::cuda;

    #[test]
    fn dates() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01");
        assert_eq!(at(951_782_399), "2000-02-28");
        assert_eq!(at(951_782_400), "2000-02-29");
        assert_eq!(at(951_868_800), "2000-03-01");
        assert_eq!(at(1_795_000_000), "2026-11-18");
        assert_eq!(at(4_102_444_799), "2099-12-31");
    }

    #[test]
    fn slow_cases_are_run_less_often() {
        let counts = [1e-6, 0.05, 0.5].map(|one| Runs::FULL.count(one));
        assert_eq!(counts, [20, 10, 5]);
        assert_eq!(Runs::QUICK.count(1e-6), 1);
    }

    /// One line says so, and nothing is measured.
    #[test]
    fn without_a_gpu_there_is_nothing_to_measure() {
        if cuda::devices().is_err() {
            let error = run(&papers::ALL, true, None).unwrap_err().to_string();
            assert!(!error.contains('\n') && error.contains("CUDA"), "{error}");
        }
    }
}
