//! The vectors of Wycheproof: edge cases, and inputs that must be refused. Part of the binary, as the other
//! [`vectors`](crate::vectors) are.

use crate::json::{self, Case};

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/wycheproof/", $name, "_test.json.gz")).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 6] = files!("aes_cbc_pkcs5" "aes_cmac" "aes_gcm" "aes_gcm_siv" "aes_gmac" "aes_xts");

/// The cases of a file, by its name without `_test.json.gz`.
///
/// # Panics
/// If there is no such file, or it states a wrong number of cases.
pub fn cases(name: &str) -> Vec<Case> {
    let (_, file) = FILES.iter().find(|(file, _)| *file == name).expect("a file of this name");
    let (cases, number) = json::cases(name, file, |source, fields| match fields["result"].as_str() {
        Some("valid") => true,
        Some("invalid") => false,
        other => panic!("{source}: the result is {other:?}"),
    });
    assert_eq!(number, Some(cases.len() as u64), "{name}");
    cases
}

/// The names of the files.
#[cfg(test)]
pub(crate) fn files() -> impl Iterator<Item = String> {
    FILES.iter().map(|(name, _)| format!("{name}_test.json.gz"))
}
