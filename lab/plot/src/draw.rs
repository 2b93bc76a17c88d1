//! Text and paths.

use std::fmt::Write as _;

/// The title of a chart.
pub(crate) const TITLE: &str = "font-size=\"17\" font-weight=\"bold\"";
/// The lines of a grid.
pub(crate) const GRID: &str = "stroke=\"#e0e0e0\"";

/// Text that starts, ends or is centred at a point, depending on `anchor`.
pub(crate) fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, style: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"{colour}\" {style}>{text}</text>"
    );
}

/// A straight line.
pub(crate) fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), style: &str) {
    let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" {style}/>");
}
