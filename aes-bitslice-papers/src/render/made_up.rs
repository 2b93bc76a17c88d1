//! Runs with made-up times, for tests.

use crate::case::Case;
use crate::measured::{Clock, Gpu, Kind, Measured, OpenClDevice, Outcome, Run, Times, Timing};
use crate::papers::all::{ALL, cases};
use crate::papers::paper::Paper;

/// Some papers measured on a machine with this number of GPUs, with made-up times.
pub fn made_up_run(papers: &[&Paper], gpus: usize) -> Run {
    let gpu = Gpu {
        name: "GPU of the test".into(),
        compute_capability: "9.0".into(),
        multiprocessors: 100,
        clock_mhz: 2000,
        memory_bytes: 64 << 30,
        driver: "CUDA 13.0".into(),
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
        outcome: Outcome::Timed(Times::new(vec![1e-5 + case.bytes as f64 / (1e11 + 1e9 * index as f64)])),
    };
    Run {
        version: "0".into(),
        date: "2026-01-02".into(),
        seconds: 300.0,
        gpus: vec![gpu; gpus],
        opencl: [Kind::Gpu, Kind::Cpu].map(device).to_vec(),
        cpu: "a CPU".into(),
        price: None,
        largest: None,
        timings: cases(papers, gpus).into_iter().enumerate().map(timing).collect(),
    }
}

/// Everything in one run.
pub fn made_up(gpus: usize) -> Measured {
    Measured { runs: vec![made_up_run(&ALL, gpus)] }
}
