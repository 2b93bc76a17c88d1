//! What won, and by how much, as tables for people.

use std::fmt::Write as _;
use std::path::Path;

use aes_bitslice_plot::size;
use aes_bitslice_runtime::Kernels;
use aes_bitslice_runtime::cuda::{Measurements, Rate};

use super::kernels::Timed;
use crate::info;

/// The tables, and where the results are kept.
pub fn text(kernels: &[Timed], measurements: &Measurements, file: Option<&Path>) -> String {
    let subject = &measurements.subject;
    let mut text = format!("{}, driver {}; {}\n\n", subject.gpu, subject.driver, subject.cpu);
    let _ = writeln!(
        text,
        "In the memory of the GPU: the fastest constant-time kernel; the fastest of all, which has to be asked for\n\
         (--kernel auto-any), and how much faster that is\n\n\
         {:<12} {:>4} {:>8}  {:<16} {:>9}  {:<16} {:>9} {:>8}",
        "mode", "key", "size", "auto", "GB/s", "auto-any", "GB/s", ""
    );
    for (timed, best) in kernels.iter().zip(&measurements.kernels) {
        let fastest = |kernels| best.fastest(kernels, |_| true);
        let Some((auto, any)) = fastest(Kernels::Auto).zip(fastest(Kernels::AutoAny)) else { continue };
        let _ = writeln!(
            text,
            "{:<12} {:>4} {:>8}  {:<16} {:>9.3}  {:<16} {:>9.3} {:>8}",
            timed.mode.name,
            timed.key_bits.bits(),
            size(timed.bytes),
            auto.kernel.to_string(),
            auto.gbytes_per_second,
            any.kernel.to_string(),
            any.gbytes_per_second,
            gain(any, auto),
        );
    }
    let _ = writeln!(
        text,
        "\nIn host memory, transfers counted\n\n{:<12} {:>4} {:>8} {:>9} {:>9}",
        "mode", "key", "size", "cpu GB/s", "cuda GB/s"
    );
    for host in &measurements.host {
        let _ = writeln!(
            text,
            "{:<12} {:>4} {:>8} {:>9.3} {:>9.3}",
            host.mode.name(),
            host.key_bits.bits(),
            size(host.bytes),
            host.cpu,
            host.cuda
        );
    }
    text.push('\n');
    for host in &measurements.host {
        // The first of each mode and key length.
        if measurements.host.iter().find(|h| (h.mode, h.key_bits) == (host.mode, host.key_bits)) == Some(host) {
            let from = measurements.cuda_from(host.mode, host.key_bits);
            let _ = writeln!(text, "{:<12} {:>4}  {}", host.mode.name(), host.key_bits.bits(), info::crossover(from));
        }
    }
    let kept = file.map_or("nothing was kept".into(), |file| format!("kept in `{}`", file.display()));
    let _ = writeln!(text, "\n{kept}");
    text
}

/// By how much a kernel is faster than another, in percent; empty if both are one kernel.
fn gain(ours: Rate, theirs: Rate) -> String {
    if ours.kernel == theirs.kernel {
        String::new()
    } else {
        format!("{:+.1} %", 100.0 * (ours.gbytes_per_second / theirs.gbytes_per_second - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::measured::MeasuredMode;
    use aes_bitslice_runtime::cuda::{HostRates, Subject};
    use aes_bitslice_runtime::{KeyBits, Mode};

    #[test]
    fn what_won_is_shown_with_by_how_much_and_where_it_is_kept() {
        let rate = |kernel: &str, rate| Rate { kernel: kernel.parse().unwrap(), gbytes_per_second: rate };
        let candidates = vec![rate("bitsliced", 110.0), rate("tbox", 165.0)];
        let timed = [Timed {
            mode: MeasuredMode::CTR,
            kernels: Mode::Ctr,
            key_bits: KeyBits::Aes128,
            bytes: 1 << 30,
            candidates,
        }];
        let host = |bytes, cuda| HostRates { mode: Mode::Ctr, key_bits: KeyBits::Aes128, bytes, cpu: 2.0, cuda };
        let named = |name: &str| name.to_string();
        let measurements = Measurements {
            subject: Subject { gpu: named("GPU"), driver: named("1"), version: named("0"), cpu: named("1 thread") },
            kernels: timed.iter().map(Timed::fastest).collect(),
            host: vec![host(1 << 20, 1.0), host(4 << 20, 4.0)],
        };
        let shown = text(&timed, &measurements, Some(Path::new("/cache/tuning.json")));
        let row = shown.lines().find(|line| line.starts_with("ctr") && line.contains("1 GiB")).unwrap();
        for part in ["bitsliced", "110.000", "tbox", "165.000", "+50.0 %"] {
            assert!(row.contains(part), "{part} in {row}");
        }
        assert!(shown.contains("cpu up to 2.00 MiB, cuda above"), "{shown}");
        assert!(shown.ends_with("kept in `/cache/tuning.json`\n"), "{shown}");
        assert!(text(&timed, &measurements, None).ends_with("nothing was kept\n"));
    }
}
