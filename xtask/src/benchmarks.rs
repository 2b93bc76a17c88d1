//! The measured figures of the pages: BENCHMARKS.md, the README's table, and their plot, printed from docs/benchmarks.json.
//!
//! | file | idea |
//! |---|---|
//! | [`figures`] | what docs/benchmarks.json holds: runs, and the figures of each by name |
//! | [`results`] | the figures in the folder that `run.sh bench` fills on a machine with a GPU |
//! | [`tables`] | the tables, and the plot |

mod figures;
mod results;
mod tables;

use crate::files;
use anyhow::{Context, Result, bail};
use figures::Measured;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages that have tables of figures.
const PAGES: [&str; 2] = ["BENCHMARKS.md", "README.md"];
const FIGURES: &str = "docs/benchmarks.json";
const PLOT: &str = "docs/throughput.svg";
/// A table stands between these lines; the first one ends with its name and ` -->`.
const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- /figures -->";

#[derive(clap::Args)]
pub struct Args {
    /// Take over what `./run.sh bench` of the GPU bundle left in this folder; a figure that it lacks stays as it was
    #[arg(long, value_name = "FOLDER", conflicts_with = "check")]
    from: Option<PathBuf>,
    /// Change nothing; fail if a page differs from what docs/benchmarks.json gives
    #[arg(long)]
    check: bool,
}

pub fn run(root: &Path, args: &Args) -> Result<()> {
    let path = root.join(FIGURES);
    let mut measured = Measured::read(&path)?;
    if let Some(folder) = &args.from {
        measured = measured.followed_by(results::read(folder)?, &tables::names());
        say!("{FIGURES}: {}", measured.summary());
    }
    let mut printed = vec![(FIGURES.to_string(), measured.json()), (PLOT.into(), tables::plot(&measured))];
    for page in PAGES {
        let text = fs::read_to_string(root.join(page)).with_context(|| format!("cannot read {page}"))?;
        printed.push((page.into(), with_tables(&text, &measured).with_context(|| page.to_string())?));
    }
    if args.check {
        for (name, text) in &printed {
            if fs::read_to_string(root.join(name)).ok().as_ref() != Some(text) {
                bail!("{name} is not what {FIGURES} gives: run `cargo xtask benchmarks`");
            }
        }
        return Ok(());
    }
    let printed: Vec<(&str, &[u8])> = printed.iter().map(|(name, text)| (name.as_str(), text.as_bytes())).collect();
    files::write_all(root, &printed, false)
}

/// A page with its tables printed anew.
fn with_tables(page: &str, measured: &Measured) -> Result<String> {
    let mut parts = page.split(BEGIN);
    let mut printed = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, rest) = part.split_once(" -->\n").context("a marker of figures is not closed with ` -->`")?;
        let (_, after) = rest.split_once(END).with_context(|| format!("`{END}` is missing after figures: {name}"))?;
        printed += &format!("{BEGIN}{name} -->\n{}{END}{after}", tables::print(name, measured)?);
    }
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_are_what_the_figures_give() {
        run(&files::root(), &Args { from: None, check: true }).unwrap();
    }

    #[test]
    fn a_table_replaces_what_stands_between_its_markers() {
        let measured = Measured::read(&files::root().join(FIGURES)).unwrap();
        let printed = tables::print("gcm", &measured).unwrap();
        let page = |table: &str| format!("before\n{BEGIN}gcm -->\n{table}{END}\nafter\n");
        assert_eq!(with_tables(&page("| an old table |\n"), &measured).unwrap(), page(&printed));
        assert!(with_tables(&page("").replace(END, ""), &measured).is_err());
        assert!(with_tables(&page("").replace("gcm", "nothing"), &measured).is_err());
    }
}
