//! Measures some papers' cases, one after the other.

use crate::case::{Case, Work};
use crate::measure::data::{Data, Keys};
use crate::measure::date::date;
use crate::measure::devices::Devices;
use crate::measure::kernels::Kernels;
use crate::measure::runs::Runs;
use crate::measure::sharded::{Opened, Setting};
use crate::measure::{copies, counters, host, processor, program};
use crate::measured::{Outcome, Price, Run, Times, Timing};
use crate::papers::all;
use crate::papers::paper::{Api, Paper};
use aes_bitslice_runtime::{Backend, Engine};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// The largest size of a quick run.
const QUICK: u64 = 1 << 20;

/// Measures some papers' tables; what is too large for a quick run is cut.
///
/// # Errors
/// Without the GPU and the compiler that a paper needs, or if no kernel opens. Everything else is recorded in the result, including missing
/// OpenCL devices, unless there is nothing to measure without them.
pub fn run(papers: &[&Paper], quick: bool, price: Option<Price>, commit: Option<String>) -> Result<Run> {
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

    let mut cases = all::cases(papers, devices.gpus.len());
    // Modes one after the other: each mode's expected output is computed once, and kept no longer than it is needed.
    let of_mode = |case: &Case| case.work.computes().map(|(mode, key_bits)| (mode.name(), key_bits));
    cases.sort_by_key(|case| (of_mode(case), case.bytes));
    let keys = Keys::generate()?;
    let bar = progress_bar(cases.len() as u64);
    bar.set_message("kernels are compiled");
    let kernels = Kernels::open(&devices, &keys, &cases).inspect_err(|_| bar.finish_and_clear())?;
    let cut = |bytes: u64| largest.map_or(bytes, |largest| bytes.min(largest)) as usize;
    let most = cases.iter().map(|case| cut(case.bytes)).max();
    let most = most.context("there is nothing to measure of this on this machine: it takes several GPUs")?;
    let mut bench = Bench { data: Data::new(&keys, most)?, devices, keys, kernels, sharded: Opened::default(), runs };
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
    bar.set_message("the profiler counts");
    let counters = if quick { BTreeMap::new() } else { counters::of(papers) };
    bar.finish_and_clear();
    Ok(Run {
        version: env!("CARGO_PKG_VERSION").into(),
        commit,
        date: date(SystemTime::now()),
        seconds: start.elapsed().as_secs_f64(),
        cpu: Engine::open(Backend::Cpu)?.description(),
        opencl: bench.devices.opencl(),
        gpus: bench.devices.gpus,
        price,
        largest,
        profiles: bench.kernels.profiles,
        counters,
        clock_beside: true,
        timings,
    })
}

/// What cases are timed with.
struct Bench {
    devices: Devices,
    keys: Keys,
    kernels: Kernels,
    sharded: Opened,
    data: Data,
    runs: Runs,
}

impl Bench {
    /// The times of a case on this number of bytes.
    fn time(&mut self, case: &Case, bytes: usize) -> Result<Times> {
        let Bench { devices, keys, kernels, sharded, data, runs } = self;
        if let Some((mode, key_bits)) = case.work.computes() {
            data.expect(mode, key_bits)?;
        }
        let mut clock_mhz = None;
        let mut with_clock = |(times, mhz)| {
            clock_mhz = mhz;
            times
        };
        let times = match &case.work {
            Work::Kernel(kernel) => {
                let (_, memory, clock) = devices.cuda()?;
                with_clock(memory.time(kernels.get(None, kernel)?, kernel.mode, bytes, data, *runs, clock)?)
            }
            Work::Copied { kernel, chunks, memory } => {
                let (_, _, clock) = devices.cuda()?;
                let cipher = kernels.get(None, kernel)?;
                with_clock(copies::time(cipher, kernel.mode, bytes, (*chunks, *memory), data, *runs, clock)?)
            }
            Work::CopiesAlone { chunks } => {
                let (engine, _, clock) = devices.cuda()?;
                with_clock(copies::time_alone(engine, bytes, *chunks, data, *runs, clock)?)
            }
            Work::Allocation => copies::time_allocation(devices.engine(None)?, bytes, *runs)?,
            Work::Program(what) => {
                let (engine, _, clock) = devices.cuda()?;
                with_clock(program::time(engine, what, keys, bytes, data, *runs, clock)?)
            }
            Work::Processor(what) => processor::time(*what, keys, bytes, data, *runs)?,
            Work::Sharded { kernel, gpus, shares, data: place, slowed } => {
                let gpus = &devices.gpus[..*gpus];
                let setting = Setting { gpus, shares: *shares, data: *place, slowed: *slowed };
                sharded.time(keys, kernel, setting, bytes, data, *runs)?
            }
            Work::OpenCl { kernel, on } => {
                let cipher = kernels.get(Some(*on), kernel)?;
                let (memory, clock) = devices.opencl_memory(*on)?;
                with_clock(memory.time(cipher, kernel.mode, bytes, data, *runs, clock)?)
            }
            Work::Host { backend, mode, key_bits } => {
                host::time(*backend, *mode, keys.get(*key_bits), bytes, data, *runs)?
            }
        };
        Ok(Times { clock_mhz, ..Times::new(&times) })
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::cuda;

    /// The error is one line, and nothing is measured.
    #[test]
    fn without_a_gpu_there_is_nothing_to_measure() {
        if cuda::devices().is_err() {
            let error = run(&all::ALL, true, None, None).unwrap_err().to_string();
            assert!(!error.contains('\n') && error.contains("CUDA"), "{error}");
        }
    }
}
