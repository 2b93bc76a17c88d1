//! The calls of a kernel's entry points in C, built from the parameters listed in its manifest, and the values for them. All knowledge
//! about a parameter by its name is in this file only.

use super::launch::Launch;
use aes_bitslice_core::layout::{MAX_ROUNDS, PLANES};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::{EntryPoint, Kind, Parameter};
use std::fmt::Write;
use zeroize::Zeroizing;

/// Words of a buffer with the planes of all round keys, including those that a shorter key does not have.
const PLANE_WORDS: usize = PLANES * (MAX_ROUNDS + 1);
/// The contents of words that nothing should read.
const UNUSED: u32 = 0x5a5a_5a5a;

/// The calls of both entry points of a kernel.
#[derive(Debug)]
pub(super) struct Calls {
    /// The parameters that a launch has values for, in the order in which the program reads them.
    values: Vec<Parameter>,
    /// Whether it reads data.
    pub(super) reads: bool,
    /// Whether it writes data.
    pub(super) writes: bool,
    /// Whether thread blocks find the block before their share at `previous`.
    pub(super) chained: bool,
    /// Whether the entry point for any alignment takes any length, and the position in the first block of key stream where data begins.
    pub(super) any_length: bool,
    /// Whether a launch needs tweaks; the entry point for any alignment then takes a last block of fewer than 16 bytes.
    pub(super) has_tweaks: bool,
}

/// Whether the program supplies the value itself.
fn is_of_program(parameter: &Parameter) -> bool {
    matches!(parameter.name.as_str(), "in" | "out" | "previous" | "stride")
}

impl Calls {
    /// The calls for the kernel of this manifest; the error is the name of an unknown parameter.
    pub(super) fn new(manifest: &Manifest) -> Result<Self, String> {
        let entries = [&manifest.entry, &manifest.entry_bytes];
        let takes = |entry: &EntryPoint, name: &str| entry.parameters.iter().any(|p| p.name == name);
        let either = |name: &str| entries.iter().any(|entry| takes(entry, name));
        let mut values: Vec<Parameter> = Vec::new();
        for parameter in entries.iter().flat_map(|entry| &entry.parameters).filter(|p| !is_of_program(p)) {
            if c_type(parameter).is_none() {
                return Err(parameter.name.clone());
            }
            if !values.contains(parameter) {
                values.push(parameter.clone());
            }
        }
        Ok(Self {
            values,
            reads: either("in"),
            writes: either("out"),
            chained: either("previous"),
            any_length: takes(&manifest.entry_bytes, "skip"),
            has_tweaks: either("tweak_keys"),
        })
    }

    /// C code to append to the program: `get_values` reads the values of a launch, `run_aligned` and `run_bytes` call the entry points with
    /// them.
    pub(super) fn text(&self, manifest: &Manifest) -> String {
        let mut text = String::from("\n");
        let mut get = String::from("    return 1");
        for value in &self.values {
            let (c_type, elements) = c_type(value).expect("known since it was made");
            let (name, bytes) = (&value.name, value_bytes(value));
            let array = if elements > 1 { format!("[{elements}]") } else { String::new() };
            let _ = writeln!(text, "static {c_type} value_{name}{array};");
            let _ = writeln!(text, "_Static_assert(sizeof value_{name} == {bytes}, \"{name}\");");
            let _ = write!(get, " && get(&value_{name}, sizeof value_{name})");
        }
        let _ = writeln!(text, "static int get_values(void) {{\n{get};\n}}");
        for (function, entry) in [("run_aligned", &manifest.entry), ("run_bytes", &manifest.entry_bytes)] {
            let argument = |p: &Parameter| {
                let place = if is_of_program(p) { "launch." } else { "value_" };
                format!("{place}{}", p.name)
            };
            let arguments: Vec<String> = entry.parameters.iter().map(argument).collect();
            let _ = writeln!(text, "static void {function}(void) {{ {}({}); }}", entry.name, arguments.join(", "));
        }
        text
    }

    /// The values of a launch, in the order in which the program reads them.
    pub(super) fn values(&self, launch: &Launch<'_>) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.values.iter().map(value_bytes).sum()));
        let tweaks = || launch.tweaks.expect("checked before");
        for value in &self.values {
            match value.name.as_str() {
                "blocks" => bytes.extend(launch.blocks_to_do().to_le_bytes()),
                "length" => bytes.extend((launch.data.len() as u64).to_le_bytes()),
                "skip" => bytes.extend((launch.skip as u32).to_le_bytes()),
                "counter" => bytes.extend(launch.start.to_le_bytes()),
                "iv" => bytes.extend(launch.start.to_be_bytes()),
                "rounds" => bytes.extend(((launch.key.len() / PLANES) as u32).saturating_sub(1).to_le_bytes()),
                "ragged" => bytes.extend((launch.ragged() as u32).to_le_bytes()),
                "unit_blocks" => bytes.extend((tweaks().units.blocks as u32).to_le_bytes()),
                "before" => bytes.extend((tweaks().units.before as u32).to_le_bytes()),
                "first_unit" => bytes.extend(tweaks().units.first.to_le_bytes()),
                "tweak_keys" => bytes.extend(tweaks().key.iter().flat_map(|word| word.to_le_bytes())),
                "keys" => bytes.extend(launch.key.iter().flat_map(|word| word.to_le_bytes())),
                "key_planes" => {
                    let unused = std::iter::repeat_n(&UNUSED, PLANE_WORDS - launch.key.len());
                    bytes.extend(launch.key.iter().chain(unused).flat_map(|word| word.to_le_bytes()));
                }
                other => unreachable!("`{other}` was known"),
            }
        }
        bytes
    }
}

/// The C type of a parameter of words passed with the launch; `None` if it is unknown.
pub(super) fn structure(parameter: &Parameter) -> Option<&'static str> {
    let round_keys = Kind::Words(4 * (MAX_ROUNDS + 1) + 1);
    match (parameter.name.as_str(), parameter.kind) {
        ("counter" | "secret_counter" | "first_unit", Kind::Words(4)) => Some("counter128"),
        ("iv" | "factor" | "addend" | "mask", Kind::Words(4)) => Some("block128"),
        ("keys" | "tweak_keys", kind) if kind == round_keys => Some("round_keys"),
        ("keys", Kind::Words(9)) => Some("unexpanded_key"),
        _ => None,
    }
}

/// The C type of a parameter's value, and the number of elements; `None` if it is unknown.
fn c_type(parameter: &Parameter) -> Option<(&'static str, usize)> {
    match (parameter.name.as_str(), parameter.kind) {
        ("blocks" | "length", Kind::U64) => Some(("u64", 1)),
        ("skip" | "rounds" | "ragged" | "unit_blocks" | "before", Kind::U32) => Some(("u32", 1)),
        ("counter" | "first_unit" | "iv" | "keys" | "tweak_keys", _) => structure(parameter).map(|name| (name, 1)),
        ("key_planes", Kind::Buffer) => Some(("u32", PLANE_WORDS)),
        _ => None,
    }
}

/// Bytes of the value of a parameter.
fn value_bytes(parameter: &Parameter) -> usize {
    match parameter.kind {
        Kind::Buffer => 4 * PLANE_WORDS,
        kind => kind.cuda_bytes(),
    }
}
