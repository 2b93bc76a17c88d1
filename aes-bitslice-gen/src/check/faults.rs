//! For tests: a check finds the faults in a printed text.

use super::error::CheckError;
#[cfg(test)]
use aes_bitslice_core::manifest::Printed;

/// A printed kernel with another text.
#[cfg(test)]
pub fn with_source<F: Clone>(printed: &Printed<F>, source: &str) -> Printed<F> {
    Printed { source: source.to_string().into(), ..printed.clone() }
}

/// Changes a text in one way after the other, and panics unless `check` finds each fault; nothing is said where there is no C compiler.
pub fn faults_show<'f>(
    source: &str,
    faults: impl IntoIterator<Item = (&'f str, &'f str)>,
    check: impl Fn(&str) -> Result<bool, CheckError>,
) {
    for (text, with) in faults {
        assert!(source.contains(text), "{text}");
        shows(&format!("`{text}`"), check(&source.replace(text, with)));
    }
}

/// Leaves out one barrier after the other, of those with these numbers, counted from the start of the text.
pub fn missing_barriers_show(source: &str, which: &[usize], check: impl Fn(&str) -> Result<bool, CheckError>) {
    let barriers: Vec<usize> = source.match_indices("    BARRIER();").map(|(at, _)| at).collect();
    for &n in which {
        let (before, after) = source.split_at(barriers[n]);
        shows(&format!("barrier {n}"), check(&[before, &after.replacen("BARRIER();", "", 1)].concat()));
    }
}

fn shows(fault: &str, outcome: Result<bool, CheckError>) {
    use CheckError::{Hash, Io, OutOfBounds, Printed, Stuck};
    match outcome {
        // A kernel that writes where it should not may end its program, too.
        Ok(false) | Err(Printed { .. } | Hash { .. } | OutOfBounds { .. } | Stuck { .. } | Io(_)) => {}
        Ok(true) => panic!("{fault} is not missed"),
        Err(other) => panic!("{fault}: {other}"),
    }
}
