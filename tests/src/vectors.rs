//! The published vectors (`vectors/SOURCES.md`). They are part of the binary, so that a test binary runs on a machine
//! that has nothing else.

use aes_bitslice_runtime::{Error, Tag};
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::io::Read;

/// A case. What its mode does not have is empty.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// A file of the source, and the place in it.
    pub source: String,
    /// The mode of operation, as in the name of the file.
    pub mode: String,
    /// The key; for XTS the data key, then the tweak key.
    #[serde(with = "hex")]
    pub key: Vec<u8>,
    /// The initialization vector of CBC, the initial counter block of CTR, the number of XTS's data unit in 16 bytes,
    /// little-endian, or the nonce.
    #[serde(with = "hex")]
    pub iv: Vec<u8>,
    /// What is authenticated and not encrypted: for GMAC the message.
    #[serde(with = "hex")]
    pub aad: Vec<u8>,
    /// The plaintext, without padding; for CMAC the message.
    #[serde(with = "hex")]
    pub plaintext: Vec<u8>,
    /// The ciphertext, without a tag.
    #[serde(with = "hex")]
    pub ciphertext: Vec<u8>,
    /// The tag, which may be truncated.
    #[serde(with = "hex")]
    pub tag: Vec<u8>,
    /// Whether it must be accepted; else it must be refused.
    pub valid: bool,
    /// Bits of the plaintext, if they are not whole bytes. They come first, from the most significant of each byte on.
    pub bits: Option<usize>,
    /// `encrypt` or `decrypt`: which of them rounds or states are of. Every other valid case is valid for both.
    #[serde(default)]
    pub direction: String,
    /// Of a Monte Carlo test; in a case [for engines](for_engines) the next round, if there is one.
    #[serde(default)]
    pub rounds: Vec<Round>,
    /// For each block of the input, the state after each step of the cipher (FIPS 197), if they are published.
    #[serde(default, with = "hex")]
    pub states: Vec<u8>,
}

/// The values at the beginning of a round of a Monte Carlo test, and its last output.
#[derive(Clone, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "as in a case")]
pub struct Round {
    #[serde(with = "hex")]
    pub key: Vec<u8>,
    #[serde(with = "hex")]
    pub iv: Vec<u8>,
    #[serde(with = "hex")]
    pub plaintext: Vec<u8>,
    #[serde(with = "hex")]
    pub ciphertext: Vec<u8>,
}

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/", $name, ".jsonl.gz")).as_slice())),*]
    };
}

/// The files: their names, which are those of a mode and a source, and what is in them.
#[rustfmt::skip]
pub const FILES: [(&str, &[u8]); 26] = files!(
    "ecb-cavp" "cbc-cavp" "gcm-cavp" "cmac-cavp" "xts-cavp" "ecb-examples" "cbc-examples" "ctr-examples"
    "ecb-acvp" "ecb-monte-carlo-acvp" "cbc-acvp" "cbc-monte-carlo-acvp" "ctr-acvp" "gcm-acvp" "gcm-siv-acvp" "gmac-acvp"
    "xts-acvp" "cmac-acvp" "ecb-nessie" "ctr-rustcrypto" "cbc-pkcs5-wycheproof" "cmac-wycheproof" "gcm-wycheproof"
    "gcm-siv-wycheproof" "gmac-wycheproof" "xts-wycheproof");

/// The cases of a file.
///
/// # Panics
/// If there is no such file.
pub fn cases(name: &str) -> Vec<Case> {
    let (_, file) = FILES.iter().find(|(file, _)| *file == name).unwrap_or_else(|| panic!("there are no {name}"));
    let mut text = String::new();
    GzDecoder::new(*file).read_to_string(&mut text).expect("a compressed text");
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"))).collect()
}

/// The cases of a file as engines run them. Padding is a part of the plaintext; each round of a Monte Carlo test is a case; keys of XTS
/// with 192 bits are invalid (IEEE 1619 has none), and its units of bits that are not whole bytes are left out.
///
/// # Panics
/// If there is no such file.
pub fn for_engines(name: &str) -> Vec<Case> {
    let mut cases = cases(name);
    cases.retain(|case| case.mode != "xts" || case.bits.is_none());
    for case in &mut cases {
        if case.mode == "cbc-pkcs5" {
            let n = 16 - case.plaintext.len() % 16;
            case.plaintext.extend(vec![n as u8; n]);
            case.mode = "cbc".into();
        }
        case.valid &= case.mode != "xts" || case.key.len() != 48;
    }
    cases.into_iter().flat_map(each_round).collect()
}

fn each_round(case: Case) -> Vec<Case> {
    let rounds = case.rounds.iter().cloned().enumerate().map(|(n, Round { key, iv, plaintext, ciphertext })| {
        let source = format!("{}, round {n}", case.source);
        let rounds = case.rounds.get(n + 1).cloned().into_iter().collect();
        Case { source, key, iv, plaintext, ciphertext, rounds, ..case.clone() }
    });
    if case.rounds.is_empty() { vec![case] } else { rounds.collect() }
}

/// A tag of any length that tags of GCM and CMAC have, which may be a short one.
///
/// # Errors
/// [`Error::TagLength`] for another length.
pub fn any_tag(bytes: &[u8]) -> Result<Tag, Error> {
    Tag::new(bytes).or_else(|_| Tag::short(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{REQUIRE_GPU, is_set, say};

    /// A reader that skips what it does not understand would silently weaken every test that uses it.
    #[test]
    fn nothing_is_skipped() {
        let sources = include_str!("../vectors/SOURCES.md");
        for (name, _) in FILES {
            let cases = cases(name);
            let invalid = cases.iter().filter(|case| !case.valid).count();
            let row = format!("\n| {name} | {} | {invalid} | ", cases.len());
            assert!(sources.contains(&row), "SOURCES.md has other numbers than{row}");
            let left_out = [("xts-cavp", 600), ("xts-acvp", 28)].into_iter().find(|(file, _)| *file == name);
            let rounds = if name.contains("-monte-carlo") { 100 } else { 1 };
            let for_engines = rounds * (cases.len() - left_out.map_or(0, |(_, units)| units));
            assert_eq!(super::for_engines(name).len(), for_engines, "{name}");
            for case in cases {
                let source = &case.source;
                assert_eq!(name.rsplit_once('-').unwrap().0, case.mode, "{source}");
                assert_eq!(case.rounds.len(), if case.mode.ends_with("-monte-carlo") { 100 } else { 0 }, "{source}");
                let (len, has_tag) = (case.plaintext.len(), !case.tag.is_empty());
                let is_whole = match case.mode.as_str() {
                    "gcm" | "gcm-siv" => has_tag && case.ciphertext.len() == len,
                    "gmac" | "cmac" => has_tag && case.ciphertext.is_empty(),
                    "cbc-pkcs5" => case.ciphertext.len() == len + 16 - len % 16,
                    _ => len > 0 && case.ciphertext.len() == len,
                };
                assert!(!case.valid || is_whole && !case.key.is_empty(), "{source}");
                if let Some(Round { key, iv, plaintext, ciphertext }) = case.rounds.first() {
                    assert_eq!((key, iv, plaintext), (&case.key, &case.iv, &case.plaintext), "{source}");
                    assert_eq!(ciphertext, &case.ciphertext, "{source}");
                }
                // An initial key addition, four steps in each round but the last, three in that one.
                let states = case.plaintext.len() * (case.key.len() + 24);
                assert!(case.states.is_empty() || case.states.len() == states, "{source}");
            }
        }
    }

    /// A binary that was taken to a GPU machine has no folder with it.
    #[test]
    fn no_file_is_forgotten() {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors"));
        if is_set(REQUIRE_GPU) && !folder.exists() {
            say("THE FOLDER OF VECTORS IS NOT HERE: THAT EVERY FILE IN IT IS READ WAS NOT TESTED");
            return;
        }
        let names = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names = names.filter_map(|name| Some(name.strip_suffix(".jsonl.gz")?.to_owned())).collect::<Vec<_>>();
        let mut read = FILES.map(|(name, _)| name.to_owned()).to_vec();
        names.sort_unstable();
        read.sort_unstable();
        assert_eq!(names, read, "in the folder, and read");
    }
}
