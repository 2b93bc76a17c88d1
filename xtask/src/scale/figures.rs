//! Measurements: each figure is read from its only place in BENCHMARKS.md. There is no other copy of it.

use anyhow::{Context, Result, ensure};

/// The place of a figure.
struct Source {
    /// The heading of its section.
    section: &'static str,
    place: Place,
}

enum Place {
    /// A cell of a table: how its row begins, how many rows below that it is, its column, counted from 1, and that column's
    /// head.
    Cell { row: &'static str, below: usize, column: usize, head: &'static str },
    /// The number after these words.
    After(&'static str),
}

/// Measurements of one kind of machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// GB/s of one GPU's kernels, on data in its memory, by the name of the kernel.
    pub kernels: Vec<(&'static str, f64)>,
    /// GB/s of one, two and four GPUs of one host, from host memory to host memory.
    pub links: [(u32, f64); 3],
    /// GB/s of sixteen cores with AES instructions, in host memory.
    pub cores: f64,
    /// GB/s of the command line on a file on a disk, with sixteen cores.
    pub disk: f64,
    /// Watts of a GPU whose kernels are busy.
    pub watts: f64,
}

/// The kernels: 4 GiB in GPU memory, Tbit/s.
const KERNELS: [(&str, Source); 4] = [
    ("ctr-128", cell("## Kernels, now", "ctr", 6, "4 GiB")),
    ("ctr-256", cell("## Kernels, now", "ctr", 10, "4 GiB")),
    ("gcm-128", cell("## Authenticated", "**GCM encryption**", 7, "4 GiB")),
    ("gcm-256", cell("## Authenticated", "**GCM encryption**", 10, "4 GiB")),
];

/// CTR on pinned memory, GB/s, by the number of GPUs of one host.
const LINKS: [(u32, Source); 3] = [
    (1, cell("## From host memory to host memory", "ctr, `cuda`, pinned", 7, "4 GiB")),
    (2, cell("## Several GPUs", "two H200s, 4 GiB", 2, "pinned")),
    (4, cell("## Several GPUs", "four H200s, 8 GiB", 2, "pinned")),
];

/// CTR in place, GB/s: the row below the one for a separate output.
const CORES: Source = Source {
    section: "## From host memory to host memory",
    place: Place::Cell { row: "ctr, `cpu`", below: 1, column: 7, head: "4 GiB" },
};

/// Seconds for 4 GiB, read, encrypted, written and synced.
const DISK: Source = Source { section: "## Files", place: Place::After("On ext4, 4 GiB: `cpu` ") };

/// Watts, at most, of CTR with the bitsliced kernels.
const WATTS: Source = cell("## Tables, and tables co-resident with bitslices", "bitsliced", 1, "power, limit 700 W");

const fn cell(section: &'static str, row: &'static str, column: usize, head: &'static str) -> Source {
    Source { section, place: Place::Cell { row, below: 0, column, head } }
}

impl Figures {
    /// The figures in a text of BENCHMARKS.md.
    pub fn read(benchmarks: &str) -> Result<Self> {
        let read = |source: &Source| source.read(benchmarks);
        let mut kernels = Vec::new();
        for (name, source) in &KERNELS {
            kernels.push((*name, read(source)? * 1e12 / 8.0 / 1e9));
        }
        let mut links = [(0, 0.0); 3];
        for (link, (gpus, source)) in links.iter_mut().zip(&LINKS) {
            *link = (*gpus, read(source)?);
        }
        let disk = (4_u64 << 30) as f64 / read(&DISK)? / 1e9;
        Ok(Self { kernels, links, cores: read(&CORES)?, disk, watts: read(&WATTS)? })
    }
}

impl Source {
    fn read(&self, text: &str) -> Result<f64> {
        let number = self.find(text);
        number
            .with_context(|| format!("BENCHMARKS.md, section \"{}\": name anew where the figure stands", self.section))
    }

    fn find(&self, text: &str) -> Result<f64> {
        let mut lines = text.lines().skip_while(|line| *line != self.section);
        lines.next().context("there is no such section")?;
        let section: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
        match self.place {
            Place::After(words) => {
                let section = section.join(" ");
                first_number(section.split_once(words).with_context(|| format!("nothing is \"{words}\""))?.1)
            }
            Place::Cell { row, below, column, head } => {
                let at = section.iter().position(|line| line.starts_with(&format!("| {row}")));
                let at = at.with_context(|| format!("no row begins with \"{row}\""))?;
                let top = (0..at).rev().find(|&i| !section[i].starts_with('|')).map_or(0, |i| i + 1);
                ensure!(at > top + 1, "\"{row}\" is the head of a table");
                let cell =
                    |line: usize| section.get(line).and_then(|line| line.split('|').nth(column + 1)).map(str::trim);
                let found = cell(top).with_context(|| format!("there is no column {column}"))?;
                ensure!(found.ends_with(head), "column {column} of \"{row}\" is \"{found}\", not \"{head}\"");
                first_number(cell(at + below).with_context(|| format!("nothing is {below} rows below \"{row}\""))?)
            }
        }
    }
}

/// The number that a text begins with, in bold type or not.
fn first_number(text: &str) -> Result<f64> {
    let text = text.trim_start_matches('*');
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text[..end].parse().with_context(|| format!("\"{text}\" begins with no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
## One
a page
| | kernel: 1 MiB | 4 GiB |
|---|---|---|
| ctr | 0.5 | **6.25** (3 ×) |
| the same | 7 | 8 |

It took 12 s here,
and 3.5 there.
## Two
| ctr | 9 | 10 |
";

    #[test]
    fn a_figure_is_read_from_its_cell_and_no_other() {
        let source =
            |row, below, column, head| Source { section: "## One", place: Place::Cell { row, below, column, head } };
        assert_eq!(source("ctr", 0, 2, "4 GiB").read(TEXT).unwrap(), 6.25);
        assert_eq!(source("ctr", 1, 1, "1 MiB").read(TEXT).unwrap(), 7.0);
        for (row, below, column, head) in [
            ("cbc", 0, 2, "4 GiB"),
            ("ctr", 0, 1, "4 GiB"),
            ("ctr", 0, 3, "4 GiB"),
            ("ctr", 2, 2, "4 GiB"),
            ("|", 0, 2, "4 GiB"),
        ] {
            assert!(source(row, below, column, head).read(TEXT).is_err(), "{row} {below} {column} {head}");
        }
        let after = |section, words| Source { section, place: Place::After(words) }.read(TEXT);
        assert_eq!(after("## One", "It took ").unwrap(), 12.0);
        assert_eq!(after("## One", "s here, and ").unwrap(), 3.5);
        assert!(after("## One", "ctr | 9").is_err() && after("## Three", "ctr").is_err());
        assert!(after("## One", "It ").unwrap_err().to_string().contains("BENCHMARKS.md"));
    }
}
