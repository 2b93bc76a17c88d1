//! The tables, and the plot.

use super::figures::Measured;
use aes_bitslice_plot::{self as plot, Chart, Line, Lines, colour, dashes};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A label, and the part of a figure's name that it stands for.
type Part = (&'static str, &'static str);

/// A table: its figures are named `SOURCE/ROW/COLUMN`; of a table without a source `COLUMN/ROW`.
struct Table {
    name: &'static str,
    source: &'static str,
    /// What stands above the labels of the rows.
    corner: &'static str,
    rows: &'static [Part],
    columns: &'static [Part],
}

/// Messages by their length.
const SIZES: &[Part] = &[
    ("128: 1 MiB", "128, 1 MiB"),
    ("16 MiB", "128, 16 MiB"),
    ("256 MiB", "128, 256 MiB"),
    ("1 GiB", "128, 1 GiB"),
    ("4 GiB", "128, 4 GiB"),
    ("256: 16 MiB", "256, 16 MiB"),
    ("256 MiB", "256, 256 MiB"),
    ("1 GiB", "256, 1 GiB"),
    ("4 GiB", "256, 4 GiB"),
];

/// Calls on many messages: each by itself, and in a row.
const CALLS: &[Part] = &[("by events", "device"), ("calls in a row, by the clock", "stream")];

const TABLES: [Table; 12] = [
    Table {
        name: "device",
        source: "device",
        corner: "Tbit/s",
        rows: &[
            ("ctr", "ctr"),
            ("keystream", "keystream"),
            ("ecb-encrypt", "ecb-encrypt"),
            ("ecb-decrypt", "ecb-decrypt"),
            ("cbc-decrypt", "cbc-decrypt"),
            ("xts-encrypt, units of 512 bytes", "xts-encrypt 512"),
            ("xts-decrypt, units of 512 bytes", "xts-decrypt 512"),
        ],
        columns: &[
            ("128: 1 MiB", "128, 1 MiB"),
            ("16 MiB", "128, 16 MiB"),
            ("256 MiB", "128, 256 MiB"),
            ("4 GiB", "128, 4 GiB"),
            ("192: 4 GiB", "192, 4 GiB"),
            ("256: 1 MiB", "256, 1 MiB"),
            ("16 MiB", "256, 16 MiB"),
            ("256 MiB", "256, 256 MiB"),
            ("4 GiB", "256, 4 GiB"),
        ],
    },
    Table {
        name: "table-kernels",
        source: "device",
        corner: "Tbit/s",
        rows: &[
            ("ctr, `co-resident`", "ctr co-resident"),
            ("ctr, `tbox`", "ctr tbox"),
            ("ecb-encrypt, `co-resident`", "ecb-encrypt co-resident"),
            ("ecb-encrypt, `tbox`", "ecb-encrypt tbox"),
        ],
        columns: &[
            ("128: 256 MiB", "128, 256 MiB"),
            ("4 GiB", "128, 4 GiB"),
            ("256: 256 MiB", "256, 256 MiB"),
            ("4 GiB", "256, 4 GiB"),
        ],
    },
    Table {
        name: "gcm",
        source: "device",
        corner: "Tbit/s",
        rows: &[("CTR", "ctr"), ("GCM encryption", "gcm-encrypt"), ("GCM decryption", "gcm-decrypt"), ("GMAC", "gmac")],
        columns: SIZES,
    },
    Table {
        name: "gcm-siv",
        source: "device",
        corner: "Tbit/s",
        rows: &[("encryption", "gcm-siv-encrypt"), ("decryption", "gcm-siv-decrypt")],
        columns: SIZES,
    },
    Table {
        name: "gcm-batch",
        source: "",
        corner: "Tbit/s",
        rows: &[
            ("4,096 of 16 KiB, 128 bits: encryption", "gcm-encrypt/128, 4096 x 16 KiB"),
            ("decryption", "gcm-decrypt/128, 4096 x 16 KiB"),
            ("44,739 of 1,500 bytes: encryption", "gcm-encrypt/128, 44739 x 1500 B"),
            ("decryption", "gcm-decrypt/128, 44739 x 1500 B"),
            ("262,144 of 256 bytes: encryption", "gcm-encrypt/128, 262144 x 256 B"),
            ("decryption", "gcm-decrypt/128, 262144 x 256 B"),
            ("4,096 of 16 KiB, 256 bits: encryption", "gcm-encrypt/256, 4096 x 16 KiB"),
        ],
        columns: &[CALLS[0], CALLS[1], ("described by arrays in GPU memory, in a row", "stream-arrays")],
    },
    Table {
        name: "cmac",
        source: "",
        corner: "Tbit/s",
        rows: &[
            ("4,096 of 16 KiB, 128 bits", "cmac/128, 4096 x 16 KiB"),
            ("65,536 of 1,500 bytes", "cmac/128, 65536 x 1500 B"),
            ("1,048,576 of 64 bytes", "cmac/128, 1048576 x 64 B"),
        ],
        columns: CALLS,
    },
    Table {
        name: "jobs",
        source: "",
        corner: "Tbit/s",
        rows: &[
            ("CTR, 1,024 of 64 KiB, 128 bits", "ctr/128, 1024 x 64 KiB"),
            ("16,384 of 64 KiB", "ctr/128, 16384 x 64 KiB"),
            ("16,384 of 64 KiB under 64 keys", "ctr/128, 16384 x 64 KiB under 64 keys"),
            ("65,536 of 4 KiB", "ctr/128, 65536 x 4 KiB"),
            ("262,144 of 512 bytes", "ctr/128, 262144 x 512 B"),
            ("16,384 of 64 KiB, 256 bits", "ctr/256, 16384 x 64 KiB"),
            ("ECB decryption, 16,384 of 64 KiB, 128 bits", "ecb-decrypt/128, 16384 x 64 KiB"),
        ],
        columns: CALLS,
    },
    Table {
        name: "each-key",
        source: "many-keys",
        corner: "10^9 keys/s",
        rows: &[
            ("ECB encryption, 2^20 keys of 128 bits", "ecb-encrypt, 1048576 16 128"),
            ("2^24 keys", "ecb-encrypt, 16777216 16 128"),
            ("2^24 keys of 256 bits", "ecb-encrypt, 16777216 16 256"),
        ],
        columns: &[("by events", "events"), ("alone, by the clock", "alone"), ("four calls on the stream", "ahead")],
    },
    Table {
        name: "host",
        source: "host",
        corner: "GB/s",
        rows: &[
            ("`copy`: pinned memory to the GPU and back, nothing computed", "cuda copy"),
            ("`cuda`, pinned memory", "cuda pinned ctr 128"),
            ("in place", "cuda pinned-in-place ctr 128"),
            ("`cuda`, pageable memory", "cuda host ctr 128"),
            ("in place", "cuda host-in-place ctr 128"),
            ("`cpu`, all cores", "cpu host ctr 128"),
            ("in place", "cpu host-in-place ctr 128"),
            ("`cpu-bitsliced`, all cores", "cpu-bitsliced host ctr 128"),
        ],
        columns: &[
            ("64 KiB", "64 KiB"),
            ("1 MiB", "1 MiB"),
            ("16 MiB", "16 MiB"),
            ("256 MiB", "256 MiB"),
            ("4 GiB", "4 GiB"),
        ],
    },
    Table {
        name: "new-key",
        source: "new key",
        corner: "µs",
        rows: &[("`cuda`, 128 bits", "cuda 128"), ("256 bits", "cuda 256")],
        columns: &[("to the return of the first launch", "launch"), ("to the end of that kernel, 4 KiB of CTR", "end")],
    },
    Table {
        name: "cpu",
        source: "host",
        corner: "GCM encryption by the `cpu` engine, GB/s",
        rows: &[("128 bits", "cpu host-in-place gcm-encrypt 128"), ("256 bits", "cpu host-in-place gcm-encrypt 256")],
        columns: &[("16 KiB", "16 KiB"), ("1 MiB", "1 MiB"), ("64 MiB", "64 MiB")],
    },
    Table {
        name: "sealed",
        source: "sealed",
        corner: "GB/s",
        rows: &[
            ("`seal`, `cpu`", "seal cpu"),
            ("`open`, `cpu`", "open cpu"),
            ("`seal`, `cuda`", "seal cuda"),
            ("`open`, `cuda`", "open cuda"),
            ("`cp`", "cp"),
        ],
        columns: &[("4 GiB", "GB/s")],
    },
];

/// The README's table: labels, and the figures with keys of 128 and 256 bits.
const README: [(&str, [&str; 2]); 6] = [
    ("GCM, tag included", ["device/gcm-encrypt/128, 4 GiB", "device/gcm-encrypt/256, 4 GiB"]),
    ("CTR", ["device/ctr/128, 4 GiB", "device/ctr/256, 4 GiB"]),
    ("ECB encrypt", ["device/ecb-encrypt/128, 4 GiB", "device/ecb-encrypt/256, 4 GiB"]),
    ("ECB decrypt", ["device/ecb-decrypt/128, 4 GiB", "device/ecb-decrypt/256, 4 GiB"]),
    ("CBC decrypt", ["device/cbc-decrypt/128, 4 GiB", "device/cbc-decrypt/256, 4 GiB"]),
    (
        "*not constant-time, only if asked for:* CTR, co-resident kernels",
        ["device/ctr co-resident/128, 4 GiB", "device/ctr co-resident/256, 4 GiB"],
    ),
];

/// The plot's lines, and its sizes with their base-2 logarithms.
const PLOTTED: [(&str, &str); 4] = [
    ("ctr", colour::BLUE),
    ("ecb-encrypt", colour::VERMILION),
    ("ecb-decrypt", colour::GREEN),
    ("cbc-decrypt", colour::PURPLE),
];
const PLOTTED_BITS: [(&str, &str); 2] = [("128", dashes::SOLID), ("256", dashes::DOTS)];
const PLOTTED_SIZES: std::ops::RangeInclusive<u32> = 12..=32;

impl Table {
    fn figure(&self, row: &Part, column: &Part) -> String {
        let (row, column) = (row.1, column.1);
        if self.source.is_empty() { format!("{column}/{row}") } else { format!("{}/{row}/{column}", self.source) }
    }
}

/// The figures that the pages name.
pub fn names() -> BTreeSet<String> {
    let in_tables = TABLES.iter().flat_map(|table| {
        table.rows.iter().flat_map(move |row| table.columns.iter().map(move |column| table.figure(row, column)))
    });
    let in_readme = README.iter().flat_map(|(_, names)| names.map(String::from));
    let plotted = PLOTTED.iter().flat_map(|(mode, _)| {
        PLOTTED_BITS.iter().flat_map(move |(bits, _)| PLOTTED_SIZES.map(move |log| plotted_name(mode, bits, log)))
    });
    in_tables.chain(in_readme).chain(plotted).collect()
}

/// The table, or list of runs, of this name in Markdown.
pub fn print(name: &str, measured: &Measured) -> Result<String> {
    match name {
        "runs" => return Ok(runs(measured)),
        "readme" => return Ok(readme(measured)),
        _ => {}
    }
    let table = TABLES.iter().find(|table| table.name == name).with_context(|| format!("no figures {name}"))?;
    let labels = |parts: &[Part]| parts.iter().map(|(label, _)| *label).collect::<Vec<_>>().join(" | ");
    let mut text =
        format!("| {} | {} |\n|---|{}\n", table.corner, labels(table.columns), "---|".repeat(table.columns.len()));
    let mut commits = BTreeSet::new();
    for row in table.rows {
        let _ = write!(text, "| {} |", row.0);
        for column in table.columns {
            let found = measured.get(&table.figure(row, column));
            commits.extend(found.map(|(_, run)| run.commit.as_str()));
            let _ = write!(text, " {} |", found.map_or("–".into(), |(value, _)| digits(value)));
        }
        text += "\n";
    }
    if measured.runs.len() > 1 {
        let _ = write!(text, "\nMeasured at {}.\n", commits.into_iter().collect::<Vec<_>>().join(" and "));
    }
    Ok(text)
}

/// Where the figures come from.
fn runs(measured: &Measured) -> String {
    if let [run] = &measured.runs[..] {
        return format!("Commit {}, {}, {}.\n", run.commit, run.date, run.machine);
    }
    let mut text = "The figures come from runs at several commits; each table names its own.\n\n".to_string();
    text += "| commit | day | machine |\n|---|---|---|\n";
    for run in &measured.runs {
        let _ = writeln!(text, "| {} | {} | {} |", run.commit, run.date, run.machine);
    }
    text
}

fn readme(measured: &Measured) -> String {
    let gpu = measured.get("device/ctr/128, 4 GiB").and_then(|(_, run)| run.machine.split(',').next());
    let gpu = gpu.unwrap_or("a GPU");
    let mut text = format!("| one {gpu}, 4 GiB in GPU memory, Tbit/s | 128-bit key | 256-bit key |\n|---|---|---|\n");
    let bar = |rate: f64| "█".repeat((4.0 * rate).round() as usize);
    for (label, names) in README {
        let strong = if label.starts_with('*') { "" } else { "**" };
        let cell = |name| {
            let rate = measured.get(name).map(|(rate, _)| rate);
            rate.map_or("–".into(), |rate| format!("{strong}{}{strong} `{}`", digits(rate), bar(rate)))
        };
        let [short, long] = names.map(cell);
        let _ = writeln!(text, "| {label} | {short} | {long} |");
    }
    // The paper's 1,478.42 Gbit are of 2^30 bits.
    let v100 = 1.47842 * (1_u64 << 30) as f64 / 1e9;
    let paper = "*[Hajihassani et al. 2019](docs/papers.md), Tesla V100: CTR*";
    let _ = writeln!(text, "| {paper} | *{v100:.2}* `{}` | |", bar(v100));
    text
}

/// Three digits, or two decimals where that is less.
fn digits(value: f64) -> String {
    let decimals = match value {
        100.0.. => 0,
        10.0.. => 1,
        0.1.. => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn plotted_name(mode: &str, bits: &str, log: u32) -> String {
    format!("device/{mode}/{bits}, {}", plot::size(1 << log))
}

/// Throughput over the size of a call.
pub fn plot(measured: &Measured) -> String {
    let mut lines = Vec::new();
    for (bits, dashes) in PLOTTED_BITS {
        for (mode, colour) in PLOTTED {
            let point = |log| Some((f64::from(log), measured.get(&plotted_name(mode, bits, log))?.0));
            let points: Vec<_> = PLOTTED_SIZES.filter_map(point).collect();
            if !points.is_empty() {
                lines.push(Line { name: format!("{mode}, {bits} bits"), colour, dashes, points });
            }
        }
    }
    let title = "Kernels, from and to GPU memory".into();
    plot::svg(&[Chart::Lines(Lines { title, x: "size of a call", y: "Tbit/s, median", lines })])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{benchmarks, files};
    use std::fs;

    /// Every table is on a page, and none is asked for that does not exist.
    #[test]
    fn every_table_is_shown_once() {
        let root = files::root();
        let pages: String = benchmarks::PAGES.map(|page| fs::read_to_string(root.join(page)).unwrap()).concat();
        let shown = |name: &str| pages.matches(&format!("{}{name} -->\n", benchmarks::BEGIN)).count();
        for name in TABLES.iter().map(|table| table.name).chain(["readme"]) {
            assert_eq!(shown(name), 1, "{name}");
        }
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!([787.51, 35.62, 6.299, 0.4, 0.0081].map(digits), ["788", "35.6", "6.30", "0.40", "0.008"]);
    }
}
