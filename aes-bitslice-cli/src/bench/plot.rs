//! The results as a picture: throughput over size, a line for each mode and key length, as SVG.

use std::collections::{BTreeMap, BTreeSet};

use aes_bitslice_plot::{self as plot, Chart, Line, Lines, colour, dashes};

use super::report::{Measured, Report};
use crate::args::bench::{BenchArgs, Timing};
use crate::error::{Error, Exit, Result};

/// The points of a plot by mode and key length: the base-2 logarithm of the bytes, and Tbit/s.
type Points<'a> = BTreeMap<(&'a str, usize), Vec<(f64, f64)>>;

/// The timings that can be drawn, the first that was asked for before the others, and what they are called.
const TIMINGS: [(Timing, &str); 6] = [
    (Timing::Device, "device memory, kernel time"),
    (Timing::Stream, "device memory, calls in a row"),
    (Timing::Host, "host memory, whole calls"),
    (Timing::HostInPlace, "host memory, whole calls in place"),
    (Timing::Pinned, "pinned host memory, whole calls"),
    (Timing::PinnedInPlace, "pinned host memory, whole calls in place"),
];

/// An error if nothing that the options ask for can be drawn: before it is measured.
pub fn check(args: &BenchArgs) -> Result<()> {
    let refuse =
        |what: &str| Err(Error::usage(format!("--plot draws the throughput of calls on one message, and {what}")));
    if args.sizes.iter().all(|size| size.messages.is_some()) {
        refuse("--sizes has many messages only")
    } else if !args.timings.iter().any(|&timing| is_drawn(timing)) {
        let names: Vec<_> = TIMINGS.iter().map(|(timing, _)| timing.name()).collect();
        refuse(&format!("--timings has none of {}", names.join(", ")))
    } else {
        Ok(())
    }
}

/// Whether results of this timing can be drawn.
fn is_drawn(timing: Timing) -> bool {
    TIMINGS.iter().any(|&(drawn, _)| drawn == timing)
}

/// Why a result is never drawn; `None` if it can be.
fn why_not(measured: &Measured) -> Option<&'static str> {
    if measured.messages.is_some() {
        Some("calls on many messages")
    } else if measured.strategy.as_deref().is_some_and(|strategy| strategy != "planes") {
        Some("kernels with the key baked in")
    } else {
        (!is_drawn(measured.timing)).then_some("other timings")
    }
}

/// A plot for each engine and choice of kernels, one above the other: of engines with device memory if that was timed, otherwise of all
/// with host memory, in the first of the ways in which that was timed.
///
/// # Errors
/// If no result can be drawn, or a size or a rate is not plausible.
pub fn svg(report: &Report) -> Result<String> {
    let bad = |what: &str| Err(Error::new(Exit::Failure, format!("cannot plot: {what}")));
    let results: Vec<_> = report.results.iter().filter(|measured| why_not(measured).is_none()).collect();
    let is_there = |&(timing, _): &(Timing, _)| results.iter().any(|measured| measured.timing == timing);
    let Some((timing, memory)) = TIMINGS.into_iter().find(is_there) else {
        let others: BTreeSet<_> = report.results.iter().filter_map(why_not).collect();
        if others.is_empty() {
            return bad("there are no results of calls");
        }
        let others: Vec<_> = others.into_iter().collect();
        return bad(&format!(
            "a plot shows calls on one message with the key given at launch, and the results are of {}",
            others.join(" and ")
        ));
    };
    let mut plots: BTreeMap<(&str, &str), Points> = BTreeMap::new();
    for measured in results.into_iter().filter(|measured| measured.timing == timing) {
        let Measured { backend, mode, key_bits, bytes, rates, .. } = measured;
        let rate = &rates.median_tbits_per_second;
        if !plot::is_plausible(*bytes as u64, *rate) {
            return bad("a size or a rate is impossible");
        }
        let points = plots.entry((backend, measured.kernel.as_deref().unwrap_or("auto"))).or_default();
        points.entry((mode, *key_bits)).or_default().push(((*bytes as f64).log2(), *rate));
    }
    let mut modes: Vec<&str> = Vec::new();
    for measured in &report.results {
        modes.extend((!modes.contains(&&*measured.mode)).then_some(&*measured.mode));
    }
    let line = |((mode, key_bits), mut points): ((&str, usize), Vec<(f64, f64)>)| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let name = format!("{mode}, {key_bits} bits");
        Line { name, colour: colour_of(mode, &modes), dashes: dashes_of(key_bits), points }
    };
    let chart = |((backend, kernel), points): ((&str, &str), Points)| {
        let engine = report.engines.iter().find(|e| e.backend == backend).map_or(backend, |e| &e.description);
        let kernel = if kernel == "auto" { String::new() } else { format!(", kernel {kernel}") };
        Chart::Lines(Lines {
            title: format!("AES on {engine}{kernel}: {memory}"),
            x: "size of a call",
            y: "Tbit/s, median",
            lines: points.into_iter().map(line).collect(),
        })
    };
    Ok(plot::svg(&plots.into_iter().map(chart).collect::<Vec<_>>()))
}

/// A mode's colour, by its place among the `modes` that were measured, as far as there are colours.
fn colour_of(mode: &str, modes: &[&str]) -> &'static str {
    const COLOURS: [&str; 6] =
        [colour::VERMILION, colour::GREEN, colour::PURPLE, colour::BLUE, colour::ORANGE, colour::SKY_BLUE];
    let place = modes.iter().position(|known| *known == mode);
    place.and_then(|place| COLOURS.get(place)).copied().unwrap_or(colour::GREY)
}

/// How the line of a key length is broken.
fn dashes_of(key_bits: usize) -> &'static str {
    match key_bits {
        128 => dashes::SOLID,
        192 => dashes::LONG,
        _ => dashes::DOTS,
    }
}
