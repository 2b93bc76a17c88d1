//! Faults in the text of a printed kernel are caught: each constant of a LUT3, each of its operands, each index of a plane, each bound of a
//! loop and each barrier is changed in turn, and the check of printed kernels must then fail. A sample, unless `AES_BITSLICE_MUTANTS` is
//! set.
//!
//! A changed constant that makes no difference is shown to be equivalent: one bit of the table stands for one combination of the operands,
//! and a kernel that is made to fail when that combination comes in any lane passes the same check. The check comes by every input of every
//! S-box: it computes some thousands of blocks. Text that the kernel has and never executes is told by a trap in its place.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_gen::sbox;
use aes_bitslice_tests::environment::{MUTANTS, all_or, is_set, say};
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::reference::noise;
use std::collections::BTreeMap;

/// Mutants of each kind, unless all: by default, and where tests do all there is to do in some minutes.
const SAMPLE: usize = 4;
const LARGE_SAMPLE: usize = 12;

/// A change of the text.
struct Mutant {
    kind: &'static str,
    /// Where, in bytes, and what is there instead.
    range: std::ops::Range<usize>,
    instead: String,
    /// For a bit of a table: the call of the LUT3, and the combination of operands.
    table: Option<(std::ops::Range<usize>, u32)>,
}

impl Mutant {
    fn apply(&self, source: &str) -> String {
        [&source[..self.range.start], &self.instead, &source[self.range.end..]].concat()
    }
}

/// The numbers in brackets and behind `<`, at their places.
fn numbers<'a>(text: &'a str, before: &'a [&str]) -> impl Iterator<Item = (usize, &'a str, u32)> {
    let starts = before.iter().flat_map(|before| text.match_indices(before).map(|(at, _)| at + before.len()));
    starts.filter_map(|at| {
        let digits: &str = text[at..].split(|sign: char| !sign.is_ascii_digit()).next()?;
        Some((at, digits, digits.parse().ok()?))
    })
}

/// The text with spaces in place of what the C compiler leaves out: the branches for other devices.
fn compiled(text: &str) -> String {
    let mut open = vec![];
    let mut compiled = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let directive = line.trim();
        match directive {
            _ if directive.starts_with("#if") => {
                open.push(!(directive.contains("!SHUFFLES") || directive.contains("__CUDA")))
            }
            "#else" => open.iter_mut().last().into_iter().for_each(|is_in| *is_in = !*is_in),
            "#endif" => _ = open.pop(),
            _ => {}
        }
        match open.iter().all(|is_in| *is_in) && !directive.starts_with('#') {
            true => compiled += line,
            false => compiled.extend(line.chars().map(|sign| if sign == '\n' { '\n' } else { ' ' })),
        }
    }
    compiled
}

fn mutants(source: &str) -> Vec<Mutant> {
    // Behind the page of words, which is the compiler's.
    let begin = source.find("// What is read and what is written.").expect("the end of the page");
    // What is for many keys comes last, and has a check and faults of its own (`aes_bitslice_gen::check::printed_jobs`).
    let end = source.find("DEVICE void into_basis(").expect("the entry points for many keys");
    let text = compiled(&source[begin..end]);
    let text = text.as_str();
    let mut mutants = vec![];
    let mut add = |kind, at: usize, len: usize, instead: String| {
        mutants.push(Mutant { kind, range: begin + at..begin + at + len, instead, table: None });
    };
    for (at, digits, number) in numbers(text, &["s[", "t[", "x[", "y["]) {
        // What stands behind a type, or ends a longer name, is the length of an array: one that is longer makes no difference.
        let before = &text[..at - 2];
        if before.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_') || before.ends_with("u32 ") {
            continue;
        }
        add("plane", at, digits.len(), (number ^ 1).to_string());
    }
    for (at, digits, number) in numbers(text, &[" < "]) {
        // Fewer turns: one more may be out of bounds, which is no check's to catch. Where only some turns do anything, the last does not.
        let line = text[at..].lines().next().unwrap_or_default();
        let turns = if line.contains("if ((j &") { number / 2 } else { number - 1 };
        add("loop", at, digits.len(), turns.to_string());
    }
    let barrier = "    BARRIER();";
    text.match_indices(barrier).for_each(|(at, _)| add("barrier", at, barrier.len(), String::new()));
    for (at, _) in text.match_indices("LUT3(") {
        let Some(end) = text[at..].find(')') else { continue };
        let call = &text[at + 5..at + end];
        let Some((operands, table)) = call.rsplit_once(", ") else { continue };
        let Some(table) = table.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()) else { continue };
        let table_at = at + end - 4;
        for bit in 0..8 {
            let range = begin + table_at..begin + table_at + 4;
            let instead = format!("{:#04x}", table ^ 1 << bit);
            let call = begin + at..begin + at + end + 1;
            mutants.push(Mutant { kind: "table", range, instead, table: Some((call, bit)) });
        }
        // Another operand in place of the first: what the second is.
        let operands: Vec<&str> = operands.split(", ").collect();
        if let [a, b, _] = operands.as_slice() {
            let range = begin + at + 5..begin + at + 5 + a.len();
            mutants.push(Mutant { kind: "operand", range, instead: (*b).into(), table: None });
        }
    }
    mutants
}

/// Whether the check passes.
fn passes(source: &str, printed: &Printed, key: &[u8]) -> bool {
    check::printed(source, &printed.manifest, key).unwrap_or(false)
}

/// A kernel that ends where a LUT3 gets this combination of operands in any lane.
fn watched(source: &str, call: &std::ops::Range<usize>, combination: u32) -> String {
    let arguments = &source[call.start + 5..call.end - 1];
    let begin = source.find("// What is read and what is written.").expect("the end of the page");
    let watch = format!(
        "static inline u32 watched(u32 a, u32 b, u32 c, int table) {{\n    if (lut3(a, b, c, 1 << {combination})) __builtin_trap();\n    \
         return lut3(a, b, c, table);\n}}\n"
    );
    [&source[..begin], &watch, &source[begin..call.start], "watched(", arguments, ")", &source[call.end..]].concat()
}

#[test]
fn every_mutant_is_caught_or_equivalent() {
    let spec = KernelSpec::planes(Mode::EcbEncrypt, &sbox::LUT3);
    let printed = print(spec, Dialect::Cuda).expect("a kernel that there is");
    let (source, key) = (printed.source.as_str(), noise(5, 16));
    match check::printed(source, &printed.manifest, &key) {
        Ok(true) => {}
        Ok(false) => return say("NO C COMPILER: MUTANTS OF PRINTED KERNELS WERE NOT RUN"),
        Err(error) => panic!("{error}"),
    }
    let mut by_kind: BTreeMap<&str, Vec<Mutant>> = BTreeMap::new();
    for mutant in mutants(source) {
        by_kind.entry(mutant.kind).or_default().push(mutant);
    }
    assert_eq!(by_kind.keys().copied().collect::<Vec<_>>(), ["barrier", "loop", "operand", "plane", "table"]);
    for (kind, mutants) in by_kind {
        let sample = if is_set(MUTANTS) { mutants.len() } else { all_or(LARGE_SAMPLE, SAMPLE) };
        let step = mutants.len().div_ceil(sample);
        let (mut caught, mut equivalent, mut dead, mut left) = (0, 0, 0, vec![]);
        for mutant in mutants.iter().skip(step / 2).step_by(step) {
            let text = mutant.apply(source);
            let is_dead = || {
                let there = &source[mutant.range.clone()];
                let trap = if mutant.kind == "barrier" {
                    "__builtin_trap();".into()
                } else {
                    format!("(__builtin_trap(), {there})")
                };
                let trapped = Mutant { kind: mutant.kind, range: mutant.range.clone(), instead: trap, table: None };
                passes(&trapped.apply(source), &printed, &key)
            };
            let is_equivalent = |(call, bit): &(_, u32)| passes(&watched(source, call, *bit), &printed, &key);
            match () {
                () if !passes(&text, &printed, &key) => caught += 1,
                () if mutant.table.as_ref().is_some_and(is_equivalent) => equivalent += 1,
                () if mutant.table.is_none() && is_dead() => dead += 1,
                () => left.push(source[..mutant.range.start].lines().count()),
            }
        }
        println!("{kind}: {caught} caught, {equivalent} equivalent, {dead} never executed, of {}", mutants.len());
        assert!(left.is_empty(), "{kind}: not caught, in lines {left:?}");
        assert!(caught > 0, "{kind}");
    }
}
