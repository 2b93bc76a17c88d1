//! Measures the tables of the papers on the GPU that is there, and sets them beside the papers'.
//!
//! ```text
//! aes-bitslice-papers measure --out papers.json          on a machine with a GPU and NVRTC
//! aes-bitslice-papers render --from papers.json --docs docs     anywhere
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`papers`] | what the papers printed, and the cases that bring it back |
//! | [`case`] | what can be measured |
//! | [`mod@measure`] | cases timed on the GPUs of this machine |
//! | [`measured`] | the results, as plain data |
//! | [`mod@render`] | the results beside the papers' figures: Markdown and plots |
//!
//! Exit codes: 0 done, 1 failure with nothing written, 2 usage, 3 written, but some cases failed or, with `--check`,
//! stale. A failure is one line on standard error.
#![forbid(unsafe_code)]

mod case;
mod measure;
mod measured;
mod papers;
mod render;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use measured::Measured;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The file of the figures among those that are rendered.
const FIGURES: &str = "papers.json";

#[derive(Parser)]
#[command(about = "Measures the tables of the papers on the GPU that is there, and sets them beside the papers'")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure everything
    Measure {
        /// Where to write the figures
        #[arg(long, default_value = FIGURES)]
        out: PathBuf,
        /// One run of each case, none with more than 1 MiB: to see whether everything works
        #[arg(long)]
        quick: bool,
        /// The price of the GPU in dollars, for throughput per price
        #[arg(long, value_parser = price)]
        price: Option<f64>,
    },
    /// Render papers.md and its plots; needs no GPU
    Render {
        /// What was measured
        #[arg(long)]
        from: PathBuf,
        /// The folder to write to
        #[arg(long, default_value = "docs")]
        docs: PathBuf,
        /// The price of the GPU in dollars, instead of the one that was given when it was measured
        #[arg(long, value_parser = price)]
        price: Option<f64>,
        /// Change nothing; fail if a file there is not what would be rendered
        #[arg(long)]
        check: bool,
    },
}

fn price(text: &str) -> Result<f64, String> {
    let price = text.parse().ok().filter(|price| (1e-2..1e9).contains(price));
    price.ok_or_else(|| "a price is a number of dollars, such as 30000".into())
}

/// What became of a command that did not fail.
#[derive(PartialEq)]
enum Done {
    Whole,
    /// Exit code 3.
    WithGaps,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Measure { out, quick, price } => measure(&out, quick, price),
        Command::Render { from, docs, price, check } => render(&from, &docs, price, check),
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

/// One line on standard error, whatever is in it.
fn complain(message: &str) {
    let words: Vec<&str> = message.split_whitespace().collect();
    let _ = writeln!(std::io::stderr(), "aes-bitslice-papers: {}", words.join(" "));
}

fn say(message: &str) {
    let _ = writeln!(std::io::stdout(), "{message}");
}

fn measure(out: &Path, quick: bool, price: Option<f64>) -> Result<Done> {
    // Found out before minutes of measuring, not after.
    let folder = folder_of(out);
    if !folder.is_dir() {
        bail!("cannot write `{}`: there is no folder `{}`", out.display(), folder.display());
    }
    let measured = measure::run(quick, price)?;
    write(folder, &BTreeMap::from([(name_of(out)?, measured.json())]))?;
    say(&format!("{}: {} cases in {:.0} s", out.display(), measured.timings.len(), measured.seconds));
    let mut failures = measured.failures().peekable();
    let Some((first, why)) = failures.peek() else { return Ok(Done::Whole) };
    let first = format!("{}, {}: {why}", first.table, first.case);
    complain(&format!("warning: {} cases failed; the first: {first}", failures.count()));
    Ok(Done::WithGaps)
}

fn render(from: &Path, docs: &Path, price: Option<f64>, check: bool) -> Result<Done> {
    let mut measured = Measured::read(from)?;
    measured.price = price.or(measured.price);
    let mut files = render::render(&measured);
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

/// The files that are not what they would be now.
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
        file.write_all(text.as_bytes()).and_then(|()| file.as_file().sync_all()).with_context(context)?;
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
    use crate::render::tests::made_up;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
        assert!(price("30000").is_ok() && ["", "0", "-1", "NaN", "inf"].iter().all(|text| price(text).is_err()));
    }

    /// The page in docs is what is rendered of the figures beside it.
    #[test]
    fn the_page_is_not_stale() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
        if !docs.join(FIGURES).exists() {
            assert!(!docs.join(render::PAGE).exists(), "a page without its figures");
            return;
        }
        let measured = Measured::read(&docs.join(FIGURES)).unwrap();
        assert_eq!(measured.largest, None, "figures of a quick run");
        let mut files = render::render(&measured);
        files.insert(FIGURES.into(), measured.json());
        assert_eq!(stale(&docs, &files), [""; 0], "run `cargo xtask papers --from docs/{FIGURES}`");
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
        assert!(render(Some(25_000.0), true) == Done::WithGaps, "a price changes the page");
        fs::write(docs.join(render::PAGE), "other").unwrap();
        assert!(render(None, true) == Done::WithGaps);
    }

    #[test]
    fn what_is_no_figures_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("in.json");
        let good = made_up(1).json();
        let cases = [
            ("{}".to_string(), "is not what `cargo xtask papers` writes"),
            (
                good.replacen("\"median_seconds\": ", "\"median_seconds\": -", 1),
                "has a time or a size that nothing has",
            ),
            (good.replacen("\"version\"", "\"other\"", 1), "is not what `cargo xtask papers` writes"),
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
