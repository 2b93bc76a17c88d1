//! The results as a picture: throughput over size, a line for each mode and length of key, as SVG.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::report::{Clock, Measured, Report, size};
use crate::error::{Error, Exit, Result};

/// Pixels of a plot.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 560.0;
/// Pixels around its axes, where numbers and names stand.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Pixels from one name to the next.
const LINE_SPACING: f64 = 18.0;

/// The lines of a plot by mode and length of key: the base-2 logarithm of the bytes, and Tbit/s.
type Lines<'a> = BTreeMap<(&'a str, usize), Vec<(f64, f64)>>;

/// A plot for each engine and choice of kernels, one above the other: of those with device memory where that was timed, else of all, from and
/// to host memory.
///
/// # Errors
/// If nothing was timed with keys given at launch, or a size or a rate is out of all bounds.
pub fn svg(report: &Report) -> Result<String> {
    let bad = |what: &str| Err(Error::new(Exit::Failure, format!("cannot plot: {what}")));
    let at_launch = |m: &&Measured| m.strategy.as_deref().is_none_or(|strategy| strategy == "planes");
    let results: Vec<_> = report.results.iter().filter(at_launch).collect();
    let on_device = results.iter().any(|measured| measured.timing == Clock::Device);
    let (clock, memory) = match on_device {
        true => (Clock::Device, "device memory, kernel time"),
        false => (Clock::Host, "host memory, whole calls"),
    };
    let mut plots: BTreeMap<(&str, &str), Lines> = BTreeMap::new();
    for measured in results.into_iter().filter(|measured| measured.timing == clock) {
        let Measured { backend, mode, key_bits, bytes, median_tbits_per_second: rate, .. } = measured;
        if !is_plausible(*bytes as u64, *rate) {
            return bad("a size or a rate is none that anything has");
        }
        let lines = plots.entry((backend, measured.kernel.as_deref().unwrap_or("auto"))).or_default();
        lines.entry((mode, *key_bits)).or_default().push(((*bytes as f64).log2(), *rate));
    }
    if plots.is_empty() {
        return bad("there are no results with keys given at launch");
    }
    let height = HEIGHT * plots.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (index, ((backend, kernel), mut lines)) in plots.into_iter().enumerate() {
        lines.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        let engine = report.engines.iter().find(|e| e.backend == backend).map_or(backend, |e| &e.description);
        let kernel = if kernel == "auto" { String::new() } else { format!(", kernel {kernel}") };
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", HEIGHT * index as f64);
        plot(&mut svg, &format!("AES on {engine}{kernel}: {memory}"), &lines);
        svg += "</g>\n";
    }
    Ok(svg + "</svg>\n")
}

/// Sizes and rates that a plot has room for; others are of no measurement.
fn is_plausible(bytes: u64, tbits: f64) -> bool {
    (1..=1 << 60).contains(&bytes) && (1e-12..1e6).contains(&tbits)
}

fn plot(svg: &mut String, title: &str, lines: &Lines) {
    let points = || lines.values().flatten();
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let first = points().map(|p| p.0).fold(f64::INFINITY, f64::min).floor();
    let last = points().map(|p| p.0).fold(first + 1.0, f64::max).ceil();
    let fastest = points().map(|p| p.1).fold(0.0, f64::max);
    let step = nice_step(fastest / 6.0);
    let top = (fastest / step).ceil() * step;
    let x = |power: f64| LEFT + (right - LEFT) * (power - first) / (last - first);
    let y = |rate: f64| bottom - (bottom - TOP) * rate / top;

    text(svg, (LEFT, 30.0), "start", "black", "font-size=\"17\" font-weight=\"bold\"", title);
    let line = |svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str| {
        let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" {style}/>");
    };
    let grid = "stroke=\"#e0e0e0\"";
    // At most a dozen powers of two.
    for power in (first as usize..=last as usize).step_by(((last - first) as usize).div_ceil(12)) {
        let x = x(power as f64);
        line(svg, (x, TOP), (x, bottom), grid);
        text(svg, (x, bottom + 20.0), "middle", "black", "", &size(1 << power));
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    for rate in (0..).map(|i| f64::from(i) * step).take_while(|&rate| rate <= top * 1.001) {
        line(svg, (LEFT, y(rate)), (right, y(rate)), grid);
        text(svg, (LEFT - 8.0, y(rate) + 5.0), "end", "black", "", &format!("{rate:.decimals$}"));
    }
    text(svg, ((LEFT + right) / 2.0, HEIGHT - 14.0), "middle", "black", "", "size of a call");
    let middle = (TOP + bottom) / 2.0;
    let turned = format!("transform=\"rotate(-90 18 {middle})\"");
    text(svg, (18.0, middle), "middle", "black", &turned, "Tbit/s, median");
    line(svg, (LEFT, bottom), (right, bottom), "stroke=\"black\"");
    line(svg, (LEFT, TOP), (LEFT, bottom), "stroke=\"black\"");

    // Names stand at the ends of their lines, from the top down, as far apart as text needs.
    let mut named: Vec<_> = lines.iter().filter_map(|(key, points)| Some((y(points.last()?.1), key, points))).collect();
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = TOP;
    let room = |left: usize| bottom - LINE_SPACING * left as f64;
    let count = named.len();
    for (index, (end, (mode, key_bits), points)) in named.into_iter().enumerate() {
        let style = format!("stroke=\"{0}\" fill=\"none\" stroke-width=\"2\"{1}", colour(mode), dashes(*key_bits));
        let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
        let _ = writeln!(svg, "<path d=\"M{}\" {style}/>", path.join("L"));
        for (power, rate) in points {
            let (x, y, colour) = (x(*power), y(*rate), colour(mode));
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let at = end.max(free).min(room(count - index - 1).max(free));
        free = at + LINE_SPACING;
        line(svg, (right + 8.0, at), (right + 38.0, at), &style);
        text(svg, (right + 44.0, at + 5.0), "start", colour(mode), "", &format!("{mode}, {key_bits} bits"));
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, style: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" {style}>{text}</text>"
    );
}

/// A mode's colour, from the palette of Okabe and Ito, which colour-blind readers can tell apart.
fn colour(mode: &str) -> &'static str {
    match mode {
        "ctr" => "#0072b2",
        "ecb-encrypt" => "#d55e00",
        "cbc-decrypt" => "#cc79a7",
        _ => "#009e73",
    }
}

/// How the line of a key length is broken.
fn dashes(key_bits: usize) -> &'static str {
    match key_bits {
        128 => "",
        192 => " stroke-dasharray=\"9 4\"",
        _ => " stroke-dasharray=\"2 4\"",
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is no smaller than `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0].map(|digit| digit * power).into_iter().find(|&step| step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        for (least, step) in [(1.0, 1.0), (1.1, 2.0), (0.7, 1.0), (0.03, 0.05), (6.0, 10.0), (450.0, 500.0)] {
            assert!(close(nice_step(least), step), "{least}");
        }
    }
}
