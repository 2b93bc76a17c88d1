//! Charts of measurements, as SVG: lines over sizes, and bars.
//!
//! | file | idea |
//! |---|---|
//! | `lines` | rates over call sizes, one line for each case |
//! | `bars` | one rate for each case |
//! | `scale` | axes with readable numbers |
//! | `draw` | text and paths |
#![forbid(unsafe_code)]

mod bars;
mod draw;
mod lines;
mod scale;

pub use bars::{Bar, Bars};
pub use lines::{Line, Lines};

use std::fmt::Write as _;

/// A chart's width in pixels.
const WIDTH: f64 = 1000.0;

/// Colours that colour-blind readers can tell apart: the palette of Okabe and Ito.
pub mod colour {
    /// The first of the palette.
    pub const BLUE: &str = "#0072b2";
    /// A dark orange.
    pub const VERMILION: &str = "#d55e00";
    /// A bluish green.
    pub const GREEN: &str = "#009e73";
    /// A reddish purple.
    pub const PURPLE: &str = "#cc79a7";
    /// Orange.
    pub const ORANGE: &str = "#e69f00";
    /// Sky blue.
    pub const SKY_BLUE: &str = "#56b4e9";
    /// For comparisons, such as figures published by others.
    pub const GREY: &str = "#808080";
}

/// Dash styles of a line, as an SVG attribute.
pub mod dashes {
    /// No dashes.
    pub const SOLID: &str = "";
    /// Long dashes.
    pub const LONG: &str = " stroke-dasharray=\"9 4\"";
    /// Dots.
    pub const DOTS: &str = " stroke-dasharray=\"2 4\"";
}

/// A chart.
pub enum Chart {
    /// Rates over sizes.
    Lines(Lines),
    /// One rate for each case.
    Bars(Bars),
}

/// The contents of a file with these charts, one above the other.
pub fn svg(charts: &[Chart]) -> String {
    let height = |chart: &Chart| match chart {
        Chart::Lines(_) => lines::HEIGHT,
        Chart::Bars(bars) => bars.height(),
    };
    let all: f64 = charts.iter().map(height).sum();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {all}\" width=\"{WIDTH}\" height=\"{all}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut top = 0.0;
    for chart in charts {
        let _ = writeln!(svg, "<g transform=\"translate(0 {top})\">");
        match chart {
            Chart::Lines(lines) => lines.draw(&mut svg),
            Chart::Bars(bars) => bars.draw(&mut svg),
        }
        svg += "</g>\n";
        top += height(chart);
    }
    svg + "</svg>\n"
}

/// A number of bytes in the largest binary unit that gives a whole number: `64 MiB`.
pub fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    unit.map_or_else(|| format!("{bytes} B"), |(shift, name)| format!("{} {name}", bytes >> shift))
}

/// Whether a chart has room for this size and rate (in the chart's unit); others come from no measurement.
pub fn is_plausible(bytes: u64, rate: f64) -> bool {
    (1..=1 << 60).contains(&bytes) && (1e-12..1e6).contains(&rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let shown = [16, 1 << 10, 1500, 3 << 20, 4 << 30].map(size);
        assert_eq!(shown, ["16 B", "1 KiB", "1500 B", "3 MiB", "4 GiB"]);
    }

    /// Every element is closed, and text that XML would read as an element is escaped.
    #[test]
    fn charts_are_one_above_the_other() {
        let line =
            Line { name: "a < b".into(), colour: colour::BLUE, dashes: dashes::SOLID, points: vec![(10.0, 2.5)] };
        let lines = Lines { title: "x & y".into(), x: "size", y: "rate", lines: vec![line] };
        let bar = Bar { name: "one".into(), rate: 3.0, colour: colour::GREY, label: "3 Gbit/s".into() };
        let bars = Bars { title: "bars".into(), bars: vec![bar] };
        let height = bars.height();
        let svg = svg(&[Chart::Lines(lines), Chart::Bars(bars)]);
        assert!(svg.contains("x &amp; y") && svg.contains("a &lt; b"));
        assert!(svg.contains(&format!("<g transform=\"translate(0 {})\">", lines::HEIGHT)));
        assert!(svg.contains(&format!("height=\"{}\"", lines::HEIGHT + height)));
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
