//! Shows progress: a bar on standard error if it is a terminal, and a line when the work is done.

use std::io::{self, Write};
use std::time::Duration;

use aes_bitslice_runtime::Backend;
use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar for `length` bytes, if known. It is hidden if there is no terminal, and if `quiet`.
pub fn bar(length: Option<u64>, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(length, target);
    let template = match length {
        Some(_) => "{wide_bar} {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  {eta} left",
        None => "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}

/// Removes the bar; if all `went_well`, leaves a summary line in its place.
pub fn finish(bar: &ProgressBar, backend: Backend, went_well: bool) {
    // Made before the bar is cleared; then printed on a separate line, so that the prompt gets an empty one.
    let summary = (went_well && !bar.is_hidden()).then(|| summary(bar.position(), bar.elapsed(), backend));
    bar.finish_and_clear();
    if let Some(summary) = summary {
        let _ = writeln!(io::stderr(), "{summary}");
    }
}

fn summary(bytes: u64, elapsed: Duration, backend: Backend) -> String {
    let rate = HumanBytes((bytes as f64 / elapsed.as_secs_f64()) as u64);
    format!("{} in {elapsed:.1?}, {rate}/s on {backend}", HumanBytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_rate() {
        let shown = summary(3 << 30, Duration::from_secs(2), Backend::Cpu);
        assert_eq!(shown, "3.00 GiB in 2.0s, 1.50 GiB/s on cpu");
    }
}
