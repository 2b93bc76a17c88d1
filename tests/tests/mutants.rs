//! Faults in the text of printed kernels are caught: each constant of a LUT3, each of its operands, each other hexadecimal constant, each
//! array index, each loop bound and each barrier is changed, one at a time, and the check of the kernel must then fail. Every kernel that
//! is stored in CUDA C takes part, with the entry points for many messages and many keys, each with its own check. Lines that occur in an
//! earlier kernel are not changed again. A sample, unless `AES_BITSLICE_MUTANTS` is set.
//!
//! A change that is not caught is shown to make no difference. In an S-box it makes none, because the check reaches every input of every
//! S-box: it computes some thousands of blocks. In another LUT3 it makes none if a kernel that stops where the LUT3's result differs in any
//! lane passes the same check. Other changes that make none are listed, with the reason. Text that the kernel never executes is recognised
//! by a trap in its place.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::{Hash, Printed};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::check::{self, CheckError};
use aes_bitslice_gen::emit;
use aes_bitslice_gen::kernel::KernelSpec;
use aes_bitslice_gen::sbox;
use aes_bitslice_gen::stored;
use aes_bitslice_tests::environment::{MUTANTS, all_or, is_set, sample, say};
use aes_bitslice_tests::kernels::print;
use aes_bitslice_tests::reference::noise;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use zeroize::Zeroizing;

/// One in how many mutants is tried in exhaustive runs, which take some minutes, and otherwise; but at least [`FEWEST`] of each kind.
const STEPS: (usize, usize) = (20, 120);
const FEWEST: usize = 4;

/// The compiler's text ends here.
const PAGE_END: &str = "// What is read and what is written.";
/// Separate entry points, each with its own check.
const MANY_KEYS: &str = "DEVICE void into_basis(";
const CMAC: &str = "// CMAC of many messages under one key";
const CTR_MESSAGES: &str = "// Counter mode of many messages under one key";
const HASH_MESSAGES: &str = "// Many messages at a time:";

/// An S-box takes nothing except the planes of one byte, and the check reaches every byte: one that passes it is the same S-box.
const SBOX: &str = "sub_byte(u32 *x) {";

/// Text whose change makes no difference, or none on a CPU, and why.
const NO_DIFFERENCE: [(&str, &str); 12] = [
    ("0x32103210 >> (16 - 4 * bytes)", "the last digit is shifted out"),
    ("0xffffffff / TILE_BLOCKS + 1", "the quotient is the same"),
    ("(run.bytes & 0xffff)", "it is 0 or 16"),
    ("group g = {0, 0xffffffff, 0};", "more tiles than there are"),
    ("data.column[n][c] = 0;", "in place of blocks that are not there, of which nothing comes"),
    ("s.column[n][c] = 0;", "the same"),
    ("j++) s[j] = 0;", "the same: the last block is block 0"),
    ("s[j] ^= pair[turn] ^ keys.word[0][column()];", "the same"),
    ("return i == 0 ? number.word[0]", "words of column 0 are made without it"),
    ("odd |= (u32)(u64)in", "a CPU reads words at any address"),
    ("const u32 reversed = tables[4];", "four words of the table are the same"),
    ("BARRIER();", "on a CPU, what stands in for copies and products of this kernel has barriers of its own"),
];

/// Whether a changed source passes; `false` where there is no C compiler.
type Check = Box<dyn Fn(&str) -> Result<bool, CheckError> + Sync>;

/// A text to change, and the check that must find it.
struct Subject {
    name: String,
    source: String,
    /// The bytes of the source to change.
    range: Range<usize>,
    check: Check,
}

impl Subject {
    /// The source from one mark to the first of the others that exists, or to its end.
    fn new(
        name: &str,
        source: &str,
        from: &str,
        to: &[&str],
        check: impl Fn(&str) -> Result<bool, CheckError> + Sync + 'static,
    ) -> Self {
        let begin = source.find(from).unwrap_or_else(|| panic!("{name} has no `{from}`"));
        let end = to.iter().filter_map(|mark| source.find(mark)).min().unwrap_or(source.len());
        Self { name: name.into(), source: source.into(), range: begin..end, check: Box::new(check) }
    }

    /// The line of a mutant.
    fn line(&self, mutant: &Mutant) -> &str {
        let begin = self.source[..mutant.range.start].rfind('\n').map_or(0, |at| at + 1);
        self.source[begin..].lines().next().unwrap_or_default()
    }
}

/// All of them, the first with the S-box and all layers.
fn subjects() -> Vec<Subject> {
    let mut subjects = vec![];
    let with = |source: &str, printed: &Printed| Printed {
        source: source.to_owned().into(),
        manifest: printed.manifest.clone(),
    };
    let planes = |mode| print(KernelSpec::planes(mode, &sbox::LUT3), Dialect::Cuda).expect("a kernel that there is");
    let mut designs = stored::cuda();
    designs.sort_by_key(|design| design.name() != planes(Mode::EcbEncrypt).manifest.kernel);
    for design in designs {
        let Printed { source, manifest } = print(design, Dialect::Cuda).expect("a kernel that there is");
        let name = manifest.kernel.clone();
        let check = move |source: &str| check::printed(source, &manifest, &noise(5, 16));
        subjects.push(Subject::new(&name, &source, PAGE_END, &[MANY_KEYS, CTR_MESSAGES], check));
    }
    for (name, mode, from, to, check) in [
        ("many keys", Mode::EcbEncrypt, MANY_KEYS, &[CMAC][..], check::printed_jobs as fn(&Printed) -> _),
        ("many keys, decryption", Mode::EcbDecrypt, MANY_KEYS, &[], check::printed_jobs),
        ("CMAC of many messages", Mode::EcbEncrypt, CMAC, &[], check::printed_cmac),
    ] {
        let printed = planes(mode);
        let source = printed.source.clone();
        subjects.push(Subject::new(name, &source, from, to, move |source| check(&with(source, &printed))));
    }
    let print_hash = |hash| emit::ghash::print(hash, Dialect::Cuda, "a test").expect("a kernel that there is");
    let with_hash = |source: &str, hash: &Printed<Hash>| Printed {
        source: Zeroizing::new(source.into()),
        manifest: hash.manifest.clone(),
    };
    let ctr = planes(Mode::Ctr);
    let (source, hash, key) = (ctr.source.clone(), print_hash(stored::cuda_hashes()[0]), noise(6, 24));
    let check = move |source: &str| check::printed_messages(&with(source, &ctr), &hash, &key);
    subjects.push(Subject::new("counter mode of many messages", &source, CTR_MESSAGES, &[], check));
    // The one last that is done by words: what it has in common with the others, they do by blocks.
    for hash in stored::cuda_hashes().into_iter().rev().map(print_hash) {
        let (source, name) = (hash.source.clone(), hash.manifest.kernel.clone());
        let manifest = hash.manifest.clone();
        let check = move |source: &str| check::printed_hash(source, &manifest, &noise(5, 16));
        subjects.push(Subject::new(&name, &source, PAGE_END, &[HASH_MESSAGES], check));
        let (ctr, key) = (planes(Mode::Ctr), noise(6, 24));
        let check = move |source: &str| check::printed_messages(&ctr, &with_hash(source, &hash), &key);
        subjects.push(Subject::new(&format!("{name}, many messages"), &source, HASH_MESSAGES, &[], check));
    }
    subjects
}

/// A change to the text.
struct Mutant {
    kind: &'static str,
    /// The bytes to replace, and their replacement.
    range: Range<usize>,
    instead: String,
    /// The LUT3 call that contains it.
    call: Option<Range<usize>>,
}

impl Mutant {
    fn apply(&self, source: &str) -> String {
        [&source[..self.range.start], &self.instead, &source[self.range.end..]].concat()
    }
}

/// The decimal numbers after a text, with their positions.
fn numbers<'a>(text: &'a str, before: &'a str) -> impl Iterator<Item = (usize, &'a str, u32)> {
    text.match_indices(before).map(|(at, before)| at + before.len()).filter_map(|at| {
        let digits: &str = text[at..].split(|sign: char| !sign.is_ascii_digit()).next()?;
        Some((at, digits, digits.parse().ok()?))
    })
}

/// The text with spaces in place of everything that the C compiler skips, the branches for other devices, and the substitutes for CUDA on a
/// CPU.
fn compiled(text: &str) -> String {
    let mut open = vec![];
    let mut compiled = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let directive = line.trim();
        match directive {
            _ if directive.starts_with("#if") => {
                let is_for_cpu = directive.contains("__CUDACC__");
                open.push((!(directive.contains("!SHUFFLES") || directive.contains("__CUDA")), is_for_cpu));
            }
            "#else" => {
                open.iter_mut().last().into_iter().for_each(|(is_in, is_for_cpu)| *is_in = !*is_in && !*is_for_cpu)
            }
            "#endif" => _ = open.pop(),
            _ => {}
        }
        if open.iter().all(|(is_in, _)| *is_in) && !directive.starts_with('#') {
            compiled += line
        } else {
            compiled.extend(line.chars().map(|sign| if sign == '\n' { '\n' } else { ' ' }))
        }
    }
    compiled
}

fn mutants(subject: &Subject) -> Vec<Mutant> {
    let begin = subject.range.start;
    let text = compiled(&subject.source[subject.range.clone()]);
    let text = text.as_str();
    let mut mutants = vec![];
    let mut add = |kind, at: usize, len: usize, instead: String, call: Option<Range<usize>>| {
        let call = call.map(|call| begin + call.start..begin + call.end);
        mutants.push(Mutant { kind, range: begin + at..begin + at + len, instead, call });
    };
    let is_of_name = |sign: char| sign.is_alphanumeric() || sign == '_';
    for (at, digits, number) in numbers(text, "[") {
        // A number after a type is an array length: a longer array makes no difference.
        let before = &text[..at - 1];
        let statement = before.rsplit([';', '{', '}', '(', '\n']).next().unwrap_or_default().trim_start();
        let mut words = statement.split(' ');
        let begins = words.next().is_some_and(|word| word.starts_with(is_of_name) && word.ends_with(is_of_name));
        let is_value = statement.rsplit(", ").next().is_some_and(|last| last.contains('='));
        let is_declared = begins && words.next().is_some_and(|word| word.starts_with(is_of_name)) && !is_value;
        let is_type = before.ends_with("(*)") || is_declared && !statement.starts_with("return ");
        if is_type || !text[at + digits.len()..].starts_with(']') {
            continue;
        }
        add("index", at, digits.len(), (number ^ 1).to_string(), None);
    }
    for (at, digits, number) in numbers(text, " < ") {
        // Fewer iterations: one more may be out of bounds, which no check has to catch. Where only some iterations do anything, the last
        // does not.
        let line = text[at..].lines().next().unwrap_or_default();
        let turns = if line.contains("if ((j &") { number / 2 } else { number.saturating_sub(1) };
        add("loop", at, digits.len(), turns.to_string(), None);
    }
    let barrier = "    BARRIER();";
    text.match_indices(barrier).for_each(|(at, _)| add("barrier", at, barrier.len(), String::new(), None));
    let mut tables = BTreeSet::new();
    for (at, _) in text.match_indices("LUT3(") {
        let Some(end) = text[at..].find(')') else { continue };
        let call = &text[at + 5..at + end];
        let Some((operands, table)) = call.rsplit_once(", ") else { continue };
        let Some(table) = table.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok()) else { continue };
        let table_at = at + end - 4;
        tables.insert(table_at);
        let call = at..at + end + 1;
        for bit in 0..8 {
            add("table", table_at, 4, format!("{:#04x}", table ^ 1 << bit), Some(call.clone()));
        }
        // Another operand in place of the first: the second one.
        let operands: Vec<&str> = operands.split(", ").collect();
        if let [a, b, _] = operands.as_slice() {
            add("operand", at + 5, a.len(), (*b).into(), Some(call));
        }
    }
    for (at, _) in text.match_indices("0x").filter(|(at, _)| !tables.contains(at)) {
        let digits: &str = text[at + 2..].split(|sign: char| !sign.is_ascii_hexdigit()).next().unwrap_or_default();
        if let Ok(number) = u64::from_str_radix(digits, 16) {
            add("constant", at, 2 + digits.len(), format!("{:#x}", number ^ 1), None);
        }
    }
    mutants
}

/// The outcome for a mutant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Caught,
    /// It is not valid C.
    Rejected,
    Equivalent,
    NeverExecuted,
    Left,
}

fn outcome(subject: &Subject, mutant: &Mutant) -> Outcome {
    let source = &subject.source;
    match (subject.check)(&mutant.apply(source)) {
        Ok(is_checked) => assert!(is_checked, "there was a compiler before"),
        Err(CheckError::Rejected { .. }) => return Outcome::Rejected,
        Err(_) => return Outcome::Caught,
    }
    if source[..mutant.range.start].rsplit("\nDEVICE ").next().is_some_and(|function| function.contains(SBOX)) {
        return Outcome::Equivalent;
    }
    let passes = |source: &str| (subject.check)(source).unwrap_or(false);
    let there = &source[mutant.range.clone()];
    if let Some(call) = &mutant.call {
        let begin = source.find(PAGE_END).expect("the end of the page");
        let same = "static inline u32 same(u32 a, u32 b) {\n    if (a != b) __builtin_trap();\n    return a;\n}\n";
        let changed =
            [&source[call.start..mutant.range.start], &mutant.instead, &source[mutant.range.end..call.end]].concat();
        let both = format!("same({}, {changed})", &source[call.clone()]);
        if passes(&[&source[..begin], same, &source[begin..call.start], &both, &source[call.end..]].concat()) {
            return Outcome::Equivalent;
        }
    }
    let trap = match mutant.kind {
        "barrier" => "__builtin_trap();".into(),
        _ => format!("(__builtin_trap(), {there})"),
    };
    let trapped = Mutant { kind: mutant.kind, range: mutant.range.clone(), instead: trap, call: None };
    if passes(&trapped.apply(source)) {
        return Outcome::NeverExecuted;
    }
    let line = subject.line(mutant);
    let is_known =
        |(text, _): &(&str, &str)| line.contains(text) && (*text != "BARRIER();" || subject.name.contains("wgmma"));
    if NO_DIFFERENCE.iter().any(is_known) { Outcome::Equivalent } else { Outcome::Left }
}

#[test]
fn every_mutant_is_caught_or_equivalent() {
    let subjects = subjects();
    let (mut seen, mut by_kind) = (BTreeSet::new(), BTreeMap::<&str, Vec<(&Subject, Mutant)>>::new());
    for subject in &subjects {
        match (subject.check)(&subject.source) {
            Ok(true) => {}
            Ok(false) => return say("NO C COMPILER: MUTANTS OF PRINTED KERNELS WERE NOT RUN"),
            Err(error) => panic!("{}: {error}", subject.name),
        }
        let mut lines = vec![];
        for mutant in mutants(subject).into_iter().filter(|mutant| !seen.contains(subject.line(mutant))) {
            lines.push(subject.line(&mutant));
            by_kind.entry(mutant.kind).or_default().push((subject, mutant));
        }
        seen.extend(lines);
    }
    let (mut kinds, mut left) = (vec![], vec![]);
    for (kind, mutants) in by_kind {
        let step = if is_set(MUTANTS) { 1 } else { all_or(STEPS.0, STEPS.1).min(mutants.len() / FEWEST).max(1) };
        let chosen: Vec<&(&Subject, Mutant)> = sample(0, step, &mutants).collect();
        let outcomes: Vec<Outcome> = chosen.par_iter().map(|(subject, mutant)| outcome(subject, mutant)).collect();
        let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
        outcomes.iter().for_each(|outcome| *counts.entry(*outcome).or_default() += 1);
        println!("{kind}: {counts:?} of {}", mutants.len());
        let is_left = |((subject, mutant), outcome): (&&(&Subject, Mutant), &Outcome)| {
            let number = subject.source[..mutant.range.start].lines().count();
            let change = format!("{:?} becomes `{}`", &subject.source[mutant.range.clone()], mutant.instead);
            (*outcome == Outcome::Left)
                .then(|| format!("{}, line {number}, {change}: {}", subject.name, subject.line(mutant)))
        };
        left.extend(chosen.iter().zip(&outcomes).filter_map(is_left));
        // Where the sample has none that is caught, others are tried, until one is.
        let is_caught = |(subject, mutant): &(&Subject, Mutant)| outcome(subject, mutant) == Outcome::Caught;
        if counts.contains_key(&Outcome::Caught) || mutants.iter().any(is_caught) {
            kinds.push(kind);
        }
    }
    assert!(left.is_empty(), "not caught:\n{}", left.join("\n"));
    assert_eq!(kinds, ["barrier", "constant", "index", "loop", "operand", "table"]);
}
