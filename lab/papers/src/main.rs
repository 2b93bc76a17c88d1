//! Measures the papers' tables on this machine's GPU, and compares them with the papers' own.
//!
//! ```text
//! aes-bitslice-papers measure --out papers.json          on a machine with a GPU and NVRTC
//! aes-bitslice-papers render --from papers.json --docs docs     anywhere
//! ```
//!
//! `measure --paper NAME` measures one paper alone. Rendering keeps what the folder has for papers that the figures do not cover.
//!
//! | module | idea |
//! |---|---|
//! | [`papers`] | what the papers printed, and the cases that reproduce it |
//! | [`case`] | what can be measured |
//! | [`mod@measure`] | cases timed on the devices of this machine |
//! | [`measured`] | the results, as plain data |
//! | [`mod@render`] | the results next to the papers' figures: Markdown and plots |
//!
//! Exit codes: 0 done, 1 failure with nothing written, 2 usage, 3 written, but some cases failed or, with `--check`,
//! stale. A failure is one line on standard error.
#![deny(unsafe_code)]

mod case;
mod measure;
mod measured;
mod papers;
mod render;

use aes_bitslice_core::sync::sync;
use aes_bitslice_papers::kernels::counted;
use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use measured::{Measured, Price};
use papers::paper::Paper;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file of figures among the rendered files.
const FIGURES: &str = "papers.json";

#[derive(Parser)]
#[command(about = "Measures the tables of the papers on the GPU that is there, and compares them with the papers'")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure everything, or one paper
    Measure {
        /// The paper, such as ul-haq-2011, which needs OpenCL only; may be given several times
        #[arg(long, value_name = "NAME", value_parser = papers::all::find)]
        paper: Vec<&'static Paper>,
        /// Where to write the figures
        #[arg(long, default_value = FIGURES)]
        out: PathBuf,
        /// One run of each case, none with more than 1 MiB: to see whether everything works
        #[arg(long)]
        quick: bool,
        #[command(flatten)]
        price: PriceArgs,
        /// The commit that this program was built from, for the record
        #[arg(long)]
        commit: Option<String>,
    },
    /// Run one kernel of the papers, for a profiler to count
    #[command(hide = true)]
    Launch {
        /// The kernel
        kernel: String,
    },
    /// Write the kernels whose instructions are counted, for `cargo xtask papers --count`
    #[command(hide = true)]
    Print {
        /// The folder to write to
        folder: PathBuf,
    },
    /// Render papers.md and its plots, keeping papers that were not measured; needs no GPU
    Render {
        /// What was measured
        #[arg(long)]
        from: PathBuf,
        /// The folder to write to
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
        #[command(flatten)]
        price: PriceArgs,
        /// Change nothing; fail if a file there is not what would be rendered
        #[arg(long)]
        check: bool,
    },
}

/// The price of the GPU, for throughput for a dollar; without one, that of the measurement counts, if it has one.
#[derive(clap::Args)]
struct PriceArgs {
    /// The price of the GPU in dollars, for throughput for a dollar
    #[arg(long, value_parser = price, requires = "price_source")]
    price: Option<f64>,
    /// Who names the price, and the date of the page or report that does
    #[arg(long, value_name = "TEXT", requires = "price")]
    price_source: Option<String>,
}

impl PriceArgs {
    fn price(self) -> Option<Price> {
        self.price.zip(self.price_source).map(|(dollars, source)| Price { dollars, source })
    }
}

fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price| (1e-2..1e9).contains(price));
    price.ok_or_else(|| "a price is a number of dollars, such as 30000".into())
}

/// The outcome of a command that did not fail.
#[derive(PartialEq)]
enum Done {
    Whole,
    /// Exit code 3.
    WithGaps,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Measure { paper, out, quick, price, commit } => measure(&paper, &out, quick, price.price(), commit),
        Command::Launch { kernel } => measure::counters::launch(&kernel).map(|()| Done::Whole),
        Command::Print { folder } => print(&folder),
        Command::Render { from, docs, price, check } => render(&from, &docs, price.price(), check),
    };
    match outcome {
        Ok(Done::Whole) => ExitCode::SUCCESS,
        Ok(Done::WithGaps) => ExitCode::from(3),
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes one line to standard error, with spaces for the message's line ends.
fn complain(message: &str) {
    let words: Vec<&str> = message.split_whitespace().collect();
    let _ = writeln!(std::io::stderr(), "aes-bitslice-papers: {}", words.join(" "));
}

fn say(message: &str) {
    let _ = writeln!(std::io::stdout(), "{message}");
}

/// Measures papers, or all if none are given.
fn measure(papers: &[&Paper], out: &Path, quick: bool, price: Option<Price>, commit: Option<String>) -> Result<Done> {
    // Checked before minutes of measuring, not after.
    let folder = folder_of(out);
    if !folder.is_dir() {
        bail!("cannot write `{}`: there is no folder `{}`", out.display(), folder.display());
    }
    let papers = if papers.is_empty() { &papers::all::ALL } else { papers };
    let measured = Measured { runs: vec![measure::bench::run(papers, quick, price, commit)?] };
    write(folder, &BTreeMap::from([(name_of(out)?, measured.json())]))?;
    let run = &measured.runs[0];
    say(&format!("{}: {} cases in {:.0} s", out.display(), run.timings.len(), run.seconds));
    let mut failures = run.failures().peekable();
    let Some((first, why)) = failures.peek() else { return Ok(Done::Whole) };
    let first = format!("{}, {}: {why}", first.table, first.case);
    complain(&format!("warning: {} cases failed; the first: {first}", failures.count()));
    Ok(Done::WithGaps)
}

fn print(folder: &Path) -> Result<Done> {
    let sources = counted::all().into_iter().map(|(name, source)| (format!("{name}.cu"), source)).collect();
    write(folder, &sources)?;
    Ok(Done::Whole)
}

fn render(from: &Path, docs: &Path, price: Option<Price>, check: bool) -> Result<Done> {
    let mut measured = Measured::read(from)?;
    measured.runs.iter_mut().for_each(|run| run.price = price.clone().or(run.price.take()));
    let there = docs.join(FIGURES);
    if papers::all::ALL.iter().any(|paper| measured.of(paper.name).is_none()) && there.exists() {
        measured = measured.after(Measured::read(&there)?);
    }
    let mut files = render::files::render(&measured);
    files.insert(FIGURES.into(), measured.json());
    if check {
        let stale = stale(docs, &files);
        if stale.is_empty() {
            say(&format!("{} files in {} are what is rendered now", files.len(), docs.display()));
            return Ok(Done::Whole);
        }
        complain(&format!("error: stale: {}; run `cargo xtask papers --from {}`", stale.join(", "), from.display()));
        return Ok(Done::WithGaps);
    }
    write(docs, &files)?;
    files.keys().for_each(|name| say(&format!("wrote {}", docs.join(name).display())));
    Ok(Done::Whole)
}

/// The files that differ from what would be rendered now.
fn stale(folder: &Path, files: &BTreeMap<String, String>) -> Vec<String> {
    let is_stale =
        |(name, text): &(&String, &String)| !fs::read_to_string(folder.join(name)).is_ok_and(|t| t == **text);
    files.iter().filter(is_stale).map(|(name, _)| name.clone()).collect()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn name_of(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(String::from).with_context(|| format!("`{}` is no name of a file", path.display()))
}

/// Writes files, each whole or not at all, none before all are written under temporary names.
fn write(folder: &Path, files: &BTreeMap<String, String>) -> Result<()> {
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        let context = || format!("cannot write `{}`", path.display());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = builder.prefix(".aes-bitslice-").tempfile_in(folder).with_context(context)?;
        file.write_all(text.as_bytes()).and_then(|()| sync(file.as_file())).with_context(context)?;
        written.push((file, path));
    }
    for (file, path) in written {
        file.persist(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::made_up::{made_up, made_up_run};
    use clap::CommandFactory;

    fn of_a_shop(dollars: f64) -> Price {
        Price { dollars, source: "a shop, 2026-11-22".into() }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        assert!(price("30000").is_ok() && ["", "0", "-1", "NaN", "inf"].iter().all(|text| price(text).is_err()));
    }

    /// The page in docs is what the figures next to it render to.
    #[test]
    fn the_page_is_not_stale() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        if !docs.join(FIGURES).exists() {
            assert!(!docs.join(render::page::PAGE).exists(), "a page without its figures");
            return;
        }
        let measured = Measured::read(&docs.join(FIGURES)).unwrap();
        assert!(measured.runs.iter().all(|run| run.largest.is_none()), "figures of a quick run");
        let mut files = render::files::render(&measured);
        files.insert(FIGURES.into(), measured.json());
        assert_eq!(stale(&docs, &files), [""; 0], "run `cargo xtask papers --from docs/{FIGURES}`");
    }

    /// Which cases have a clock, as the page says.
    #[test]
    fn cases_on_one_gpu_have_a_clock_and_those_elsewhere_have_none() {
        let figures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(FIGURES);
        if !figures.exists() {
            return;
        }
        let measured = Measured::read(&figures).unwrap();
        for case in papers::all::cases(&papers::all::ALL, 4) {
            let Some(run) = measured.of(measured::paper_of(case.table)) else { continue };
            let Ok(times) = run.times(case.table, &case.name, case.bytes) else { continue };
            use case::Work::*;
            let has_one = match case.work {
                Kernel(_) | Program(_) => true,
                // Since runs say how long each run of a case took.
                Copied { .. } | CopiesAlone { .. } => times.nanoseconds.is_some(),
                // Only if it is CUDA's GPU, too.
                OpenCl { on: measured::Kind::Gpu, .. } => continue,
                OpenCl { .. } | Allocation | Processor(_) | Sharded { .. } | Host { .. } => false,
            };
            // Runs of microseconds may end before the count, however many there are.
            let may_have_none = has_one && times.median_seconds < 2e-5;
            assert!(times.clock_mhz.is_some() == has_one || may_have_none, "{}, {}", case.table, case.name);
        }
    }

    #[test]
    fn figures_are_rendered_and_checked() {
        let folder = tempfile::tempdir().unwrap();
        let (from, docs) = (folder.path().join("in.json"), folder.path().join("docs"));
        fs::create_dir(&docs).unwrap();
        fs::write(&from, made_up(2).json()).unwrap();
        let render = |price, check| render(&from, &docs, price, check).unwrap();
        assert!(render(None, true) == Done::WithGaps, "nothing is there yet");
        assert!(fs::read_dir(&docs).unwrap().next().is_none(), "a check writes nothing");
        assert!(render(None, false) == Done::Whole && render(None, true) == Done::Whole);
        assert!(Measured::read(&docs.join(FIGURES)).unwrap() == made_up(2), "figures come through unchanged");
        assert!(render(Some(of_a_shop(25_000.0)), true) == Done::WithGaps, "a price changes the page");
        fs::write(docs.join(render::page::PAGE), "other").unwrap();
        assert!(render(None, true) == Done::WithGaps);
    }

    /// A paper that is measured alone replaces its older figures; the others stay, and so does their run.
    #[test]
    fn one_paper_may_be_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let (from, docs) = (folder.path().join("in.json"), folder.path().join("docs"));
        fs::create_dir(&docs).unwrap();
        let rendered = |measured: &Measured| {
            fs::write(&from, measured.json()).unwrap();
            assert!(render(&from, &docs, None, false).unwrap() == Done::Whole);
            let read = Measured::read(&docs.join(FIGURES)).unwrap();
            assert!(render(&docs.join(FIGURES), &docs, None, true).unwrap() == Done::Whole, "the page is that of both");
            read
        };
        let names = |measured: &Measured| {
            let names = |run: &measured::Run| run.papers().into_iter().map(String::from).collect::<Vec<_>>().join(" ");
            measured.runs.iter().map(names).collect::<Vec<_>>()
        };
        let all = rendered(&made_up(1));
        assert_eq!(
            names(&all),
            [
                "abdelrahman-2017 hajihassani-2019 hajihassani-2019-key-stream hajihassani-2019-layers iwai-2010 li-2012 ul-haq-2011 ul-haq-2011-extended"
            ],
            "of one GPU"
        );

        let mut alone = made_up_run(&[&papers::ul_haq_2011::PAPER], 0);
        alone.date = "2027-01-01".into();
        let both = rendered(&Measured { runs: vec![alone.clone()] });
        assert_eq!(
            names(&both),
            [
                "abdelrahman-2017 hajihassani-2019 hajihassani-2019-key-stream hajihassani-2019-layers iwai-2010 li-2012 ul-haq-2011-extended",
                "ul-haq-2011"
            ]
        );
        assert!(both.runs[1] == alone && both.of("li-2012").unwrap().date == all.runs[0].date);

        alone.date = "2027-01-02".into();
        let again = rendered(&Measured { runs: vec![alone.clone()] });
        assert!(again.runs[0] == both.runs[0] && again.runs[1..] == [alone], "an empty run is dropped");
        assert!(rendered(&made_up(1)) == made_up(1), "what has all papers keeps nothing");
        let check = render(&docs.join(FIGURES), &docs, Some(of_a_shop(1000.0)), true).unwrap();
        assert!(check == Done::WithGaps);
    }

    /// One line lists the papers that there are.
    #[test]
    fn an_unknown_paper_is_refused() {
        let error = Cli::try_parse_from(["papers", "measure", "--paper", "li-2013"]).err().unwrap().to_string();
        let says =
            "invalid value 'li-2013' for '--paper <NAME>': there is no such paper; there are iwai-2010, ul-haq-2011";
        assert!(error.contains(says), "{error}");
        assert!(Cli::try_parse_from(["papers", "measure", "--paper", "li-2012", "--paper", "iwai-2010"]).is_ok());
    }

    #[test]
    fn what_is_no_figures_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("in.json");
        let good = made_up(1).json();
        let mut without_devices = made_up(0);
        without_devices.runs[0].opencl.clear();
        let cases = [
            ("{}".to_string(), "is not what `cargo xtask papers` writes"),
            (
                good.replacen("\"median_seconds\": ", "\"median_seconds\": -", 1),
                "has a time or a size that nothing has",
            ),
            (good.replacen("\"version\"", "\"other\"", 1), "is not what `cargo xtask papers` writes"),
            ("[]".into(), "there is no run in it"),
            (Measured { runs: vec![made_up(1).runs[0].clone(); 2] }.json(), "abdelrahman-2017 is in two runs"),
            (without_devices.json(), "names no GPU"),
        ];
        for (text, says) in cases {
            fs::write(&from, text).unwrap();
            let error = format!("{:#}", render(&from, folder.path(), None, false).err().unwrap());
            assert!(error.contains(says), "{error}");
        }
        assert!(render(&folder.path().join("none"), folder.path(), None, false).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is written");
    }
}
