//! Limits on every stored kernel: lookup tables, registers, spilled bytes and instructions, each with a checked-in
//! ceiling. A kernel that shrinks lowers its ceilings; they rise only on request.

use crate::files;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Measured values, or their ceilings, by the name of the measure.
pub type Measures = BTreeMap<String, u64>;

/// The file of ceilings; not among the generated ones, which may be deleted at any time.
pub const FILE: &str = "ceilings.json";

fn folder(root: &Path) -> PathBuf {
    root.join("kernels-generated")
}

/// The checked-in ceilings; none without the file.
pub fn read(root: &Path) -> Result<Measures> {
    let path = folder(root).join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("`{}` is no map of names to numbers", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Measures::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
}

/// Replaces the ceilings.
pub fn write(root: &Path, ceilings: &Measures) -> Result<()> {
    let json = serde_json::to_string_pretty(ceilings).context("plain data")? + "\n";
    files::write_all(&folder(root), &[(FILE, json.as_bytes())], false)
}

/// The ceilings lowered to the measured values; measures without a ceiling get theirs, ceilings without a measure go.
pub fn lowered(ceilings: &Measures, measured: &Measures) -> Measures {
    let lower = |(name, &now): (&String, &u64)| (name.clone(), ceilings.get(name).map_or(now, |&old| old.min(now)));
    measured.iter().map(lower).collect()
}

/// Each measure above its ceiling or without one, in words.
pub fn exceeded(ceilings: &Measures, measured: &Measures) -> Vec<String> {
    let words = |(name, now): (&String, &u64)| match ceilings.get(name) {
        Some(ceiling) if now <= ceiling => None,
        Some(ceiling) => Some(format!("{name}: {now}, ceiling {ceiling}")),
        None => Some(format!("{name}: {now}, without a ceiling")),
    };
    measured.iter().filter_map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures(of: &[(&str, u64)]) -> Measures {
        of.iter().map(|&(name, number)| (name.into(), number)).collect()
    }

    #[test]
    fn growth_is_found_and_shrinking_is_not() {
        let ceilings = measures(&[("a registers", 168), ("a spilled bytes", 0), ("b registers", 255)]);
        for (measured, says) in [
            (measures(&[("a registers", 168), ("a spilled bytes", 0)]), &[][..]),
            (measures(&[("a registers", 128), ("b registers", 255)]), &[]),
            (measures(&[("a registers", 169)]), &["a registers: 169, ceiling 168"]),
            (measures(&[("a registers", 168), ("a spilled bytes", 4)]), &["a spilled bytes: 4, ceiling 0"]),
            (measures(&[("c registers", 8)]), &["c registers: 8, without a ceiling"]),
        ] {
            assert_eq!(exceeded(&ceilings, &measured), says);
        }
    }

    #[test]
    fn ceilings_go_down_by_themselves_and_never_up() {
        let ceilings = measures(&[("grew", 5), ("shrank", 5), ("gone", 5)]);
        let measured = measures(&[("grew", 6), ("shrank", 4), ("new", 7)]);
        let lowered = lowered(&ceilings, &measured);
        assert_eq!(lowered, measures(&[("grew", 5), ("new", 7), ("shrank", 4)]));
        assert_eq!(exceeded(&lowered, &measured), ["grew: 6, ceiling 5"]);
    }
}
