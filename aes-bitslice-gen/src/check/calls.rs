//! The calls of a kernel's entry points in C, built from the parameters listed in its manifest, and the values for them. Where the value of
//! an argument comes from is said in this file only.

use super::launch::Launch;
use aes_bitslice_core::argument::{Argument, Kind};
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::{MAX_ROUNDS, PLANES};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::Parameter;
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
    /// Whether a launch needs tweaks; the entry point for any alignment then takes units that are not whole blocks.
    pub(super) has_tweaks: bool,
}

/// Where the value of an argument comes from.
enum Source {
    /// The program has it.
    Program,
    /// The launch has it: appends its bytes.
    Launch(fn(&Launch<'_>, &mut Vec<u8>)),
    /// Launches of one message have none.
    Nothing,
}

fn source(argument: Argument) -> Source {
    use Source::{Launch, Nothing, Program};
    match argument {
        Argument::In | Argument::Out | Argument::Previous | Argument::Stride => Program,
        Argument::Blocks => Launch(|launch, bytes| bytes.extend(launch.blocks().to_le_bytes())),
        Argument::Length => Launch(|launch, bytes| bytes.extend((launch.data.len() as u64).to_le_bytes())),
        Argument::Skip => Launch(|launch, bytes| bytes.extend((launch.skip as u32).to_le_bytes())),
        Argument::Counter => Launch(|launch, bytes| bytes.extend(launch.start.to_le_bytes())),
        Argument::Iv => Launch(|launch, bytes| bytes.extend(launch.start.to_be_bytes())),
        Argument::Rounds => Launch(|launch, bytes| {
            bytes.extend(((launch.key.len() / PLANES) as u32).saturating_sub(1).to_le_bytes());
        }),
        Argument::Ragged => Launch(|launch, bytes| bytes.extend((launch.ragged() as u32).to_le_bytes())),
        Argument::UnitBytes => Launch(|launch, bytes| bytes.extend((launch.tweaks().units.bytes as u32).to_le_bytes())),
        Argument::Before => Launch(|launch, bytes| bytes.extend((launch.tweaks().units.before as u32).to_le_bytes())),
        Argument::FirstUnit => Launch(|launch, bytes| bytes.extend(launch.tweaks().units.first.to_le_bytes())),
        Argument::TweakKeys => Launch(|launch, bytes| bytes.extend(words(launch.tweaks().key))),
        Argument::Keys => Launch(|launch, bytes| bytes.extend(words(launch.key))),
        Argument::KeyPlanes => Launch(|launch, bytes| {
            bytes.extend(words(launch.key));
            bytes.extend(words(&[UNUSED]).cycle().take(4 * (PLANE_WORDS - launch.key.len())));
        }),
        Argument::SecretCounter | Argument::Messages | Argument::FirstMessages | Argument::All => Nothing,
        Argument::Masks | Argument::Subkeys | Argument::Tags | Argument::CipherKeys | Argument::KeyWords => Nothing,
        Argument::RoundKeys | Argument::Each | Argument::Counts | Argument::Adds | Argument::Jobs => Nothing,
        Argument::Runs
        | Argument::Counters
        | Argument::Wide
        | Argument::Tables
        | Argument::Units
        | Argument::Factor => Nothing,
        Argument::Addend | Argument::Hash | Argument::Mask | Argument::Order | Argument::Aad => Nothing,
        Argument::Expected | Argument::Verdicts | Argument::Sums | Argument::Arrived => Nothing,
        Argument::Starts | Argument::Ends | Argument::Nonces | Argument::AadStarts | Argument::AadEnds => Nothing,
        Argument::AadLength | Argument::TagBytes | Argument::Tally | Argument::Fault => Nothing,
    }
}

fn words(words: &[u32]) -> impl Iterator<Item = u8> + Clone {
    words.iter().flat_map(|word| word.to_le_bytes())
}

/// The entry points, and the functions of the program that call them.
const ENTRIES: [(&str, Entry); 2] = [("run_aligned", Entry::Blocks), ("run_bytes", Entry::Bytes)];

impl Calls {
    /// The calls for the kernel of this manifest; the error is the name of a parameter without a value.
    pub(super) fn new(manifest: &Manifest) -> Result<Self, String> {
        let entries = ENTRIES.map(|(_, entry)| &manifest.entries[&entry]);
        let either = |argument| entries.iter().any(|entry| entry.takes(argument));
        let mut values: Vec<Parameter> = Vec::new();
        for parameter in entries.iter().flat_map(|entry| &entry.parameters) {
            match source(parameter.name) {
                Source::Nothing => return Err(parameter.name.to_string()),
                Source::Launch(_) if !values.contains(parameter) => values.push(parameter.clone()),
                Source::Launch(_) | Source::Program => {}
            }
        }
        Ok(Self {
            values,
            reads: either(Argument::In),
            writes: either(Argument::Out),
            chained: either(Argument::Previous),
            any_length: manifest.entries[&Entry::Bytes].takes(Argument::Skip),
            has_tweaks: either(Argument::TweakKeys),
        })
    }

    /// C code to append to the program: `get_values` reads the values of a launch, `run_aligned` and `run_bytes` call the entry points with
    /// them.
    pub(super) fn text(&self, manifest: &Manifest) -> String {
        let mut text = String::from("\n");
        let mut get = String::from("    return 1");
        for value in &self.values {
            let (c_type, elements) = c_type(value);
            let (name, bytes) = (&value.name, value_bytes(value));
            let array = if elements > 1 { format!("[{elements}]") } else { String::new() };
            let _ = writeln!(text, "static {c_type} value_{name}{array};");
            let _ = writeln!(text, "_Static_assert(sizeof value_{name} == {bytes}, \"{name}\");");
            let _ = write!(get, " && get(&value_{name}, sizeof value_{name})");
        }
        let _ = writeln!(text, "static int get_values(void) {{\n{get};\n}}");
        for (function, entry) in ENTRIES {
            let entry = &manifest.entries[&entry];
            let argument = |p: &Parameter| {
                let place = if matches!(source(p.name), Source::Program) { "launch." } else { "value_" };
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
        for value in &self.values {
            if let Source::Launch(append) = source(value.name) {
                append(launch, &mut bytes);
            }
        }
        bytes
    }
}

/// The C type of a parameter of words passed with the launch.
pub(super) fn structure(parameter: &Parameter) -> &'static str {
    let is_whole = parameter.kind != Kind::Words(KeySource::CipherKey.argument_words().expect("it is one"));
    match parameter.name {
        Argument::Counter | Argument::SecretCounter | Argument::FirstUnit => "counter128",
        Argument::Keys | Argument::TweakKeys if is_whole => "round_keys",
        Argument::Keys | Argument::TweakKeys => "unexpanded_key",
        _ => "block128",
    }
}

/// The C type of a parameter's value, and the number of elements.
fn c_type(parameter: &Parameter) -> (&'static str, usize) {
    match parameter.kind {
        Kind::U32 => ("u32", 1),
        Kind::U64 => ("u64", 1),
        Kind::Words(_) => (structure(parameter), 1),
        Kind::Input | Kind::Output | Kind::Pointer | Kind::Buffer => ("u32", PLANE_WORDS),
    }
}

/// Bytes of the value of a parameter.
fn value_bytes(parameter: &Parameter) -> usize {
    match parameter.kind {
        Kind::Buffer => 4 * PLANE_WORDS,
        kind => kind.cuda_bytes(),
    }
}
