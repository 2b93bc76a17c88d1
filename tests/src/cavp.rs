//! NIST's CAVP response files of the modes that authenticate, and of XTS: lists of `NAME = VALUE` lines, compressed. They are part
//! of the binary, as the other [`vectors`](crate::vectors) are.

use flate2::read::GzDecoder;
use std::collections::BTreeMap;
use std::io::Read;

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/", $folder, "/", $name, ".rsp.gz")).as_slice())),*]
    };
}

const GCM: [(&str, &[u8]); 3] =
    files!("nist-cavp-gcm-enc": "gcmEncryptExtIV128" "gcmEncryptExtIV192" "gcmEncryptExtIV256");
const CMAC: [(&str, &[u8]); 3] = files!("nist-cavp-cmac-gen": "CMACGenAES128" "CMACGenAES192" "CMACGenAES256");
const XTS: [(&str, &[u8]); 2] = files!("nist-cavp-xts-hex": "XTSGenAES128" "XTSGenAES256");

/// A case: its fields by name, including those of the heading above it.
pub struct Case {
    /// File and number.
    pub source: String,
    fields: BTreeMap<String, String>,
}

impl Case {
    /// The bytes of a field.
    ///
    /// # Panics
    /// If there is no such field, or its value is not hexadecimal.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.text(name)).unwrap_or_else(|e| panic!("{}, {name}: {e}", self.source))
    }

    /// The value of a field as a decimal number.
    ///
    /// # Panics
    /// If there is no such field, or its value is not a number.
    pub fn number(&self, name: &str) -> usize {
        self.text(name).parse().unwrap_or_else(|e| panic!("{}, {name}: {e}", self.source))
    }

    fn text(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("{} has no {name}", self.source))
    }
}

/// GCM encryption with nonces of every length: Key, IV, PT, AAD, CT, Tag.
pub fn gcm() -> Vec<Case> {
    cases(&GCM)
}

/// CMAC generation: Key, Mlen in bytes, Msg, Tlen in bytes, Mac.
pub fn cmac() -> Vec<Case> {
    cases(&CMAC)
}

/// XTS of one data unit, encryption and decryption, valid in both directions: Key, i as 16 bytes, DataUnitLen in bits, PT, CT.
pub fn xts() -> Vec<Case> {
    cases(&XTS)
}

/// The names of the files.
#[cfg(test)]
pub(crate) fn files() -> impl Iterator<Item = String> {
    GCM.iter().chain(&CMAC).chain(&XTS).map(|(name, _)| format!("{name}.rsp.gz"))
}

/// Lines `[NAME = VALUE]` hold for all cases after them; a case begins with its count.
fn cases(files: &[(&str, &[u8])]) -> Vec<Case> {
    let mut cases: Vec<Case> = vec![];
    for (name, file) in files {
        let mut text = String::new();
        GzDecoder::new(*file).read_to_string(&mut text).expect("a compressed text");
        let mut heading = BTreeMap::new();
        for line in text.lines() {
            let field = |line: &str| line.split_once('=').map(|(n, v)| (n.trim().to_owned(), v.trim().to_owned()));
            if let Some(line) = line.strip_prefix('[') {
                heading.extend(field(line.trim_end_matches(']')));
            } else if let Some((field, value)) = field(line).filter(|_| !line.starts_with('#')) {
                if field.eq_ignore_ascii_case("count") {
                    let source = format!("{name} COUNT = {value}, {heading:?}");
                    cases.push(Case { source, fields: heading.clone() });
                } else {
                    cases.last_mut().expect("a count first").fields.insert(field, value);
                }
            }
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parser that skips what it does not understand would silently weaken every test that uses it.
    #[test]
    fn nothing_is_skipped() {
        assert_eq!((gcm().len(), cmac().len(), xts().len()), (3 * 7875, 96 + 144 + 96, 2 * 1000));
        assert!(gcm().iter().all(|case| case.bytes("CT").len() * 8 == case.number("PTlen")));
        assert!(cmac().iter().all(|case| case.bytes("Mac").len() == case.number("Tlen")));
        assert!(xts().iter().all(|case| case.bytes("i").len() == 16));
    }
}
