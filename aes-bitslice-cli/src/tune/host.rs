//! The CPU against the GPU on data in host memory: whole calls, transfers counted.

use std::time::Duration;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::cuda::HostRates;
use aes_bitslice_runtime::{Backend, Engine};
use indicatif::ProgressBar;

use super::subject::{Subject, rate};
use crate::args::bench::Timing;
use crate::args::size::Size;
use crate::bench::case::{Case, Keyed};
use crate::bench::host;
use crate::bench::host_data::HostData;
use crate::error::Result;
use crate::modes::mode::Sectors;

/// The largest size: from there on nothing fits in a cache, and the faster engine stays faster.
const LARGEST: u64 = 256 << 20;

/// About the rate of a slow engine, in bytes a second.
const SLOW: f64 = 4e9;

/// Times both engines for every subject and size, in `time` altogether.
pub fn measure(
    engine: &Engine,
    subjects: &[Subject],
    sizes: &[u64],
    time: Duration,
    bar: &ProgressBar,
) -> Result<Vec<HostRates>> {
    let sizes: Vec<_> = sizes.iter().copied().filter(|&bytes| bytes <= LARGEST).collect();
    bar.inc_length((subjects.len() * sizes.len()) as u64);
    let slice = time / (2 * subjects.len() * sizes.len()).max(1) as u32;
    let mut data = HostData::new(sizes.last().copied().unwrap_or_default() as usize)?;
    let cpu = Engine::open(Backend::Cpu)?;
    let mut all = Vec::new();
    for Subject { mode, kernels, key } in subjects {
        let (on_cpu, on_gpu) = (cpu.cipher(key)?, engine.cipher(key)?);
        for &bytes in &sizes {
            bar.set_message(format!("{}, {}, in host memory", mode.name, size(bytes)));
            let runs = (slice.as_secs_f64() * SLOW / bytes as f64).clamp(2.0, 20.0) as u32;
            let sectors = Sectors::DEFAULT;
            let keyed = Keyed { index: 0, key, reference: &on_cpu, mode: *mode, sectors, keys: None, runs };
            let case = Case::new(keyed, Size { messages: None, each: bytes as usize }, &mut data)?;
            let cpu = rate(bytes, host::time(&case, &on_cpu, Timing::Host, &mut data)?);
            let cuda = rate(bytes, host::time(&case, &on_gpu, Timing::Host, &mut data)?);
            all.push(HostRates { mode: *kernels, key_bits: key.bits(), bytes, cpu, cuda });
            bar.inc(1);
        }
    }
    Ok(all)
}
