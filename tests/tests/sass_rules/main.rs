//! The rules of machine code are what a GPU does: each form of an instruction in the stored bitsliced kernels that has a rule is executed by
//! the GPU, as it is encoded in the kernel, and by the rules; with random operands, and with those at which results change. All registers
//! and predicates that the instruction may reach are compared, and the memory.
//!
//! | module | idea |
//! |---|---|
//! | `form` | the forms in which instructions occur |
//! | `data` | operands |
//! | `encoding` | the instructions around those that are tested |
//! | `cubin` | where the code of an entry point is |
//! | `program` | programs of such instructions |
//! | `control` | a program of branches |
//! | `gpu` | launches |

mod control;
mod cubin;
mod data;
mod encoding;
mod form;
mod gpu;
mod program;

use crate::data::Random;
use crate::form::Form;
use crate::gpu::{Gpu, UNTOUCHED};
use crate::program::{Addresses, Entry, Program, Site};
use aes_bitslice_analysis::proof::memory::Memory;
use aes_bitslice_analysis::proof::sass::machine::has_rule;
use aes_bitslice_analysis::sass::{Disassembler, Listing};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_kernels::KERNELS;
use aes_bitslice_runtime::Kernels;
use aes_bitslice_tests::engines::Device;
use aes_bitslice_tests::environment::{exhaustive, say};
use aes_bitslice_tests::harness::{Need, Tests};
use aes_bitslice_tests::tests;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// The architecture whose machine code is stored.
const ARCHITECTURE: &str = "sm_90";

/// The form of an opcode that has a rule, with operands that have none: it is in code for threads that are apart, which no proof reaches.
const WITHOUT_RULE: &str = "SHFL.IDX P#, R#, R#, R#, R#";

/// Where buffers are where there is no GPU.
const ADDRESSES: Addresses = Addresses { input: 0x7f00_1234_0000, output: 0x7f01_fedc_0000 };

/// Programs with all forms that have a rule.
fn programs() -> Vec<Program> {
    let disassembler = Disassembler::find().unwrap();
    let manifests = KERNELS.iter().map(|kernel| (<Manifest>::parse(kernel.manifest).unwrap(), kernel.cubins));
    let kernels: Vec<_> = manifests.filter(|(manifest, _)| manifest.bitsliced.is_some()).collect();
    let mut entries = vec![];
    for (manifest, cubins) in &kernels {
        let (_, cubin) = cubins.iter().find(|(architecture, _)| *architecture == ARCHITECTURE).unwrap();
        let text = disassembler.list(cubin).unwrap();
        let of = |name| Entry { cubin, name, listing: Listing::read(&text, name).unwrap() };
        entries.extend(manifest.entries.values().map(|entry| of(&*entry.name)));
    }
    let mut all: BTreeMap<String, Form> = BTreeMap::new();
    let mut of_entries = vec![];
    for entry in &entries {
        let code = &entry.cubin[cubin::find(entry.cubin, entry.name).code];
        let words = code.as_chunks().0.iter().map(|bytes| u128::from_le_bytes(*bytes));
        let mut own = vec![];
        for (instruction, word) in entry.listing.instructions.iter().zip(words).filter(|(one, _)| has_rule(one)) {
            let form = Form::new(instruction.clone(), word);
            if !all.contains_key(&form.name) && form.name != WITHOUT_RULE {
                all.insert(form.name.clone(), form.clone());
                own.push(form);
            }
        }
        own.retain(|form| !control::FORMS.contains(&&*form.name));
        of_entries.push((entry, own));
    }
    let opcodes: BTreeSet<String> = all.values().map(Form::opcode).collect();
    say(&format!("{} forms of {} opcodes, in {} entry points", all.len(), opcodes.len(), entries.len()));
    let of_forms = of_entries.into_par_iter().flat_map_iter(|(entry, mut forms)| {
        let mut programs = vec![];
        while !forms.is_empty() {
            programs.push(Program::of_forms(entry, &mut forms, &disassembler));
        }
        programs
    });
    let mut programs: Vec<Program> = of_forms.collect();
    // Branches stand in the place of an entry point that has them.
    let entry = entries.iter().find(|entry| entry.name == "aes_ecb_encrypt_planes").unwrap();
    programs.push(control::program(entry, &all, &disassembler));
    let covered: usize = programs.iter().map(|program| program.sites.len()).sum();
    assert_eq!(covered + control::FORMS.len(), all.len(), "a form is in no program");
    programs
}

/// The bits that a byte must have, and those that are known of it.
fn expected(memory: &Memory, at: u64) -> (u8, u8) {
    let Ok(bits) = memory.byte(at) else { return (UNTOUCHED, 0xff) };
    let bit = |i: usize| bits[i].as_constant().map(|bit| u8::from(bit) << i);
    (0..8).fold((0, 0), |(value, known), i| bit(i).map_or((value, known), |bit| (value | bit, known | 1 << i)))
}

/// The bits that a word must have, and those that are known of it.
fn expected_word(memory: &Memory, at: u64) -> (u32, u32) {
    let bytes: [_; 4] = std::array::from_fn(|i| expected(memory, at + i as u64));
    let [value, known] = [bytes.map(|(value, _)| value), bytes.map(|(_, known)| known)];
    (u32::from_le_bytes(value), u32::from_le_bytes(known))
}

/// Whether a word is as the rules say, by the bits that it must have and those that are known of it.
fn is_right(site: Option<&Site>, word: usize, found: u32, (value, known): (u32, u32)) -> bool {
    let result_of = site.filter(|site| site.is_result(word)).map_or("", |site| &*site.form.name);
    match result_of {
        // Where the stack is, and the descriptor of memory: the driver decides.
        "LDC R#, c[0x0][0x28]" | "ULDC.64 UR#, c[0x0][0x208]" => (found ^ value) & known == 0,
        // An approximation, of which the rule has the nearest number.
        "MUFU.RCP R#, R#" => known == u32::MAX && found.abs_diff(value) <= 1,
        _ => known == u32::MAX && found == value,
    }
}

/// Compares output with what the rules make of the input. Returns the number of words that are as they must be, and for each instruction
/// one that is not.
fn compare(program: &Program, memory: &Memory, at: Addresses, input: &[u32], output: &[u8]) -> (usize, Vec<String>) {
    let (mut equal, mut wrong) = (0, BTreeMap::new());
    for (n, found) in output.as_chunks::<4>().0.iter().enumerate() {
        let (value, known) = expected_word(memory, at.output + 4 * n as u64);
        let found = u32::from_le_bytes(*found);
        let (thread, word) = (n / program.output, n % program.output);
        let site = program.site(word);
        if is_right(site, word, found, (value, known)) {
            equal += 1;
        } else {
            let text = site.map_or("branches", |site| &site.form.instruction.text);
            let operands = site.map_or(String::new(), |site| site.of_thread(&input[thread * program.input..], word));
            let entry = &program.entry;
            let say = || {
                format!(
                    "{text}: {found:#x}, by the rules {value:#x} ({known:x}); thread {thread} of {entry}, {operands}"
                )
            };
            wrong.entry(text).or_insert_with(say);
        }
    }
    (equal, wrong.into_values().collect())
}

/// Compares what the rules say of the output, with another bit in a word of each instruction, with itself. Returns the number of words that
/// are equal.
///
/// # Panics
/// If it is not these words alone that differ.
fn compare_changed(program: &Program, memory: &Memory, at: Addresses, input: &[u32], random: &mut Random) -> usize {
    let word = |n: usize| expected_word(memory, at.output + 4 * n as u64);
    let threads = input.len() / program.input;
    let mut changed: Vec<u8> = (0..threads * program.output).flat_map(|n| word(n).0.to_le_bytes()).collect();
    let mut begins: Vec<usize> = program.sites.iter().map(|site| site.output).collect();
    if begins.is_empty() {
        begins.push(0);
    }
    let ends = begins[1..].iter().chain([&program.output]);
    for (&begin, &end) in begins.iter().zip(ends) {
        let places = (end - begin) * threads;
        let place = |n: usize| n / (end - begin) * program.output + begin + n % (end - begin);
        let from = random.below(places as u64) as usize;
        // The lowest bit does not count in reciprocals.
        let is_known = |n: &usize| word(*n).1 >> 1 != 0;
        let n = (0..places).map(|n| place((from + n) % places)).find(is_known).expect("a word that is known");
        let bit = 1 + (word(n).1 >> 1).trailing_zeros();
        changed[4 * n + bit as usize / 8] ^= 1 << (bit % 8);
    }
    let (equal, seen) = compare(program, memory, at, input, &changed);
    let texts: BTreeSet<_> = program.sites.iter().map(|site| &site.form.instruction.text).collect();
    assert_eq!(seen.len(), texts.len().max(1), "{}: a result that was changed is not seen", program.entry);
    assert_eq!(equal + begins.len(), changed.len() / 4, "{}: {seen:#?}", program.entry);
    equal
}

/// Runs all programs by the rules, on operands that differ from round to round, and compares what `run` returns with that.
fn run_all(rounds: u64, gpu: Option<&Gpu>) {
    const BLOCKS: usize = 2;
    let programs = programs();
    let runs: Vec<_> = (0..rounds).flat_map(|round| programs.iter().map(move |program| (round, program))).collect();
    let results = runs.into_par_iter().enumerate().map(|(n, (_, program))| {
        let mut random = Random(n as u64 + 1);
        let mut buffers = gpu.map(|gpu| gpu.buffers(program, BLOCKS));
        let at = buffers.as_ref().map_or(ADDRESSES, |(_, at)| *at);
        let (input, parameters) = (program.input(&mut random, BLOCKS, at), program.parameters(&mut random, at));
        let memory = match program.by_rules(BLOCKS, &parameters, &input, at) {
            Ok(memory) => memory,
            Err(why) => return (0, vec![format!("{}: {why}", program.entry)]),
        };
        if let Some((gpu, (buffers, _))) = gpu.zip(buffers.as_mut()) {
            let output = gpu.run(program, BLOCKS, buffers, &input, &parameters);
            return compare(program, &memory, at, &input, &output);
        }
        (compare_changed(program, &memory, at, &input, &mut random), vec![])
    });
    let results: Vec<_> = results.collect();
    let equal: usize = results.iter().map(|(equal, _)| equal).sum();
    let wrong: BTreeSet<&String> = results.iter().flat_map(|(_, wrong)| wrong).collect();
    say(&format!("{rounds} rounds with {} operands of each form: {equal} words of results are equal", 32 * BLOCKS));
    assert!(wrong.is_empty(), "{} differ: {wrong:#?}", wrong.len());
}

/// All forms that have a rule are in a program, all programs can be followed, and of each instruction a result that differs is seen.
fn all_forms_are_followed() {
    run_all(1, None);
}

/// The GPU computes what the rules say.
fn a_gpu_follows_the_rules() {
    let engine = &Device::Cuda(Kernels::Auto).find().unwrap()[0];
    run_all(if exhaustive() { 12 } else { 4 }, Some(&Gpu::new(engine)));
}

fn main() -> ExitCode {
    let device = Need::Device(Device::Cuda(Kernels::Auto));
    let tests = Tests::default().with(&[Need::Disassembler], tests![all_forms_are_followed]);
    tests.with(&[Need::Disassembler, device], tests![a_gpu_follows_the_rules]).run()
}
