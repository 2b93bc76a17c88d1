//! One rate for each case: horizontal bars, one below the other.

use crate::WIDTH;
use crate::draw::{GRID, TITLE, line, text};
use crate::scale::Scale;
use std::fmt::Write as _;

/// Pixels around the bars, for names and labels.
const LEFT: f64 = 340.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 40.0;
/// Pixels from one bar to the next, and the thickness of a bar.
const SPACING: f64 = 24.0;
const THICKNESS: f64 = 16.0;

/// One rate for each case.
pub struct Bars {
    /// The title above the chart, with the unit.
    pub title: String,
    /// The bars, from the top down.
    pub bars: Vec<Bar>,
}

/// The rate of a case.
pub struct Bar {
    /// The text before the bar.
    pub name: String,
    /// The rate, which is the length of the bar.
    pub rate: f64,
    /// One of [`colour`](crate::colour).
    pub colour: &'static str,
    /// The text after the bar: the rate, and any other remarks.
    pub label: String,
}

impl Bars {
    /// The chart's height in pixels.
    pub(crate) fn height(&self) -> f64 {
        TOP + SPACING * self.bars.len() as f64 + BOTTOM
    }

    pub(crate) fn draw(&self, svg: &mut String) {
        let (bottom, right) = (self.height() - BOTTOM, WIDTH - RIGHT);
        let rates = Scale::new(self.bars.iter().map(|bar| bar.rate).fold(f64::MIN_POSITIVE, f64::max), 6.0);
        let x = |rate: f64| LEFT + (right - LEFT) * rate / rates.top;
        text(svg, (20.0, 30.0), "start", "black", TITLE, &self.title);
        for (rate, name) in rates.marks() {
            line(svg, (x(rate), TOP), (x(rate), bottom), GRID);
            text(svg, (x(rate), bottom + 20.0), "middle", "black", "", &name);
        }
        for (index, Bar { name, rate, colour, label }) in self.bars.iter().enumerate() {
            let middle = TOP + SPACING * (index as f64 + 0.5);
            let (top, width) = (middle - THICKNESS / 2.0, x(*rate) - LEFT);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{THICKNESS}\" fill=\"{colour}\"/>"
            );
            text(svg, (LEFT - 8.0, middle + 5.0), "end", "black", "", name);
            text(svg, (x(*rate) + 6.0, middle + 5.0), "start", colour, "", label);
        }
        line(svg, (LEFT, TOP), (LEFT, bottom), "stroke=\"black\"");
    }
}
