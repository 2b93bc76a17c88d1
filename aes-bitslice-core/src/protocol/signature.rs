//! The parameters of an entry point, read from its source: the only place where a kernel's parameters are written down.
//!
//! All dialects declare an entry point with these macros (`emit/dialect` of the generator defines them):
//!
//! | in the source | [`Kind`] | in CUDA C | in OpenCL C |
//! |---|---|---|---|
//! | `DATA(type)` | `in`: `Input`, `out`: `Output` | a pointer each | a buffer and an offset each, in units of the type |
//! | `INPUT(type)`, `OUTPUT(type)` | one of the two | a pointer | a buffer and an offset |
//! | `POINTER(u8, name)` | `Pointer` | a pointer | a buffer and an offset in bytes |
//! | `IN_GLOBAL const type *name`, `IN_GLOBAL type *name` | `Buffer` | a pointer | a buffer |
//! | `u32 name`, `u64 name` | `U32`, `U64` | a number | a number |
//! | `KERNEL_PARAMETER type name` | `Words` | a structure of 32-bit words | a structure of 32-bit words |

use super::argument::{Argument, Kind};
use super::key_source::{ROUND_KEYS, UNEXPANDED_KEY};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// An entry point of a kernel: its name, and the parameters it is launched with, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryPoint {
    /// The function's name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A parameter of an entry point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The name, by which the launch finds its value.
    pub name: Argument,
    /// The kind of its value.
    pub kind: Kind,
}

/// The number of 32-bit words in a structure passed with a launch.
fn structure_words(name: &str) -> Option<usize> {
    match name {
        "counter128" | "block128" => Some(4),
        "round_keys" => Some(ROUND_KEYS),
        "unexpanded_key" => Some(UNEXPANDED_KEY),
        _ => None,
    }
}

/// The reason why an entry point's parameters cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// There is no such entry point.
    #[error("the source has no entry point `{0}`")]
    Missing(String),
    /// A parameter has an unknown form, or a name that no argument of this kind has.
    #[error("`{entry}` takes `{parameter}`, which is nothing that a launch has")]
    Parameter {
        /// The entry point.
        entry: String,
        /// The parameter, as written.
        parameter: String,
    },
}

impl EntryPoint {
    /// Whether it takes this argument.
    pub fn takes(&self, argument: Argument) -> bool {
        self.parameters.iter().any(|parameter| parameter.name == argument)
    }

    /// The first argument that it takes twice, or of a kind that the argument never has: a launch could not give it its value.
    pub(crate) fn impossible(&self) -> Option<Argument> {
        let mut names = BTreeSet::new();
        let mut all = self.parameters.iter();
        all.find(|one| !names.insert(one.name) || !one.name.kinds().contains(&one.kind)).map(|one| one.name)
    }

    /// Reads the parameters of the entry point with this name from the source of its kernel.
    ///
    /// # Errors
    /// [`SignatureError`] if the source has no such entry point, or it takes a parameter of a form other than those above.
    pub fn read(source: &str, name: &str) -> Result<Self, SignatureError> {
        let missing = || SignatureError::Missing(name.into());
        let begin = format!("KERNEL {name}(");
        let at = source.match_indices(&begin).map(|(at, _)| at).find(|&at| at == 0 || source[..at].ends_with('\n'));
        let list = &source[at.ok_or_else(missing)? + begin.len()..];
        let list = &list[..list.find(") {").ok_or_else(missing)?];
        let mut parameters = Vec::new();
        for text in split(list) {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let read = parameter(&words);
            if read.is_empty() {
                return Err(SignatureError::Parameter { entry: name.into(), parameter: words });
            }
            parameters.extend(read);
        }
        Ok(Self { name: name.into(), parameters })
    }
}

/// The parts of a list between commas, where commas in parentheses do not count.
fn split(list: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, sign) in list.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// The parameters that an element of the list stands for; none if there is no such argument.
fn parameter(text: &str) -> Vec<Parameter> {
    let one = |name: &str, kind| {
        let name = name.parse().ok().filter(|name: &Argument| name.kinds().contains(&kind));
        name.map(|name| Parameter { name, kind }).into_iter().collect()
    };
    let (input, output) =
        (Parameter { name: Argument::In, kind: Kind::Input }, Parameter { name: Argument::Out, kind: Kind::Output });
    if let Some((macro_name, arguments)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let arguments: Vec<&str> = arguments.split(',').map(str::trim).collect();
        return match (macro_name, arguments.as_slice()) {
            ("DATA", [_]) => vec![input, output],
            ("INPUT", [_]) => vec![input],
            ("OUTPUT", [_]) => vec![output],
            ("POINTER", ["u8", name]) => one(name, Kind::Pointer),
            _ => vec![],
        };
    }
    let Some((of, name)) = text.rsplit_once(' ') else { return vec![] };
    if let Some(name) = name.strip_prefix('*') {
        let is_buffer = ["IN_GLOBAL ", "IN_CONSTANT const "].iter().any(|space| of.starts_with(space));
        return if is_buffer { one(name, Kind::Buffer) } else { vec![] };
    }
    let kind = match of {
        "u32" => Some(Kind::U32),
        "u64" => Some(Kind::U64),
        _ => of.strip_prefix("KERNEL_PARAMETER ").and_then(structure_words).map(Kind::Words),
    };
    kind.map_or(vec![], |kind| one(name, kind))
}

impl fmt::Display for EntryPoint {
    /// The declaration in C, without the types.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.name()).collect();
        write!(f, "{}({})", self.name, names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_the_source() {
        let source = "// KERNEL k(nothing) {\nKERNEL k(DATA(uint4), u64 blocks, POINTER(u8, previous), u64 stride,\n   \
                      KERNEL_PARAMETER block128 iv, KERNEL_PARAMETER round_keys keys) {\n}\n\
                      KERNEL k_bytes(OUTPUT(u8), u64 length, u32 skip, IN_GLOBAL const u32 *key_planes, u32 rounds) {\n}\n";
        let entry = EntryPoint::read(source, "k").unwrap();
        assert_eq!(entry.to_string(), "k(in, out, blocks, previous, stride, iv, keys)");
        let kinds: Vec<Kind> = entry.parameters.iter().map(|p| p.kind).collect();
        let expected =
            [Kind::Input, Kind::Output, Kind::U64, Kind::Pointer, Kind::U64, Kind::Words(4), Kind::Words(61)];
        assert_eq!(kinds, expected);
        assert_eq!(kinds.iter().map(|kind| kind.opencl_arguments()).sum::<usize>(), 10);
        let bytes = EntryPoint::read(source, "k_bytes").unwrap();
        assert_eq!(bytes.to_string(), "k_bytes(out, length, skip, key_planes, rounds)");
        assert_eq!(bytes.parameters[3].kind, Kind::Buffer);
        assert_eq!(bytes.parameters.iter().map(|p| p.kind.cuda_bytes()).sum::<usize>(), 8 + 8 + 4 + 8 + 4);
    }

    #[test]
    fn what_cannot_be_launched_is_refused() {
        assert_eq!(EntryPoint::read("", "k"), Err(SignatureError::Missing("k".into())));
        assert_eq!(EntryPoint::read("KERNEL k(u64 length", "k"), Err(SignatureError::Missing("k".into())));
        for unknown in [
            "int length",
            "u64",
            "u64 *n",
            "KERNEL_PARAMETER thing length",
            "DATA(u8, u8)",
            "POINTER(u32, length)",
            "const u32 *key_planes",
            "u64 no_argument",
            "u32 length",
            "KERNEL_PARAMETER round_keys counter",
            "",
        ] {
            let source = format!("KERNEL k({unknown}) {{}}");
            let error = EntryPoint::read(&source, "k").unwrap_err();
            assert_eq!(error, SignatureError::Parameter { entry: "k".into(), parameter: unknown.into() });
        }
    }
}
