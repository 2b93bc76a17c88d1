//! A program of branches: threads part and meet, in loops and at branches to either side, by one predicate and by two; warps hand numbers
//! to others over a barrier; and some threads end before others.

use crate::data::Random;
use crate::encoding as e;
use crate::form::Form;
use crate::program::{Entry, Given, Program, Scratch};
use aes_bitslice_analysis::sass::Disassembler;
use std::collections::BTreeMap;

/// The forms that it has.
#[rustfmt::skip]
pub const FORMS: [&str; 14] = [
    "ACQBULK", "BAR.SYNC.DEFER_BLOCKING 0x0", "@P# BRA `()", "@!P# BRA `()", "BRA `()", "@P# BRA P#, `()", "@!P# BRA P#, `()", "BRA.DIV UR#, `()",
    "BSSY B#, `()", "BSYNC B#", "@P# EXIT", "@!P# EXIT", "EXIT", "WARPSYNC.ALL",
];

/// Threads of a thread block, and words of a thread: those of the output are counted.
const THREADS: usize = 128;
const INPUT: usize = 16;

/// Where a thread puts its number in shared memory.
fn own(thread: usize) -> u32 {
    0x400 + 4 * thread as u32
}

/// A bit for each thread.
fn bit<const N: u32>(thread: usize) -> u32 {
    Random(thread as u64).next() as u32 >> N & 1
}

/// Code with labels.
struct Code<'a> {
    forms: &'a BTreeMap<String, Form>,
    words: Vec<u128>,
    labels: BTreeMap<String, usize>,
    branches: Vec<(usize, String, String)>,
    stored: usize,
}

impl Code<'_> {
    /// An instruction of a form: by this predicate, if it has one.
    fn add(&mut self, name: &str, predicate: usize) {
        let form = &self.forms[name];
        let word = e::alone(form.word, &form.instruction.opcode[0]);
        let word = if form.instruction.guard.is_some() { word & !(7 << 12) | (predicate as u128) << 12 } else { word };
        self.words.push(word);
    }

    /// An instruction of a form with a label.
    fn to(&mut self, name: &str, predicate: usize, label: &str) {
        self.branches.push((self.words.len(), label.into(), self.forms[name].instruction.opcode[0].clone()));
        self.add(name, predicate);
    }

    /// Changes bits of the last instruction.
    fn with(&mut self, at: u32, bits: u32, value: usize) {
        let last = self.words.last_mut().expect("an instruction");
        *last = *last & !(((1 << bits) - 1) << at) | (value as u128) << at;
    }

    fn label(&mut self, label: &str) {
        self.labels.insert(label.into(), self.words.len());
    }

    /// From here on threads may part, up to where they meet.
    fn part(&mut self, register: usize, meeting: &str) {
        self.to("BSSY B#, `()", 0, &format!("after {meeting}"));
        self.with(16, 4, register);
    }

    fn meet(&mut self, register: usize, meeting: &str) {
        self.label(meeting);
        self.add("BSYNC B#", 0);
        self.with(16, 4, register);
        self.label(&format!("after {meeting}"));
    }
}

/// The program, in the place of an entry point.
pub fn program(entry: &Entry<'_>, forms: &BTreeMap<String, Form>, disassembler: &Disassembler) -> Program {
    let scratch = Scratch { input: 2, output: 4, word: 6, at: 7, descriptor: 4, uniform: 6 };
    let [x, sum, count, less, own_at, other_at, turns] = [8, 9, 10, 11, 12, 13, 14];
    let mut code = Code { forms, words: vec![], labels: BTreeMap::new(), branches: vec![], stored: 0 };
    let store = |code: &mut Code<'_>, register| {
        code.words.push(scratch.store(register, code.stored));
        code.stored += 1;
    };
    // The sum of a factor times it, and the thread's number.
    let step = |code: &mut Code<'_>, factor| code.words.push(e::product(sum, sum, factor, x));
    code.add("ACQBULK", 0);
    const OUTPUT: usize = 16;
    code.words.extend(scratch.begin([INPUT, OUTPUT], THREADS));
    for (n, register) in [x, own_at, other_at, turns].into_iter().enumerate() {
        code.words.push(scratch.load(register, n));
    }
    for n in 0..5 {
        code.words.extend([scratch.load(6, 4 + n), e::to_predicate(n, 6)]);
    }
    code.words.extend([
        e::product(sum, e::RZ, 0, x),
        e::from_predicate(less, 7),
        e::product(less, less, 0xffff_ffff, e::RZ),
    ]);

    // Either side, within threads of either side.
    code.part(0, "both");
    code.to("@P# BRA `()", 0, "then");
    step(&mut code, 3);
    code.part(1, "both within");
    code.to("@!P# BRA `()", 1, "then within");
    step(&mut code, 5);
    code.to("BRA `()", 0, "both within");
    code.label("then within");
    step(&mut code, 7);
    code.meet(1, "both within");
    step(&mut code, 11);
    code.to("BRA `()", 0, "both");
    code.label("then");
    step(&mut code, 13);
    code.meet(0, "both");
    store(&mut code, sum);

    // By two predicates.
    for (name, ways) in [("@P# BRA P#, `()", ["a", "b"]), ("@!P# BRA P#, `()", ["c", "d"])] {
        code.part(0, ways[1]);
        code.to(name, 2, ways[0]);
        code.with(87, 3, 3);
        step(&mut code, 17);
        code.to("BRA `()", 0, ways[1]);
        code.label(ways[0]);
        step(&mut code, 19);
        code.meet(0, ways[1]);
        store(&mut code, sum);
    }

    // As many turns as threads have in common with none: 0 to 7.
    code.words.extend([e::from_predicate(6, 0), e::from_predicate(7, 1), e::product(count, 6, 2, 7)]);
    code.words.extend([e::from_predicate(7, 2), e::product(count, count, 2, 7)]);
    code.part(2, "done");
    code.label("again");
    code.words.push(e::to_predicate(5, count));
    code.to("@!P# BRA `()", 5, "done");
    step(&mut code, 23);
    code.words.push(e::product(count, count, 1, less));
    code.to("BRA `()", 0, "again");
    code.meet(2, "done");
    code.add("WARPSYNC.ALL", 0);
    store(&mut code, sum);

    // All threads of the warp are together.
    code.words.push(e::to_uniform(6, less));
    code.to("BRA.DIV UR#, `()", 0, "apart");
    code.with(24, 6, 6);
    step(&mut code, 29);
    code.label("apart");
    store(&mut code, sum);

    // The first warp comes late.
    code.label("wait");
    code.words.extend([e::to_predicate(5, turns), e::product(turns, turns, 1, less)]);
    code.to("@P# BRA `()", 5, "wait");
    code.words.push(e::store_shared(sum, own_at, 0));
    code.add("BAR.SYNC.DEFER_BLOCKING 0x0", 0);
    code.words.push(e::load_shared(6, other_at, 0));
    store(&mut code, 6);

    for name in ["@P# EXIT", "@!P# EXIT", "EXIT"] {
        code.add(name, if name.contains('!') { 1 } else { 4 });
        if name != "EXIT" {
            store(&mut code, x);
        }
    }
    assert!(code.stored <= OUTPUT);
    for (at, label, opcode) in &code.branches {
        let distance = code.labels[label] as i64 - (*at as i64 + 1);
        code.words[*at] = e::with_distance(code.words[*at], opcode, distance);
    }
    let given: Given = vec![
        (1, own),
        (2, |thread| own((thread + 40) % THREADS)),
        (3, |thread| if thread < 32 { 1000 } else { 1 }),
        (4, bit::<0>),
        (5, bit::<1>),
        (6, bit::<2>),
        (7, bit::<3>),
        (8, bit::<4>),
    ];
    Program::of_code(entry, &code.words, [INPUT, OUTPUT], THREADS, given, disassembler)
}
