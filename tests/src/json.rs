//! Published vectors in JSON, compressed: groups of cases, each with its own fields and those of its group.

use flate2::read::GzDecoder;
use serde_json::Value;

/// A case: its fields, and those of its group.
pub struct Case {
    /// File, number and comment, if there is one.
    pub source: String,
    /// Whether it must be accepted; else it must be refused.
    pub is_valid: bool,
    fields: Value,
    group: Value,
}

impl Case {
    fn field(&self, name: &str) -> &Value {
        self.fields.get(name).or(self.group.get(name)).unwrap_or_else(|| panic!("{} has no {name}", self.source))
    }

    /// The bytes of a field.
    ///
    /// # Panics
    /// If there is no such field, or its value is not hexadecimal.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        hex::decode(self.text(name)).unwrap_or_else(|e| panic!("{}, {name}: {e}", self.source))
    }

    /// The text of a field.
    ///
    /// # Panics
    /// If there is no such field, or its value is not text.
    pub fn text(&self, name: &str) -> &str {
        self.field(name).as_str().unwrap_or_else(|| panic!("{}: {name} is no text", self.source))
    }

    /// The number in a field.
    ///
    /// # Panics
    /// If there is no such field, or its value is not a non-negative number.
    pub fn number(&self, name: &str) -> usize {
        self.field(name).as_u64().unwrap_or_else(|| panic!("{}: {name} is no number", self.source)) as usize
    }

    /// The cases in a field that is a list.
    ///
    /// # Panics
    /// If there is no such field, or its value is not a list.
    pub fn list(&self, name: &str) -> Vec<Self> {
        let case = |(n, fields): (usize, &Value)| Self {
            source: format!("{}, {name} {n}", self.source),
            is_valid: self.is_valid,
            fields: fields.clone(),
            group: self.group.clone(),
        };
        self.field(name).as_array().expect("a list").iter().enumerate().map(case).collect()
    }
}

/// The cases of a file, and the number of them that it states, if it does. `is_valid` tells from a case's fields, which it gets with the
/// case's name, whether it must be accepted.
pub(crate) fn cases(name: &str, file: &[u8], is_valid: impl Fn(&str, &Value) -> bool) -> (Vec<Case>, Option<u64>) {
    let json: Value = serde_json::from_reader(GzDecoder::new(file)).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let of_group = |mut group: Value| {
        let tests = list(&group["tests"].take());
        let read = |fields: Value| {
            let comment = fields["comment"].as_str().map(|comment| format!(": {comment}")).unwrap_or_default();
            let source = format!("{name} {}{comment}", fields["tcId"]);
            Case { is_valid: is_valid(&source, &fields), source, fields, group: group.clone() }
        };
        tests.into_iter().map(read).collect::<Vec<_>>()
    };
    (list(&json["testGroups"]).into_iter().flat_map(of_group).collect(), json["numberOfTests"].as_u64())
}
