//! What docs/benchmarks.json holds: runs, and the figures of each by name.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// All figures; each is in one run.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The newest run first.
    pub runs: Vec<Run>,
}

/// What was measured in one go, on one machine.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The commit that the programs were built from.
    pub commit: String,
    /// The day, in the form 2026-11-21, UTC.
    pub date: String,
    /// The GPU, its driver, the processor and its cores.
    pub machine: String,
    /// By name, which is `TABLE/ROW/COLUMN`, in the unit that the page gives.
    pub figures: BTreeMap<String, f64>,
}

impl Measured {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let measured: Self = serde_json::from_str(&text).with_context(|| format!("`{}`", path.display()))?;
        let mut seen = BTreeSet::new();
        for (name, value) in measured.runs.iter().flat_map(|run| &run.figures) {
            if !seen.insert(name) {
                bail!("`{}`: {name} is in two runs", path.display());
            }
            if !(value.is_finite() && *value > 0.0) {
                bail!("`{}`: {name} is {value}, which nothing can have", path.display());
            }
        }
        Ok(measured)
    }

    /// Indented JSON with a newline.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data") + "\n"
    }

    /// A figure, and its run.
    pub fn get(&self, name: &str) -> Option<(f64, &Run)> {
        self.runs.iter().find_map(|run| Some((*run.figures.get(name)?, run)))
    }

    /// With a newer run before these. Of older runs only the figures stay that the newer one lacks and a page names.
    pub fn followed_by(mut self, newer: Run, named: &BTreeSet<String>) -> Self {
        for run in &mut self.runs {
            run.figures.retain(|name, _| named.contains(name) && !newer.figures.contains_key(name));
        }
        self.runs.retain(|run| !run.figures.is_empty());
        self.runs.insert(0, newer);
        self
    }

    /// How many figures each run has, in one line.
    pub fn summary(&self) -> String {
        let of = |run: &Run| format!("{} of {}", run.figures.len(), run.commit);
        self.runs.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(commit: &str, figures: &[(&str, f64)]) -> Run {
        let figures = figures.iter().map(|&(name, value)| (name.into(), value)).collect();
        Run { commit: commit.into(), date: "2026-11-21".into(), machine: "one".into(), figures }
    }

    #[test]
    fn a_newer_run_replaces_what_it_has() {
        let named = ["a", "b", "c"].map(String::from).into();
        let old = Measured { runs: vec![run("1", &[("a", 1.0), ("b", 2.0), ("unnamed", 3.0)])] };
        let new = old.followed_by(run("2", &[("a", 4.0)]), &named);
        assert_eq!(new.summary(), "1 of 2, 1 of 1");
        assert_eq!((new.get("a").unwrap().0, new.get("b").unwrap().0), (4.0, 2.0));
        assert!(new.get("unnamed").is_none() && new.get("c").is_none());
        assert_eq!(new.followed_by(run("3", &[("a", 5.0), ("b", 6.0)]), &named).summary(), "2 of 3");
    }

    #[test]
    fn impossible_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("figures");
        let error = |runs: Vec<Run>| {
            fs::write(&path, Measured { runs }.json()).unwrap();
            format!("{:#}", Measured::read(&path).err().expect("an error"))
        };
        assert!(error(vec![run("1", &[("a", 1.0)]), run("2", &[("a", 2.0)])]).contains("a is in two runs"));
        assert!(error(vec![run("1", &[("a", 0.0)])]).contains("a is 0"));
    }
}
