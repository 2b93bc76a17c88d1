//! What a petabyte takes on 1, 8, 64 and 1,000 GPUs, on paper: computed from the measurements of one ([`figures`]) and assumptions for
//! the rest, by a [`model`] of stages.

mod figures;
mod model;

use anyhow::{Context, Result, ensure};
use figures::Figures;
use model::{Assumptions, Origin, Outcome};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The page that contains the report.
const PAGE: &str = "docs/scale.md";
/// The lines around the report there.
const BEGIN: &str = "<!-- What `cargo xtask scale` prints; `cargo xtask scale --write` writes it here. -->\n";
const END: &str = "<!-- End of what it prints. -->\n";

#[derive(clap::Args)]
pub struct Args {
    /// Bytes to encrypt
    #[arg(long, default_value_t = 1e15, value_parser = positive)]
    bytes: f64,
    /// The kernel: ctr-128, ctr-256, gcm-128 or gcm-256
    #[arg(long, default_value = "ctr-128")]
    kernel: String,
    /// Numbers of GPUs
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64, 1000], value_parser = clap::value_parser!(u32).range(1..))]
    gpus: Vec<u32>,
    /// GPUs of a host: 1, 2 or 4, as measured
    #[arg(long, default_value_t = 4, value_parser = hosts)]
    gpus_per_host: u32,
    /// Assumed: GB/s that a host's network carries in each direction
    #[arg(long, default_value_t = 50.0, value_parser = positive)]
    network: f64,
    /// Assumed: GB/s that the store reads, and writes at the same time, for all hosts together
    #[arg(long, default_value_t = 200.0, value_parser = positive)]
    store: f64,
    /// Assumed: dollars for an hour of a GPU with its share of a host
    #[arg(long, default_value_t = 3.0, value_parser = positive)]
    gpu_hour: f64,
    /// Assumed: dollars for an hour of sixteen cores
    #[arg(long, default_value_t = 0.8, value_parser = positive)]
    cores_hour: f64,
    /// When these prices were assumed
    #[arg(long, default_value = "November 2026")]
    prices_of: String,
    /// Assumed: watts of a GPU that waits for data
    #[arg(long, default_value_t = 120.0, value_parser = positive)]
    idle_watts: f64,
    /// Assumed: watts of sixteen cores that work, with their memory
    #[arg(long, default_value_t = 250.0, value_parser = positive)]
    cores_watts: f64,
    /// Write the report into docs/scale.md
    #[arg(long, conflicts_with = "check")]
    write: bool,
    /// Change nothing; fail if the report in docs/scale.md differs
    #[arg(long)]
    check: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("give a number above 0".into()),
    }
}

fn hosts(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(gpus @ (1 | 2 | 4)) => Ok(gpus),
        _ => Err("hosts with 1, 2 and 4 GPUs were measured: give one of these".into()),
    }
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let benchmarks = fs::read_to_string(root.join("BENCHMARKS.md")).context("cannot read BENCHMARKS.md")?;
    let report = report(&Figures::read(&benchmarks)?, args)?;
    if !args.write && !args.check {
        say!("{}", report.trim_end());
        return Ok(());
    }
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {PAGE}"))?;
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (old, after)) = parts.with_context(|| format!("{PAGE} has lost the lines around its report"))?;
    if args.check {
        ensure!(old == report, "{PAGE} has another report: write it anew with `cargo xtask scale --write`");
        return Ok(());
    }
    fs::write(&path, [before, BEGIN, &report, END, after].concat()).with_context(|| format!("cannot write {PAGE}"))
}

/// The report, as Markdown.
fn report(figures: &Figures, args: &Args) -> Result<String> {
    let kernel = figures.kernel(&args.kernel).with_context(|| {
        let known: Vec<&str> = figures.kernels.iter().map(|(name, _)| *name).collect();
        format!("no kernel `{}`: give one of {}", args.kernel, known.join(", "))
    })?;
    let assumed = Assumptions {
        gpus_per_host: args.gpus_per_host,
        network: args.network,
        store: args.store,
        gpu_hour: args.gpu_hour,
        cores_hour: args.cores_hour,
        idle_watts: args.idle_watts,
        cores_watts: args.cores_watts,
    };
    let mut out = String::new();
    let Figures { links, cores, disk, watts, .. } = figures;
    writeln!(out, "{} by `{}`.\n", size(args.bytes), args.kernel)?;
    let per_host: Vec<String> = links
        .iter()
        .filter(|(gpus, _)| *gpus <= args.gpus_per_host)
        .map(|(gpus, rate)| format!("{rate} by {gpus}"))
        .collect();
    writeln!(
        out,
        "**Measured** ([BENCHMARKS.md](../BENCHMARKS.md)), GB/s: a GPU's kernel {kernel:.0}; from host memory to host memory {} \
         of a host's GPUs; sixteen cores {cores} in memory; a file on a disk {disk:.1}. A GPU with busy kernels: {watts} W at most.\n",
        per_host.join(", "),
    )?;
    writeln!(
        out,
        "**Assumed**, and not looked up: hosts of {} GPU{}; network {} GB/s for each host in each direction; the store {} GB/s read and as \
         much written at once; a GPU that waits {} W; sixteen cores {} W; prices of {}: ${:.2} an hour for a GPU with its share of a host, \
         ${:.2} for sixteen cores. Data goes through all stages at once; nothing is counted for starting, failures and stragglers.\n",
        assumed.gpus_per_host,
        if assumed.gpus_per_host == 1 { "" } else { "s" },
        assumed.network,
        assumed.store,
        assumed.idle_watts,
        assumed.cores_watts,
        args.prices_of,
        assumed.gpu_hour,
        assumed.cores_hour,
    )?;
    writeln!(
        out,
        "| data begins and ends in | on | GB/s | limit | time | energy | money |\n|---|---|---|---|---|---|---|"
    )?;
    for from in Origin::ALL {
        for &n in &args.gpus {
            let outcome = model::gpus(figures, &assumed, kernel, from, n, args.bytes);
            row(&mut out, from, &format!("{}, {}", counted(n, "GPU"), counted(outcome.hosts, "host")), &outcome)?;
        }
        if from != Origin::GpuMemory {
            let n = args.gpus.iter().copied().max().unwrap_or(1);
            for n in [1, n] {
                let outcome = model::cores(figures, &assumed, from, n, args.bytes);
                row(&mut out, from, &format!("{} of 16 cores, no GPU", counted(n, "machine")), &outcome)?;
            }
        }
    }
    let link = links[0].1;
    writeln!(
        out,
        "\nA GPU's kernel is {:.0} times as fast as its link, so with data in host memory it waits {:.0} % of the time. There it does {:.2} \
         times what sixteen cores do: it is the cheaper one only where an hour of it costs less than {:.2} times as much as theirs, and \
         under these assumptions it costs {:.2} times as much.",
        kernel / link,
        100.0 * (1.0 - link / kernel),
        link / cores,
        link / cores,
        assumed.gpu_hour / assumed.cores_hour,
    )?;
    Ok(out)
}

fn row(out: &mut String, from: Origin, on: &str, outcome: &Outcome) -> Result<()> {
    let Outcome { rate, limit, seconds, joules, dollars, .. } = *outcome;
    let (time, energy, money) = (time(seconds), energy(joules), money(dollars));
    Ok(writeln!(out, "| {} | {on} | {} | {limit} | {time} | {energy} | {money} |", from.name(), grouped(rate))?)
}

fn counted(n: u32, what: &str) -> String {
    format!("{} {what}{}", grouped(n.into()), if n == 1 { "" } else { "s" })
}

/// Three significant digits, or all before the point, in groups of three.
fn grouped(number: f64) -> String {
    let digits = match number {
        n if n < 9.995 && n.fract() != 0.0 => return format!("{n:.2}"),
        n if n < 99.95 && n.fract() != 0.0 => return format!("{n:.1}"),
        n => format!("{n:.0}"),
    };
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).expect("digits")).collect();
    groups.join(",")
}

fn size(bytes: f64) -> String {
    match bytes {
        b if b >= 1e15 => format!("{} PB (10^15 bytes each)", grouped(b / 1e15)),
        b if b >= 1e12 => format!("{} TB (10^12 bytes each)", grouped(b / 1e12)),
        b => format!("{} GB (10^9 bytes each)", grouped(b / 1e9)),
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", grouped(s)),
        s if s < 7200.0 => format!("{} min", grouped(s / 60.0)),
        s if s < 48.0 * 3600.0 => format!("{} h", grouped(s / 3600.0)),
        s => format!("{} days", grouped(s / 86400.0)),
    }
}

fn energy(joules: f64) -> String {
    match joules {
        j if j < 1e6 => format!("{} kJ", grouped(j / 1e3)),
        j if j < 1e9 => format!("{} MJ", grouped(j / 1e6)),
        j => format!("{} GJ", grouped(j / 1e9)),
    }
}

fn money(dollars: f64) -> String {
    match dollars {
        d if d < 100.0 => format!("${d:.2}"),
        d => format!("${}", grouped(d)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_three_digits_that_count() {
        for (number, text) in [
            (1.0, "1"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (48.0, "48"),
            (123.4, "123"),
            (1234.5, "1,234"),
            (771_250.0, "771,250"),
        ] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(
            (time(90.0), time(1296.6), time(20_576.0), time(1e7)),
            ("90 s".into(), "21.6 min".into(), "5.72 h".into(), "116 days".into())
        );
        assert_eq!(
            (energy(868e3), energy(2.6e9), money(1.08), money(1234.0)),
            ("868 kJ".into(), "2.60 GJ".into(), "$1.08".into(), "$1,234".into())
        );
    }
}
