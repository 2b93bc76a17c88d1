//! The binary interface is the one recorded in `abi.txt`: functions with their parameter types, constants, structures. A program compiled
//! with a header works with any later library of the same `AES_BITSLICE_ABI_VERSION`.
#![cfg(target_os = "linux")]

mod common;

use aes_bitslice::about::AES_BITSLICE_ABI_VERSION;
use aes_bitslice::batch::{Message, Range, Ranges};
use aes_bitslice::files::{Secret, Sink, Source};
use aes_bitslice::many_keys::{Job, ManyKeys};
use aes_bitslice::operation::Operation;
use aes_bitslice::outcome::Part;
use aes_bitslice::under_keys::Keys;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fs;
use std::mem::offset_of;

/// The size of a structure, and the offsets of its fields.
macro_rules! structure {
    ($name:literal, $structure:ident: $($field:ident),+) => {{
        let (bytes, alignment) = (size_of::<$structure>(), align_of::<$structure>());
        let fields = [$(format!("{} at {}", stringify!($field), offset_of!($structure, $field))),+].join(", ");
        format!("struct {}: {bytes} bytes, aligned to {alignment}; {fields}", $name)
    }};
}

/// The current interface, one line for each item.
fn interface() -> BTreeSet<String> {
    let header = fs::read_to_string(common::file("include/aes_bitslice.h")).unwrap();
    let code: String = header.split("*/").map(|text| text.split("/*").next().unwrap()).collect();
    let lines = code.lines().map(|line| line.split("//").next().unwrap());
    let (directives, code): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with('#'));
    let constants =
        directives.iter().filter_map(|line| line.strip_prefix("#define ")).filter(|name| name.contains(' '));
    let code = code.join(" ");
    let functions = code.split(';').map(str::trim).filter(|code| code.ends_with(')') && code.contains('('));
    let structures = [
        structure!("aes_bitslice_part", Part: offset, bytes, hash),
        structure!("aes_bitslice_range", Range: offset, bytes),
        structure!("aes_bitslice_ranges", Ranges: offsets, lengths, integer_bytes, bytes, stride),
        structure!("aes_bitslice_gcm_message", Message: nonce, nonce_len, aad, aad_len, range),
        structure!("aes_bitslice_job", Job: key, key_len, counter, range),
        structure!("aes_bitslice_many_keys", ManyKeys: kind, count, jobs, keys, key_len, bytes_per_key, counter),
        structure!("aes_bitslice_keys", Keys: keys, key_len, count, numbers),
        structure!(
            "aes_bitslice_operation",
            Operation: kind, counter, offset, iv, unit_bytes, first_unit, nonce, nonce_len, aad, aad_len, tag, tag_len, messages, ranges, count, arrays, aad_arrays, counter_bits, short_tags
        ),
        structure!("aes_bitslice_secret", Secret: key, passphrase, passphrase_len, keyset, associated_data, associated_data_len),
        structure!("aes_bitslice_source", Source: path, memory, read, context, bytes),
        structure!("aes_bitslice_sink", Sink: path, overwrite, memory, bytes, write, context),
    ];
    constants.map(|constant| format!("constant {constant}")).chain(functions.map(unnamed)).chain(structures).collect()
}

/// A function's declaration without the names of its parameters, which are not part of the interface.
fn unnamed(declaration: &str) -> String {
    let declaration = declaration.rsplit(['{', '}']).next().unwrap();
    let words: Vec<&str> = declaration.split_whitespace().collect();
    let declaration = words.join(" ");
    let (head, parameters) = declaration.strip_suffix(')').unwrap().split_once('(').unwrap();
    let types: Vec<&str> = parameters
        .split(", ")
        .map(|parameter| match parameter {
            "void" => parameter,
            _ => parameter.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_').trim_end(),
        })
        .collect();
    format!("{head}({})", types.join(", "))
}

/// The name of the function in a line; none for a function that a caller gives in a structure.
fn name(line: &str) -> Option<&str> {
    line.split_once('(')?.0.rsplit([' ', '*']).next().filter(|name| !name.is_empty())
}

#[test]
fn the_interface_is_the_one_that_is_kept() {
    let kept = fs::read_to_string(common::file("abi.txt")).unwrap();
    let kept: BTreeSet<String> = kept.lines().filter(|line| !line.starts_with("# ")).map(str::to_owned).collect();
    let now = interface();
    let version = format!("constant AES_BITSLICE_ABI_VERSION {AES_BITSLICE_ABI_VERSION}");
    assert!(now.contains(&version), "the header is of another version: make it anew with cbindgen");
    let list = |lines: BTreeSet<&String>| lines.into_iter().map(|line| format!("  {line}\n")).collect::<String>();
    let (gone, new) = (list(kept.difference(&now).collect()), list(now.difference(&kept).collect()));
    assert!(
        gone.is_empty() || !kept.contains(&version),
        "these were part of ABI {AES_BITSLICE_ABI_VERSION} and are gone or changed: put them back, or raise AES_BITSLICE_ABI_VERSION\n\
         {gone}now there is:\n{new}"
    );
    assert!(gone.is_empty() && new.is_empty(), "abi.txt is to lose\n{gone}and to have\n{new}");
}

#[test]
fn what_is_exported_is_what_the_header_declares() {
    let bytes = fs::read(common::library()).unwrap();
    let library = object::File::parse(&*bytes).unwrap();
    let exported: BTreeSet<&str> =
        library.dynamic_symbols().filter(|symbol| symbol.is_definition()).filter_map(|s| s.name().ok()).collect();
    let interface = interface();
    let declared: BTreeSet<&str> = interface.iter().filter_map(|line| name(line)).collect();
    assert_eq!(exported, declared);
    assert!(declared.len() > 25 && declared.iter().all(|name| name.starts_with("aes_bitslice_")));
}
