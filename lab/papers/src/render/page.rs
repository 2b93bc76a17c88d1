//! Text, tables, and notes on what is missing.

use crate::measured::{COUNTED_BYTES, COUNTERS, NOT_MEASURED, Run};
use crate::papers::claim::{ABOUT, Claim, Place, SAME, Sentence};
use crate::papers::paper::Paper;
use aes_bitslice_plot::Chart;
use std::collections::BTreeMap;

/// The page among the rendered files.
pub const PAGE: &str = "papers.md";

/// A page in the making, with its plots.
pub struct Page<'a> {
    /// The run that figures are from now.
    pub run: &'a Run,
    text: String,
    files: BTreeMap<String, String>,
    /// Why figures of the current table are missing, and how many.
    missing: BTreeMap<String, usize>,
}

/// The text in place of a missing figure.
pub const MISSING: &str = "not measured";

impl<'a> Page<'a> {
    /// Empty, with figures from a run.
    pub fn new(run: &'a Run) -> Self {
        Self { run, text: String::new(), files: BTreeMap::new(), missing: BTreeMap::new() }
    }

    /// A paragraph.
    pub fn say(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text += text.trim();
        self.text.push('\n');
    }

    /// The heading of a paper's part.
    pub fn paper(&mut self, Paper { authors, title, at, .. }: &Paper) {
        self.say(&format!("## {authors}"));
        self.say(&format!("*{title}*, {at}."));
    }

    /// The name of the GPU that was measured.
    pub fn gpu(&self) -> &'a str {
        self.run.gpus.first().map_or("no GPU", |gpu| &gpu.name)
    }

    /// A rate in Gbit/s; a missing one is noted below the table.
    pub fn gbits(&mut self, table: &str, case: &str, bytes: u64) -> Option<f64> {
        let found = self.run.gbits(table, case, bytes);
        self.noted(case, found)
    }

    /// A time in milliseconds; a missing one is noted below the table.
    pub fn milliseconds(&mut self, table: &str, case: &str, bytes: u64) -> Option<f64> {
        let found = self.run.seconds(table, case, bytes).map(|seconds| 1e3 * seconds);
        self.noted(case, found)
    }

    /// The rate of a case, without a note if it is missing: a claim's table has that already.
    fn rate(&self, (table, case, bytes): &Place) -> Option<f64> {
        self.run.gbits(table, case, *bytes).ok()
    }

    /// How many times as fast as the second the first of a claim is, if all of it is in its paper's run.
    pub fn ratio(&self, claim: &Claim) -> Option<f64> {
        let fastest = |places: &[Place]| {
            let rates: Option<Vec<f64>> = places.iter().map(|place| self.rate(place)).collect();
            rates?.into_iter().max_by(f64::total_cmp)
        };
        Some(fastest(&claim.first)? / fastest(&claim.second)?)
    }

    /// The largest spread of a claim's cases, in per cent; empty where the run has none.
    fn spread(&self, claim: &Claim) -> String {
        let of = |(table, case, bytes): &Place| self.run.times(table, case, *bytes).ok()?.spread();
        let spread = best(claim.first.iter().chain(&claim.second).map(of));
        spread.map_or(String::new(), |spread| format!("{:.1} %", 100.0 * spread))
    }

    /// A paper's claims, and their verdicts.
    pub fn claims(&mut self, paper: &Paper, counted: Vec<Sentence>) {
        self.say("### What holds, and what does not");
        self.say(&format!(
            "Each row compares two cases of the tables above that differ in one thing, or in what the row says: how \
             many times as fast the first is as the second. Within {:.0} % there is no difference; “about the same” \
             means within {:.0} %. “Turned round” is the opposite of a figure that the paper prints; any other \
             deviation “does not hold”. Where there are several cases, the fastest counts. The spread is that of the \
             case that varies most: how far apart the quartiles of its times are, as a part of the median.",
            100.0 * SAME,
            100.0 * ABOUT
        ));
        let names = ["the paper says", "compared", "there:", "here:", "spread:", "so"];
        let mut rows = vec![names.map(String::from).to_vec()];
        for claim in (paper.claims)() {
            let ours = self.ratio(&claim);
            let so = ours.map_or(MISSING, |ratio| claim.verdict(ratio)).into();
            let spread = self.spread(&claim);
            rows.push(vec![
                claim.says.into(),
                claim.compared,
                claim.theirs.map_or(String::new(), |ratio| times(Some(ratio), 1.0)),
                times(ours, 1.0),
                spread,
                so,
            ]);
        }
        self.table(&rows);
        let mut sentences = (paper.sentences)(&|place| self.rate(place));
        sentences.extend(counted);
        if sentences.is_empty() {
            return;
        }
        self.say("Sentences that can be measured, or follow from the paper's own figures, and compare no two cases:");
        let mut rows = vec![["the paper says", "there", "here", "so"].map(String::from).to_vec()];
        for Sentence { says, there, here, so } in sentences {
            let so = if here.is_some() { so } else { MISSING };
            rows.push(vec![says.into(), there, here.unwrap_or(MISSING.into()), so.into()]);
        }
        self.table(&rows);
    }

    /// Loads from shared memory of the kernels that a paper has counted, each for a block of data.
    pub fn shared_loads(&mut self, paper: &Paper) {
        let names = ["kernel", "loads by a warp, for 32 blocks:", "wavefronts a load:", "of all instructions:"];
        let mut rows = vec![names.map(String::from).to_vec()];
        for (name, kernel) in (paper.counted)() {
            let counters = self.run.counters.get(&kernel.name());
            let of = |index: usize| counters.and_then(|counters| counters.get(COUNTERS[index]).copied());
            let (loads, wavefronts) = (of(4), of(5));
            let warps = COUNTED_BYTES as f64 / 16.0 / 32.0;
            rows.push(vec![
                name.into(),
                figure(loads.map(|loads| loads / warps)),
                figure(wavefronts.zip(loads).map(|(wavefronts, loads)| wavefronts / loads)),
                percent(loads, of(0)),
            ]);
        }
        self.table(&rows);
    }

    fn noted(&mut self, case: &str, found: Result<f64, &str>) -> Option<f64> {
        found
            .inspect_err(|&why| {
                // The table says so in its place.
                if why == NOT_MEASURED {
                    return;
                }
                let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
                *self.missing.entry(format!("{case}: {why}")).or_default() += 1;
            })
            .ok()
    }

    /// A table, and below it why figures are missing, if any are. The first row names the columns; columns of figures have a colon after
    /// their names.
    pub fn table(&mut self, rows: &[Vec<String>]) {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heading: Vec<String> = rows[0].iter().map(|name| name.trim_end_matches(':').to_string()).collect();
        let rule: Vec<String> = rows[0].iter().map(|n| if n.ends_with(':') { "---:" } else { "---" }.into()).collect();
        let mut text = line(&heading) + &line(&rule).replace(' ', "");
        for row in &rows[1..] {
            assert_eq!(row.len(), heading.len(), "{row:?}");
            text += &line(row);
        }
        self.say(&text);
        self.tell_missing();
    }

    /// Plots in their own file, shown here.
    pub fn plots(&mut self, file: &str, what: &str, charts: &[Chart]) {
        if !charts.is_empty() {
            self.files.insert(file.into(), aes_bitslice_plot::svg(charts));
            self.say(&format!("![{what}]({file})"));
        }
        // Figures missing in a plot are missing in its table.
        self.missing.clear();
    }

    fn tell_missing(&mut self) {
        /// More are only counted.
        const TOLD: usize = 8;
        let missing = std::mem::take(&mut self.missing);
        if missing.is_empty() {
            return;
        }
        let mut text = String::from("Not measured:\n\n");
        for (what, count) in missing.iter().take(TOLD) {
            let times = if *count > 1 { format!(" ({count} figures)") } else { String::new() };
            text += &format!("- {what}{times}\n");
        }
        if missing.len() > TOLD {
            text += &format!("- and {} more\n", missing.len() - TOLD);
        }
        self.say(&text);
    }

    /// All files, this page among them.
    pub fn files(mut self) -> BTreeMap<String, String> {
        self.files.insert(PAGE.into(), self.text);
        self.files
    }
}

/// A figure in three digits or more.
pub fn figure(number: Option<f64>) -> String {
    match number {
        None => MISSING.into(),
        Some(number) if number >= 100.0 => format!("{number:.0}"),
        Some(number) if number >= 10.0 => format!("{number:.1}"),
        Some(number) => format!("{number:.2}"),
    }
}

/// Rows of words, the first naming the columns.
pub fn words<const N: usize>(names: [&str; N], rows: &[[&str; N]]) -> Vec<Vec<String>> {
    let row = |cells: &[&str; N]| cells.map(String::from).to_vec();
    [row(&names)].into_iter().chain(rows.iter().map(row)).collect()
}

/// A figure as it is.
pub fn printed(number: f64) -> String {
    number.to_string()
}

/// A figure of a table in which every figure has decimals: 5 is printed as 5.0.
pub fn with_decimals(number: f64) -> String {
    format!("{number:?}")
}

/// A part of the best, in per cent.
pub fn percent(part: Option<f64>, of: Option<f64>) -> String {
    part.zip(of).map_or(MISSING.into(), |(part, of)| format!("{:.0} %", 100.0 * part / of))
}

/// How many times as much.
pub fn times(ours: Option<f64>, theirs: f64) -> String {
    ours.map_or(MISSING.into(), |ours| format!("{} ×", figure(Some(ours / theirs))))
}

/// The largest of the numbers that are there.
pub fn best(numbers: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    numbers.into_iter().flatten().max_by(f64::total_cmp)
}

/// The smallest of the numbers that are there.
pub fn least(numbers: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    numbers.into_iter().flatten().min_by(f64::total_cmp)
}

/// The figure, bold if it is the best.
pub fn bold_if(is_best: bool, figure: String) -> String {
    if is_best { format!("**{figure}**") } else { figure }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        let shown = [4719.6, 94.04, 9.996, 0.5].map(|number| figure(Some(number)));
        assert_eq!(shown, ["4720", "94.0", "10.00", "0.50"]);
        assert_eq!([5.0, 34.4, 227.27].map(with_decimals), ["5.0", "34.4", "227.27"]);
        assert_eq!((figure(None), times(Some(120.0), 60.0)), (MISSING.into(), "2.00 ×".into()));
        assert_eq!((percent(Some(1.0), Some(8.0)), percent(None, Some(8.0))), ("12 %".into(), MISSING.into()));
        let some = [None, Some(1.0), Some(3.0), Some(2.0)];
        assert_eq!((best(some), least(some), least([None])), (Some(3.0), Some(1.0), None));
    }
}
