//! What is measured, and where it is kept.

use std::time::Duration;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::cuda::{self, Measurements};
use aes_bitslice_runtime::{self as runtime, Backend, Engine, KeyBits};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::subject::Subject;
use super::{host, kernels, report};
use crate::args::tune::TuneArgs;
use crate::error::{Error, Exit, Result, warn};
use crate::modes::measured::MeasuredMode;
use crate::output;

/// Powers of four from 4 KiB to 4 GiB.
const SIZES: [u64; 11] = {
    let mut sizes = [4 << 10; 11];
    let mut i = 1;
    while i < sizes.len() {
        sizes[i] = 4 * sizes[i - 1];
        i += 1;
    }
    sizes
};

/// Key lengths that are measured. 192 bits use what was fastest for 256.
const KEY_BITS: [KeyBits; 2] = [KeyBits::Aes128, KeyBits::Aes256];

/// Measures, keeps and shows.
pub fn run(args: &TuneArgs) -> Result<()> {
    let backend = Backend::Cuda { ordinal: args.device };
    let engine = Engine::open(backend).map_err(|error| match error {
        // The CPU, which the error names as an alternative, is not one here.
        runtime::Error::CudaUnavailable { what, help } => {
            Error::new(Exit::Gpu, format!("without a CUDA GPU there is nothing to tune: {what}; {help}"))
        }
        error => error.into(),
    })?;
    let device = cuda::devices()?.into_iter().find(|device| device.ordinal == args.device);
    let device = device.ok_or_else(|| Error::new(Exit::Gpu, format!("the GPU `{backend}` is gone")))?;
    let context = engine.cuda_context()?;
    let (free, _) = context.mem_get_info().map_err(|e| Error::new(Exit::Failure, format!("CUDA: {:?}", e.0)))?;
    let sizes = that_fit(free as u64);
    if sizes.is_empty() {
        let what = format!(
            "the GPU has {} of memory free, too little to measure anything; free some of it",
            size(free as u64)
        );
        return Err(Error::new(Exit::Failure, what));
    }
    if let Some(first) = SIZES.get(sizes.len()) {
        let what = format!(
            "sizes from {} on are left out: input and output of that size do not fit in the {} MiB of memory that the GPU \
             has free",
            size(*first),
            free >> 20
        );
        warn(&what);
    }

    let mut subjects = Vec::new();
    for bits in KEY_BITS {
        for (mode, kernels) in MeasuredMode::with_kernels() {
            let key = mode.generate_key(bits)?;
            match engine.cipher(&key)?.device()?.prepare(kernels) {
                Err(runtime::Error::NoSuchKernel { what }) if bits == KEY_BITS[0] => warn(&what),
                Err(runtime::Error::NoSuchKernel { .. }) => {}
                // Any other failure shows when it is measured.
                _ => subjects.push(Subject { mode, kernels, key }),
            }
        }
    }
    // A third for data in host memory.
    let time = Duration::from_secs(args.seconds.into());
    let bar = progress_bar();
    let kernels = kernels::measure(&engine, &subjects, sizes, time * 2 / 3, &bar);
    let host = kernels.and_then(|kernels| Ok((kernels, host::measure(&engine, &subjects, sizes, time / 3, &bar)?)));
    bar.finish_and_clear();
    let (kernels, host) = host?;

    let measurements = Measurements {
        subject: cuda::Subject::new(&device),
        kernels: kernels.iter().map(kernels::Timed::fastest).collect(),
        host,
    };
    // Results that took this long are shown even if they cannot be kept.
    let saved = if args.dry_run { Ok(None) } else { measurements.save().map(Some) };
    let file = saved.as_ref().ok().and_then(Option::as_deref);
    output::print(&if args.json { measurements.to_json() } else { report::text(&kernels, &measurements, file) })?;
    Ok(saved.map(drop)?)
}

/// The sizes whose input and output fit in `free` bytes of memory, in addition to what engine and driver need.
fn that_fit(free: u64) -> &'static [u64] {
    const RESERVED: u64 = 512 << 20;
    let fit = SIZES.iter().take_while(|&&size| 2 * size + RESERVED <= free).count();
    &SIZES[..fit]
}

/// A bar on standard error if it is a terminal, otherwise nothing. Its length is not known yet.
fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos} of {len} measured  {msg}") {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_fit() {
        assert_eq!((SIZES[0], SIZES[10]), (4 << 10, 4 << 30));
        assert_eq!(that_fit(u64::MAX), SIZES);
        assert_eq!(that_fit(8 << 30).last(), Some(&(1 << 30)), "two of 4 GiB, and nothing for the rest");
        assert_eq!(that_fit(9 << 30).last(), Some(&(4 << 30)));
        assert!(that_fit(1 << 20).is_empty());
    }
}
