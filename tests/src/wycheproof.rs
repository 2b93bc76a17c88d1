//! The vectors of Wycheproof: edge cases, and inputs that have to be refused. JSON, compressed; part of the binary, as the other
//! [`vectors`](crate::vectors) are.

use flate2::read::GzDecoder;
use serde_json::Value;

macro_rules! files {
    ($($name:literal)*) => {
        [$(($name, include_bytes!(concat!("../vectors/wycheproof/", $name, "_test.json.gz")).as_slice())),*]
    };
}

const FILES: [(&str, &[u8]); 6] = files!("aes_cbc_pkcs5" "aes_cmac" "aes_gcm" "aes_gcm_siv" "aes_gmac" "aes_xts");

/// A case: its fields, and those of its group.
pub struct Case {
    /// File, number and comment.
    pub source: String,
    /// Whether it has to be accepted; else it has to be refused.
    pub is_valid: bool,
    fields: Value,
    group: Value,
}

impl Case {
    /// The bytes of a field.
    ///
    /// # Panics
    /// If there is none of this name, or its value is not hexadecimal.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let text = self.fields[name].as_str().unwrap_or_else(|| panic!("{} has no {name}", self.source));
        hex::decode(text).unwrap_or_else(|e| panic!("{}, {name}: {e}", self.source))
    }

    /// A number of the group's.
    ///
    /// # Panics
    /// If there is none of this name.
    pub fn of_group(&self, name: &str) -> usize {
        self.group[name].as_u64().unwrap_or_else(|| panic!("{} has no {name}", self.source)) as usize
    }
}

/// The cases of a file, by its name without `_test.json.gz`.
///
/// # Panics
/// If there is no such file, or it says another number of cases than it has.
pub fn cases(name: &str) -> Vec<Case> {
    let (_, file) = FILES.iter().find(|(file, _)| *file == name).expect("a file of this name");
    let json: Value = serde_json::from_reader(GzDecoder::new(*file)).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let of_group = |group: Value| {
        let read = |fields: Value| {
            let comment = fields["comment"].as_str().unwrap_or_default();
            let source = format!("{name} {}: {comment}", fields["tcId"]);
            let is_valid = match fields["result"].as_str() {
                Some("valid") => true,
                Some("invalid") => false,
                other => panic!("{source}: the result is {other:?}"),
            };
            Case { source, is_valid, fields, group: group.clone() }
        };
        list(&group["tests"]).into_iter().map(read).collect::<Vec<_>>()
    };
    let cases: Vec<Case> = list(&json["testGroups"]).into_iter().flat_map(of_group).collect();
    assert_eq!(json["numberOfTests"].as_u64(), Some(cases.len() as u64), "{name}");
    cases
}

/// The names of the files.
#[cfg(test)]
pub(crate) fn files() -> impl Iterator<Item = String> {
    FILES.iter().map(|(name, _)| format!("{name}_test.json.gz"))
}
