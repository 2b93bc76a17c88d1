//! Bitsliced kernels as text, the same in every dialect.
//!
//! The parts that do not depend on the plan are the `.h` files beside this one; this printer adds the circuits as functions,
//! the cipher as calls of them, and the entry points of the mode. It is written in CUDA's words (thread, thread block, warp,
//! shared memory), of which [`Dialect`] has the meaning.

use super::{Dialect, Manifest, Printed, c, header};
use crate::aes::{Direction, KeySchedule};
use crate::basis::Basis;
use crate::circuit::Circuit;
use crate::kernel::{Call, Function, KernelSpec, KeyOperand, Mode, Plan, RoundKeys, Step};
use crate::layout::{self, Layout};
use std::fmt::Write;
use zeroize::Zeroizing;

const TRANSPOSE: &str = include_str!("bitsliced/transpose.h");
pub(super) const COUNTER: &str = include_str!("bitsliced/counter.h");
pub(super) const CBC: &str = include_str!("bitsliced/cbc.h");
pub(super) const SHARE: &str = include_str!("bitsliced/share.h");

/// The parts of a kernel that depend on the layout.
struct Templates {
    keys: &'static str,
    planes: &'static str,
    ecb: &'static str,
    ctr: &'static str,
    cbc: &'static str,
}

const STATE: Templates = Templates {
    keys: include_str!("bitsliced/state/keys.h"),
    planes: concat!(include_str!("bitsliced/state/planes.h"), "\n", include_str!("bitsliced/state/words.h")),
    ecb: include_str!("bitsliced/state/ecb.h"),
    ctr: concat!(include_str!("bitsliced/state/counters.h"), "\n", include_str!("bitsliced/state/ctr.h")),
    cbc: include_str!("bitsliced/state/cbc.h"),
};

/// By state, with data and round keys staged through shared memory.
const STAGED: Templates = Templates {
    keys: include_str!("bitsliced/staged/keys.h"),
    planes: concat!(include_str!("bitsliced/staged/planes.h"), "\n", include_str!("bitsliced/state/words.h")),
    ecb: include_str!("bitsliced/staged/ecb.h"),
    ctr: concat!(include_str!("bitsliced/state/counters.h"), "\n", include_str!("bitsliced/staged/ctr.h")),
    cbc: include_str!("bitsliced/staged/cbc.h"),
};

const COLUMN: Templates = Templates {
    keys: include_str!("bitsliced/column/keys.h"),
    planes: include_str!("bitsliced/column/planes.h"),
    ecb: concat!(
        include_str!("bitsliced/share.h"),
        "\n",
        include_str!("bitsliced/column/present.h"),
        "\n",
        include_str!("bitsliced/column/words.h"),
        "\n",
        include_str!("bitsliced/column/ecb.h")
    ),
    ctr: concat!(
        include_str!("bitsliced/share.h"),
        "\n",
        include_str!("bitsliced/column/present.h"),
        "\n",
        include_str!("bitsliced/column/ctr.h")
    ),
    cbc: concat!(
        include_str!("bitsliced/share.h"),
        "\n",
        include_str!("bitsliced/column/present.h"),
        "\n",
        include_str!("bitsliced/column/words.h"),
        include_str!("bitsliced/column/cbc.h")
    ),
};

/// Blocks of 16 bytes whose planes share a register: one a bit.
pub const BLOCKS_PER_WORD: u32 = 32;
/// The most rounds a kernel with keys given at launch can run: AES-256.
pub const MAX_ROUNDS: usize = 14;

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Threads a thread block: a power of two from 32 to 1024.
    pub threads: u32,
    /// Thread blocks that the compiler must leave registers for on one multiprocessor.
    pub blocks_per_sm: u32,
}

impl Geometry {
    /// The one measured to be the fastest, and in which nothing spills: 255 registers for the state and what is between
    /// two of its layers, or 96 to 128 for a column of it. The ciphertext of 64 states is what fits in shared memory.
    pub fn of(spec: &KernelSpec) -> Self {
        let (threads, blocks_per_sm) = match (spec.layout, spec.mode, &spec.round_keys) {
            (_, _, RoundKeys::PlanesInMemory) | (Layout::State, Mode::CbcDecrypt, _) => (64, 4),
            (Layout::State, _, _) => (128, 2),
            (Layout::Column, Mode::EcbEncrypt, RoundKeys::Planes | RoundKeys::Bits) => (128, 5),
            (Layout::Column, _, _) => (128, 4),
        };
        Self { threads, blocks_per_sm }
    }

    /// Blocks of 16 bytes that a thread block works on at a time.
    pub fn blocks(self, layout: Layout) -> u32 {
        BLOCKS_PER_WORD * self.threads / layout.threads()
    }
}

/// The entry point's name in C: the kernel's with underscores. The byte-wise one has `_bytes` behind it.
pub fn entry_point(spec: &KernelSpec) -> String {
    spec.name().replace('-', "_")
}

/// Prints a kernel of the fastest geometry. `command` is the command line that remakes it.
pub fn print(plan: &Plan, dialect: Dialect, command: &str) -> Printed {
    let geometry = Geometry::of(&plan.spec);
    let source = Zeroizing::new(source(plan, geometry, dialect, command));
    let manifest = Manifest::bitsliced(plan, geometry, dialect, &source);
    Printed { source, manifest }
}

/// The source of a bitsliced kernel, heading included. `command` is the command line that remakes it.
///
/// # Panics
/// If the threads a block are no power of two from 32 to 1024: counters would not wrap between runs.
///
/// With a key baked in, the text is the key: it is built without leaving copies behind, and whoever takes it wipes it.
pub fn source(plan: &Plan, geometry: Geometry, dialect: Dialect, command: &str) -> String {
    let threads = geometry.threads;
    assert!(threads.is_power_of_two() && (32..=1024).contains(&threads), "{threads} threads a block");
    let body = body(plan, geometry, dialect);
    let spec = &plan.spec;
    let rounds = |r: usize| format!("{} of LUT3 for {r} rounds", plan.gates_executed(r));
    let mut lines = Vec::new();
    if spec.round_keys.baked().is_some() {
        lines.push(
            "THIS FILE IS THE KEY: the round keys are baked into its code. Guard it as you guard the key.".into(),
        );
    }
    lines.push(format!("{}{command}", header::COMMAND));
    lines.push(format!("Kernel: {}, AES on bit-planes.", spec.name()));
    lines.push(format!("Mode: {}; round keys: {}; S-box: {}.", spec.mode, spec.round_keys.strategy(), spec.sbox.name));
    lines.push(match spec.layout {
        Layout::State => "Layout: a thread holds the state of 32 blocks.".into(),
        Layout::Column => "Layout: a thread holds a column of 32 blocks, four threads the state.".into(),
    });
    lines.push(format!("Bytes between rounds: z = Q x, bit i of z being the parity of x & Q[i]; Q = {}.", spec.basis));
    lines.push(format!(
        "Geometry: {} threads a block, {} blocks a multiprocessor.",
        geometry.threads, geometry.blocks_per_sm
    ));
    let counts: Vec<String> = match plan.rounds() {
        Some(r) => vec![rounds(r)],
        None => crate::aes::KeyBits::ALL.iter().map(|k| rounds(k.rounds())).collect(),
    };
    lines.push(format!("Lookup tables: {}.", counts.join(", ")));
    header::with_heading(lines.iter().map(String::as_str), &body)
}

fn body(plan: &Plan, geometry: Geometry, dialect: Dialect) -> Zeroizing<String> {
    // Room for all of it at once: growing would leave copies behind. A gate is a line of at most 80 bytes.
    let gates: usize = plan.functions.iter().map(|f| f.circuit.gates().len() + 64).sum();
    let mut text = Zeroizing::new(String::with_capacity((128 << 10) + 80 * gates));
    let room = text.capacity();
    let templates = match (&plan.spec.round_keys, plan.spec.layout) {
        (RoundKeys::PlanesInMemory, _) => STAGED,
        (_, Layout::State) => STATE,
        (_, Layout::Column) => COLUMN,
    };
    let access = KeyAccess::new(plan);
    *text += "\n";
    *text += TRANSPOSE;
    *text += "\n";
    *text += templates.planes;
    if access.shared {
        let _ = writeln!(text, "\n#define MAX_ROUNDS {}\n", plan.rounds().unwrap_or(MAX_ROUNDS));
        access.fill(templates.keys, &mut text);
    }
    *text += &banner("The layers of the cipher as circuits. Bit-planes come by byte: x[b] is bit b.");
    let key = match (plan.spec.layout, access.shared) {
        // Planes are fetched where they are read; other operands are in registers.
        (Layout::State, true) => "IN_SHARED const volatile u32 *key, ",
        _ => "const u32 *key, ",
    };
    for f in (0..plan.functions.len()).filter(|&i| is_called(plan, i)).map(|i| &plan.functions[i]) {
        *text += "\n";
        function(f, key, &mut text);
    }
    *text += &banner("The cipher on bit-planes.");
    *text += "\n";
    cipher(plan, &access, &mut text);
    *text += "\n";
    match plan.spec.mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => access.fill(templates.ecb, &mut text),
        Mode::Ctr => {
            *text += COUNTER;
            access.fill(templates.ctr, &mut text);
        }
        Mode::CbcDecrypt => {
            *text += CBC;
            access.fill(templates.cbc, &mut text);
        }
    }
    debug_assert_eq!(text.capacity(), room, "the text has outgrown its room");
    let mut geometry =
        format!("\n#define THREADS {}\n#define BLOCKS_PER_SM {}\n\n", geometry.threads, geometry.blocks_per_sm);
    geometry += &dialect.page(&text);
    Zeroizing::new([&geometry, text.as_str()].concat())
}

/// How the code reaches the round keys: what stands for the words between `@` in the templates.
struct KeyAccess {
    entry: String,
    /// Whether they lie in shared memory.
    shared: bool,
    /// By column: the form they have there.
    form: &'static str,
    /// Where a thread block gets them from, before it spreads them: a type or a function.
    source: Zeroizing<String>,
    source_parameter: &'static str,
    word: &'static str,
    rounds: String,
    /// What a kernel takes at launch.
    kernel_parameter: &'static str,
    source_argument: &'static str,
}

impl KeyAccess {
    fn new(plan: &Plan) -> Self {
        let spec = &plan.spec;
        let entry = entry_point(spec);
        let baked = Self {
            entry,
            shared: false,
            form: match &spec.round_keys {
                RoundKeys::Bits => include_str!("bitsliced/column/key_bits.h"),
                _ => include_str!("bitsliced/column/key_planes.h"),
            },
            source: Zeroizing::default(),
            source_parameter: "",
            word: "",
            rounds: plan.rounds().unwrap_or_default().to_string(),
            kernel_parameter: "",
            source_argument: "",
        };
        match (&spec.round_keys, spec.layout) {
            (RoundKeys::Planes | RoundKeys::Bits, layout) => Self {
                shared: true,
                source: Zeroizing::new(
                    "// As they are launched with: the bytes as little-endian words, in the basis of the state they meet.\n\
                     typedef struct { u32 word[MAX_ROUNDS + 1][4]; u32 rounds; } round_keys;\n"
                        .into(),
                ),
                source_parameter: ", const round_keys *keys",
                word: match layout {
                    Layout::State => "keys->word[i / 128][i / 32 % 4]",
                    Layout::Column => "keys->word[i / 4][i % 4]",
                },
                rounds: "keys->rounds".into(),
                kernel_parameter: ", KERNEL_PARAMETER round_keys keys",
                source_argument: ", &keys",
                ..baked
            },
            (RoundKeys::PlanesInMemory, _) => Self {
                shared: true,
                source_parameter: ", IN_GLOBAL const u32 *key_planes, u32 rounds",
                rounds: "rounds".into(),
                kernel_parameter: ", IN_GLOBAL const u32 *key_planes, u32 rounds",
                source_argument: ", key_planes, rounds",
                ..baked
            },
            (RoundKeys::OneHotMux(keys), Layout::Column) => Self {
                shared: true,
                source: multiplexer(keys, spec.basis),
                word: "round_key_word(i)",
                ..baked
            },
            (RoundKeys::OneHotMux(_), Layout::State) | (RoundKeys::Immediate(_), _) => baked,
        }
    }

    /// Appends a template.
    fn fill(&self, template: &str, text: &mut String) {
        let load = match self.shared {
            true => format!(
                "    SHARED key_memory memory;\n    const cipher_key key = share_keys(&memory{});\n",
                self.source_argument
            ),
            false => String::new(),
        };
        for (i, part) in template.split('@').enumerate() {
            *text += match part {
                part if i % 2 == 0 => part,
                "NAME" => &self.entry,
                "KEY" => self.pass(", key"),
                "KEY_LOAD" => &load,
                "KEY_PARAMETER" => self.kernel_parameter,
                "KEY_FORM" => self.form,
                "KEY_SOURCE" => &self.source,
                "KEY_SOURCE_PARAMETER" => self.source_parameter,
                "KEY_WORD" => self.word,
                "ROUNDS" => &self.rounds,
                other => unreachable!("`{other}` in a template"),
            };
        }
    }

    /// What hands the key on from function to function, if it is handed on.
    fn pass(&self, text: &'static str) -> &'static str {
        if self.shared { text } else { "" }
    }
}

/// The round keys in the code: a function that picks a word of them.
fn multiplexer(keys: &KeySchedule, basis: Basis) -> Zeroizing<String> {
    let words = 4 * (keys.rounds() + 1);
    let mut text = Zeroizing::new(String::with_capacity(256 + 64 * words));
    *text += "// The round keys, baked in: word index % 4 of round key index / 4, picked by one-hot selectors.\n";
    *text += "DEVICE u32 round_key_word(u32 index) {\n    u32 word = 0;\n";
    for (i, word) in layout::round_keys(keys, basis).iter().flat_map(|key| key.as_chunks().0).enumerate() {
        let _ = writeln!(text, "    word |= {:#010x} & (0u - (u32)(index == {i}));", u32::from_le_bytes(*word));
    }
    *text += "    return word;\n}\n";
    text
}

fn banner(title: &str) -> String {
    let rule = "-".repeat(111);
    format!("\n// {rule}\n// {title}\n// {rule}\n")
}

/// A circuit as a C function: of a byte in place if it has eight outputs, else of four bytes, and maybe a key, to four.
fn function(function: &Function, key: &str, text: &mut String) {
    let circuit = &function.circuit;
    let stats = circuit.stats();
    let _ = writeln!(
        text,
        "// {}\n// Circuit: {}; {} LUT3, depth {}, at most {} values alive.",
        function.about,
        circuit.name(),
        stats.gates(),
        stats.depth,
        stats.peak_live
    );
    let byte = is_byte(circuit);
    let input = |i: usize| match i {
        _ if byte => format!("x[{i}]"),
        0..32 => format!("row{}[{}]", i / 8, i % 8),
        _ => format!("key[{}]", i - 32),
    };
    let name = &function.name;
    let key = if circuit.inputs().len() > 32 { key } else { "" };
    let _ = match byte {
        true => writeln!(text, "DEVICE void {name}(u32 *x) {{"),
        false => writeln!(
            text,
            "DEVICE void {name}(const u32 *row0, const u32 *row1, const u32 *row2, const u32 *row3, {key}u32 *y) {{"
        ),
    };
    c::statements(circuit, input, if byte { "x" } else { "y" }, text);
    *text += "}\n";
}

/// Whether the printed code calls a function: not if all it does is done to bytes.
fn is_called(plan: &Plan, function: usize) -> bool {
    plan.first.iter().chain(&plan.round).chain(&plan.last).any(|step| match step {
        Step::AddFirstRoundKey(c) | Step::MixColumns(c) | Step::AddLastRoundKey(c) => {
            c.key != KeyOperand::Bytes && c.functions.contains(&function)
        }
        Step::SubBytes(c) => c.functions.contains(&function),
        Step::Section(_) => false,
    })
}

fn is_byte(circuit: &Circuit) -> bool {
    circuit.outputs().len() == 8
}

/// The cipher in parts, a round beginning behind SubBytes: `begin` to SubBytes of round 1, `mix_columns` and `sub_bytes`
/// for a round, `finish` from a round to the end; and `cipher`, all of it. Where rounds are written out, `begin` has
/// them all.
fn cipher(plan: &Plan, access: &KeyAccess, text: &mut String) {
    let sign = match plan.direction() {
        Direction::Encrypt => "+ (row)",
        Direction::Decrypt => "+ 4 - (row)",
    };
    match plan.spec.layout {
        Layout::State => {
            *text += "// Where a row of a column is, and where ShiftRows finds it.\n";
            *text += "#define AT(row, column) (8 * (4 * (column) + (row)))\n";
            let _ = writeln!(text, "#define SHIFTED(row, column) AT(row, ((column) {sign}) & 3)\n");
        }
        Layout::Column => {
            *text += "// The column in which ShiftRows finds a row of a column.\n";
            let _ = writeln!(text, "#define SHIFTED(row, column) (((column) {sign}) & 3)\n");
            *text += include_str!("bitsliced/column/shift_rows.h");
            *text += "\n";
        }
    }
    let parameter = access.pass(", cipher_key key");
    let argument = access.pass(", key");
    let rounds = if access.shared { "key.rounds".to_string() } else { access.rounds.clone() };
    let rolled = !plan.round.is_empty();
    let mut part = |heading: &str, steps: &[Step], round: &str| {
        let _ = writeln!(text, "DEVICE void {heading} {{");
        let mut printer = Steps { plan, text, round: round.into() };
        printer.steps(steps);
        *text += "}\n\n";
    };
    part(&format!("begin(u32 *s{parameter})"), &plan.first, "0");
    for step in &plan.round {
        let heading = match step {
            Step::MixColumns(_) => match plan.spec.layout {
                Layout::State => format!("mix_columns(u32 *s{parameter}, u32 round)"),
                Layout::Column => "mix_columns(u32 *s, const u32 *k, cipher_key key)".into(),
            },
            Step::SubBytes(_) => "sub_bytes(u32 *s)".into(),
            other => unreachable!("{other:?} in a round"),
        };
        part(&heading, std::slice::from_ref(step), "round");
    }
    let mut last = plan.last.as_slice();
    // Measured, kernel by kernel: docs/performance.md. Rounds are even in number, from wherever the loop begins.
    let unrolled = if plan.rounds().is_some() { 2 } else { 1 };
    if rolled {
        // The last MixColumns is the function that is there already.
        last = &last[1..];
    }
    let _ = match (rolled, plan.spec.layout) {
        (true, Layout::State) => writeln!(
            text,
            "DEVICE void finish(u32 *s{parameter}, u32 round) {{\n    \
             ROLLED for (; round < {rounds} - 1; round++) {{\n        \
             mix_columns(s{argument}, round);\n        sub_bytes(s);\n    }}\n    \
             mix_columns(s{argument}, {rounds} - 1);"
        ),
        (true, Layout::Column) => writeln!(
            text,
            "DEVICE void finish(u32 *s, cipher_key key, u32 round) {{\n    \
             // A round key is on its way while SubBytes runs.\n    \
             u32 k[32];\n    get_round_key(k, key, round);\n    \
             ROLLED for (; round < {rounds} - 1; round += {unrolled}) {{\n        \
             UNROLL for (u32 i = 0; i < {unrolled}; i++) {{\n            \
             mix_columns(s, k, key);\n            get_round_key(k, key, round + i + 1);\n            \
             sub_bytes(s);\n        }}\n    }}\n    \
             mix_columns(s, k, key);"
        ),
        (false, _) => writeln!(text, "DEVICE void finish(u32 *s) {{"),
    };
    Steps { plan, text, round: format!("{rounds} - 1") }.steps(last);
    let from = if rolled { ", 1" } else { "" };
    let _ = writeln!(
        text,
        "}}\n\nDEVICE void cipher(u32 *s{parameter}) {{\n    begin(s{argument});\n    finish(s{argument}{from});\n}}"
    );
}

struct Steps<'a> {
    plan: &'a Plan,
    text: &'a mut String,
    /// The current round as an expression.
    round: String,
}

impl Steps<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Section(title) => self.line(&format!("// {title}")),
                Step::AddFirstRoundKey(call) => self.columns(call, "0", false),
                Step::MixColumns(call) => self.columns(call, &self.round.clone(), true),
                Step::AddLastRoundKey(call) => self.columns(call, &format!("{} + 1", self.round), true),
                Step::SubBytes(call) => self.bytes(call),
            }
        }
    }

    fn name(&self, function: usize) -> &str {
        &self.plan.functions[function].name
    }

    fn bytes(&mut self, call: &Call<16>) {
        match (call.uniform(), self.plan.spec.layout) {
            (Some(f), Layout::State) => {
                self.line(&format!("UNROLL for (int j = 0; j < 16; j++) {}(&s[8 * j]);", self.name(f)));
            }
            (Some(f), Layout::Column) => {
                self.line(&format!("UNROLL for (int row = 0; row < 4; row++) {}(&s[8 * row]);", self.name(f)));
            }
            (None, _) => {
                for (j, &f) in call.functions.iter().enumerate() {
                    self.line(&format!("{}(&s[8 * {j}]);", self.name(f)));
                }
            }
        }
    }

    fn columns(&mut self, call: &Call<4>, round: &str, shifted: bool) {
        match (call.uniform(), self.plan.spec.layout) {
            (Some(f), Layout::Column) => {
                if shifted {
                    self.line("shift_rows(s, key);");
                }
                if call.key == KeyOperand::Bytes {
                    self.line("// AddRoundKey: by the caller, on the bytes.");
                    return;
                }
                if shifted {
                    self.line("u32 t[32];");
                } else {
                    self.line("u32 k[32], t[32];");
                    self.line(&format!("get_round_key(k, key, {round});"));
                }
                self.line(&format!("{}(&s[0], &s[8], &s[16], &s[24], k, t);", self.name(f)));
                self.line("UNROLL for (int i = 0; i < 32; i++) s[i] = t[i];");
            }
            (uniform, _) => {
                let at = if shifted { "SHIFTED" } else { "AT" };
                if call.key == KeyOperand::Selectors {
                    let n = self.plan.rounds().unwrap_or_default() - 1;
                    self.line(&format!("u32 selector[{n}]; // one-hot: all ones for this round, else zero"));
                    self.line(&format!(
                        "UNROLL for (u32 i = 0; i < {n}; i++) selector[i] = 0u - (u32)({round} == i + 1);"
                    ));
                }
                // Where the steps of several rounds are one function, each has its block.
                self.line("{");
                self.line("u32 t[128];");
                let key = match call.key {
                    KeyOperand::None | KeyOperand::Bytes => String::new(),
                    KeyOperand::Planes => {
                        self.line(&format!("IN_SHARED const volatile u32 *const k = round_key(key, {round});"));
                        "&k[32 * @], ".into()
                    }
                    KeyOperand::Selectors => "selector, ".into(),
                };
                let one = |c: &str, f: usize| {
                    let rows: Vec<String> = (0..4).map(|r| format!("&s[{at}({r}, {c})]")).collect();
                    format!("{}({}, {}&t[32 * {c}]);", self.name(f), rows.join(", "), key.replace('@', c))
                };
                let lines: Vec<String> = match uniform {
                    Some(f) => vec![format!("UNROLL for (int c = 0; c < 4; c++) {}", one("c", f))],
                    None => call.functions.iter().enumerate().map(|(c, &f)| one(&c.to_string(), f)).collect(),
                };
                lines.iter().for_each(|line| self.line(line));
                self.line("UNROLL for (int i = 0; i < 128; i++) s[i] = t[i];");
                self.line("}");
            }
        }
    }
}
