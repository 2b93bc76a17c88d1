//! Rates over call sizes, one line for each case.

use crate::draw::{GRID, TITLE, line, text};
use crate::scale::Scale;
use crate::{WIDTH, size};
use std::fmt::Write as _;

/// A chart's height in pixels.
pub(crate) const HEIGHT: f64 = 560.0;
/// Pixels around the axes, for numbers and names.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 200.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Pixels from one name to the next.
const LINE_SPACING: f64 = 18.0;

/// Rates over sizes.
pub struct Lines {
    /// The title above the chart.
    pub title: String,
    /// The name of the x axis, below the sizes.
    pub x: &'static str,
    /// The name of the y axis, beside the rates.
    pub y: &'static str,
    /// The lines, at least one; where two names would overlap, the name of the line with the higher end comes first.
    pub lines: Vec<Line>,
}

/// The rates of a case.
pub struct Line {
    /// The name at the end of the line.
    pub name: String,
    /// One of [`colour`](crate::colour).
    pub colour: &'static str,
    /// One of [`dashes`](crate::dashes).
    pub dashes: &'static str,
    /// From small to large: the base-2 logarithm of the bytes, and the rate.
    pub points: Vec<(f64, f64)>,
}

impl Lines {
    pub(crate) fn draw(&self, svg: &mut String) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        let first = points().map(|p| p.0).fold(f64::INFINITY, f64::min).floor();
        let last = points().map(|p| p.0).fold(first + 1.0, f64::max).ceil();
        let rates = Scale::new(points().map(|p| p.1).fold(0.0, f64::max), 6.0);
        let x = |power: f64| LEFT + (right - LEFT) * (power - first) / (last - first);
        let y = |rate: f64| bottom - (bottom - TOP) * rate / rates.top;

        text(svg, (LEFT, 30.0), "start", "black", TITLE, &self.title);
        // At most a dozen powers of two.
        for power in (first as usize..=last as usize).step_by(((last - first) as usize).div_ceil(12)) {
            let x = x(power as f64);
            line(svg, (x, TOP), (x, bottom), GRID);
            text(svg, (x, bottom + 20.0), "middle", "black", "", &size(1 << power));
        }
        for (rate, name) in rates.marks() {
            line(svg, (LEFT, y(rate)), (right, y(rate)), GRID);
            text(svg, (LEFT - 8.0, y(rate) + 5.0), "end", "black", "", &name);
        }
        text(svg, ((LEFT + right) / 2.0, HEIGHT - 14.0), "middle", "black", "", self.x);
        let middle = (TOP + bottom) / 2.0;
        let turned = format!("transform=\"rotate(-90 18 {middle})\"");
        text(svg, (18.0, middle), "middle", "black", &turned, self.y);
        line(svg, (LEFT, bottom), (right, bottom), "stroke=\"black\"");
        line(svg, (LEFT, TOP), (LEFT, bottom), "stroke=\"black\"");

        // Names are placed at the ends of their lines, from the top down, as far apart as text needs.
        let mut named: Vec<_> = self.lines.iter().filter_map(|line| Some((y(line.points.last()?.1), line))).collect();
        named.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut free = TOP;
        let room = |left: usize| bottom - LINE_SPACING * left as f64;
        let count = named.len();
        for (index, (end, Line { name, colour, dashes, points })) in named.into_iter().enumerate() {
            let style = format!("stroke=\"{colour}\" fill=\"none\" stroke-width=\"2\"{dashes}");
            let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x(p.0), y(p.1))).collect();
            let _ = writeln!(svg, "<path d=\"M{}\" {style}/>", path.join("L"));
            for (power, rate) in points {
                let (x, y) = (x(*power), y(*rate));
                let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
            let at = end.max(free).min(room(count - index - 1).max(free));
            free = at + LINE_SPACING;
            line(svg, (right + 8.0, at), (right + 38.0, at), &style);
            text(svg, (right + 44.0, at + 5.0), "start", colour, "", name);
        }
    }
}
