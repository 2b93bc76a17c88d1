//! NIST's vectors for ACVP, its Automated Cryptographic Validation Protocol: known answers, Monte Carlo tests, and inputs that must be
//! refused. Part of the binary, as the other [`vectors`](crate::vectors) are.

use crate::json::{self, Case};

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/nist-acvp/", $name, "-1.0.json.gz")).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 8] = files!(
    "ACVP-AES-CBC" "ACVP-AES-CTR" "ACVP-AES-ECB" "ACVP-AES-GCM" "ACVP-AES-GCM-SIV" "ACVP-AES-GMAC" "ACVP-AES-XTS" "CMAC-AES");

/// The cases of a file, by its name without `-1.0.json.gz`.
///
/// # Panics
/// If there is no such file.
pub fn cases(name: &str) -> Vec<Case> {
    let (_, file) = FILES.iter().find(|(file, _)| *file == name).expect("a file of this name");
    let (cases, _) = json::cases(name, file, |source, fields| match &fields["testPassed"] {
        serde_json::Value::Null => true,
        value => value.as_bool().unwrap_or_else(|| panic!("{source}: the result is {value}")),
    });
    cases
}

/// The names of the files.
#[cfg(test)]
pub(crate) fn files() -> impl Iterator<Item = String> {
    FILES.iter().map(|(name, _)| format!("{name}-1.0.json.gz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For each file: all cases, and those that must be refused.
    #[test]
    fn nothing_is_skipped() {
        let count = |name: &&str| {
            let cases = cases(name);
            (cases.len(), cases.iter().filter(|case| !case.is_valid).count())
        };
        let counts = FILES.iter().map(|(name, _)| count(name)).collect::<Vec<_>>();
        assert_eq!(counts, [(2156, 0), (150, 0), (2144, 0), (60, 10), (120, 13), (60, 8), (80, 0), (162, 54)]);
    }
}
