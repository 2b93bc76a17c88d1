//! Runs with made-up times, for tests.

use crate::case::{Case, Work};
use crate::measured::{COUNTERS, Clock, Gpu, Kind, Measured, OpenClDevice, Outcome, Profile, Run, Times, Timing};
use crate::papers::all::{ALL, cases};
use crate::papers::paper::Paper;
use std::collections::BTreeMap;

/// Some papers measured on a machine with this number of GPUs, with made-up times.
pub fn made_up_run(papers: &[&Paper], gpus: usize) -> Run {
    let gpu = Gpu {
        name: "GPU of the test".into(),
        compute_capability: "9.0".into(),
        multiprocessors: 100,
        clock_mhz: 2000,
        memory_bytes: 64 << 30,
        driver: "CUDA 13.0".into(),
        memory_clock_mhz: Some(3000),
        memory_bus_bits: Some(5000),
        ecc: Some(true),
        driver_release: Some("580.1".into()),
    };
    let device = |kind| OpenClDevice {
        platform: "platform of the test".into(),
        name: format!("{kind} of OpenCL"),
        kind,
        driver: "1.2".into(),
        compute_units: 12,
        clock: Clock::Device,
    };
    let timing = |(index, case): (usize, Case)| Timing {
        table: case.table.into(),
        case: case.name,
        bytes: case.bytes,
        outcome: Outcome::Timed(Times {
            clock_mhz: Some(1900.0),
            ..Times::new(&[1e-5 + case.bytes as f64 * (1.0 + index as f64) / 1e12])
        }),
    };
    Run {
        version: "0".into(),
        commit: Some("0a1b2c3".into()),
        date: "2026-01-02".into(),
        seconds: 300.0,
        gpus: vec![gpu; gpus],
        opencl: [Kind::Gpu, Kind::Cpu].map(device).to_vec(),
        cpu: "a CPU".into(),
        price: None,
        largest: None,
        profiles: cases(papers, gpus).into_iter().filter_map(profile).collect(),
        counters: papers
            .iter()
            .flat_map(|paper| (paper.counted)())
            .map(|(_, kernel)| (kernel.name(), counters()))
            .collect(),
        clock_beside: true,
        timings: cases(papers, gpus).into_iter().enumerate().map(timing).collect(),
    }
}

/// The name and profile of a case's kernel, if its profile is shown.
fn profile(case: Case) -> Option<(String, Profile)> {
    let Work::Kernel(kernel) = case.work else { return None };
    let profile =
        Profile { registers: 40, local_bytes: 0, shared_bytes: 4352, threads: 256, thread_blocks: 6, occupancy: 0.75 };
    Some((kernel.name(), profile))
}

fn counters() -> BTreeMap<String, f64> {
    COUNTERS.iter().enumerate().map(|(i, name)| (name.to_string(), 1e6 * (1 + i) as f64)).collect()
}

/// Everything in one run.
pub fn made_up(gpus: usize) -> Measured {
    Measured { runs: vec![made_up_run(&ALL, gpus)] }
}
