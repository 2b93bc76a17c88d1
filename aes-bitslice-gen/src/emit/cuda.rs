//! CUDA C, which is plain C11 too: the same text runs on a GPU and, to be checked, on a CPU.
//!
//! The parts that do not depend on the plan are the `.h` files beside this one, read as C; this printer adds the
//! circuits as functions, the cipher as calls of them, and the entry points of the mode:
//!
//! | entry | alignment | unit |
//! |---|---|---|
//! | `NAME(in, out, blocks, ...)` | 16 bytes | whole blocks |
//! | `NAME_bytes(in, out, ...)` | any | ECB: whole blocks; CTR: bytes, starting anywhere in a block of key stream |

use super::header;
use crate::aes::Direction;
use crate::circuit::{Circuit, Lut3, Wire};
use crate::kernel::{Call, Function, KernelSpec, KeyOperand, KeyStrategy, Mode, Plan, Step};
use std::fmt::Write;
use zeroize::Zeroizing;

const PRELUDE: &str = include_str!("cuda/prelude.h");
const TRANSPOSE: &str = include_str!("cuda/transpose.h");
const KEYS: &str = include_str!("cuda/keys.h");
const BLOCKS: &str = include_str!("cuda/blocks.h");
const ECB: &str = include_str!("cuda/ecb.h");
const CTR: &str = include_str!("cuda/ctr.h");

/// Blocks of 16 bytes that one thread works on: one a bit of its registers.
pub const BLOCKS_PER_THREAD: u32 = 32;
/// The most rounds a kernel with keys given at launch can run: AES-256.
pub const MAX_ROUNDS: usize = 14;

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Threads a thread block.
    pub threads: u32,
    /// Thread blocks that the compiler must leave registers for on one multiprocessor.
    pub blocks_per_sm: u32,
}

impl Default for Geometry {
    /// 2 × 128 threads leave 255 registers each: 128 planes, and room enough between them that nothing spills.
    fn default() -> Self {
        Self { threads: 128, blocks_per_sm: 2 }
    }
}

/// The entry point's name in C: the kernel's with underscores. The byte-wise one has `_bytes` behind it.
pub fn entry_point(spec: &KernelSpec) -> String {
    spec.name().replace('-', "_")
}

/// The kernel's source, heading included. `command` is the command line that remakes it.
///
/// With a key baked in, the text is the key: it is built without leaving copies behind, and whoever takes it wipes it.
pub fn source(plan: &Plan, geometry: Geometry, command: &str) -> String {
    let body = body(plan, geometry);
    let spec = &plan.spec;
    let rounds = |r: usize| format!("{} of LUT3 for {r} rounds", plan.gates_executed(r));
    let mut lines = Vec::new();
    if spec.round_keys.baked().is_some() {
        lines.push(
            "THIS FILE IS THE KEY: the round keys are baked into its code. Guard it as you guard the key.".into(),
        );
    }
    lines.push(format!("{}{command}", header::COMMAND));
    lines.push(format!("Kernel: {}, AES on bit-planes, {BLOCKS_PER_THREAD} blocks a thread.", spec.name()));
    lines.push(format!("Mode: {}; round keys: {}; S-box: {}.", spec.mode, spec.round_keys.strategy(), spec.sbox.name));
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

fn body(plan: &Plan, geometry: Geometry) -> Zeroizing<String> {
    // Room for all of it at once: growing would leave copies behind. A gate is a line of at most 80 bytes.
    let gates: usize = plan.functions.iter().map(|f| f.circuit.gates().len() + 64).sum();
    let mut text = Zeroizing::new(String::with_capacity((128 << 10) + 80 * gates));
    let room = text.capacity();
    let _ =
        write!(text, "\n#define THREADS {}\n#define BLOCKS_PER_SM {}\n\n", geometry.threads, geometry.blocks_per_sm);
    *text += PRELUDE;
    *text += "\n";
    *text += TRANSPOSE;
    *text += &banner("The layers of the cipher as circuits. Bit-planes come by byte: x[b] is bit b.");
    // Key planes are fetched where they are read; other operands are in registers.
    let key = match plan.spec.round_keys.strategy() {
        KeyStrategy::Planes => "const volatile u32 *key, ",
        KeyStrategy::OneHotMux | KeyStrategy::Immediate => "const u32 *key, ",
    };
    for f in &plan.functions {
        *text += "\n";
        function(f, key, &mut text);
    }
    *text += &banner("The cipher on 32 blocks in 128 bit-planes.");
    *text += "\n";
    cipher(plan, &mut text);
    *text += "\n";
    if plan.spec.round_keys.strategy() == KeyStrategy::Planes {
        let _ = writeln!(text, "#define MAX_ROUNDS {MAX_ROUNDS}\n");
        *text += KEYS;
    }
    *text += BLOCKS;
    *text += "\n";
    let (parameter, load, argument) = match plan.spec.round_keys.strategy() {
        KeyStrategy::Planes => (
            ", KERNEL_PARAMETER round_keys keys",
            "    const volatile u32 (*key)[128] = share_planes(&keys);\n",
            ", key, keys.rounds",
        ),
        KeyStrategy::OneHotMux | KeyStrategy::Immediate => ("", "", ""),
    };
    let entries = match plan.spec.mode {
        Mode::EcbEncrypt | Mode::EcbDecrypt => ECB,
        Mode::Ctr => CTR,
    };
    *text += &entries
        .replace("@NAME@", &entry_point(&plan.spec))
        .replace("@KEY_PARAMETER@", parameter)
        .replace("@KEY_LOAD@", load)
        .replace("@KEY_ARGUMENT@", argument);
    debug_assert_eq!(text.capacity(), room, "the text has outgrown its room");
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
    let operand = |wire: Wire| match wire.index() {
        i if i >= circuit.inputs().len() => format!("n{}", i - circuit.inputs().len()),
        i if byte => format!("x[{i}]"),
        i if i < 32 => format!("row{}[{}]", i / 8, i % 8),
        i => format!("key[{}]", i - 32),
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
    for (i, gate) in circuit.gates().iter().enumerate() {
        let [a, b, c] = gate.inputs.map(operand);
        let _ = match gate.table {
            Lut3::XOR => writeln!(text, "    const u32 n{i} = {a} ^ {b};"),
            Lut3::AND => writeln!(text, "    const u32 n{i} = {a} & {b};"),
            Lut3::OR => writeln!(text, "    const u32 n{i} = {a} | {b};"),
            Lut3::NOT => writeln!(text, "    const u32 n{i} = ~{a};"),
            Lut3(table) => writeln!(text, "    const u32 n{i} = LUT3({a}, {b}, {c}, {table:#04x});"),
        };
    }
    let target = if byte { "x" } else { "y" };
    for (i, (_, wire)) in circuit.outputs().iter().enumerate() {
        let _ = writeln!(text, "    {target}[{i}] = {};", operand(*wire));
    }
    *text += "}\n";
}

fn is_byte(circuit: &Circuit) -> bool {
    circuit.outputs().len() == 8
}

fn cipher(plan: &Plan, text: &mut String) {
    let sign = match plan.direction() {
        Direction::Encrypt => "+ (row)",
        Direction::Decrypt => "+ 4 - (row)",
    };
    *text += "// Where a row of a column is, and where ShiftRows finds it.\n";
    *text += "#define AT(row, column) (8 * (4 * (column) + (row)))\n";
    let _ = writeln!(text, "#define SHIFTED(row, column) AT(row, ((column) {sign}) & 3)\n");
    let keys = match plan.spec.round_keys.strategy() {
        KeyStrategy::Planes => ", const volatile u32 (*key)[128], u32 rounds",
        KeyStrategy::OneHotMux | KeyStrategy::Immediate => "",
    };
    let _ = writeln!(text, "DEVICE void cipher(u32 *s{keys}) {{\n    u32 t[128];");
    let mut printer = Steps { plan, text, indent: 1, round: "0".into() };
    printer.steps(&plan.steps);
    *text += "}\n";
}

struct Steps<'a> {
    plan: &'a Plan,
    text: &'a mut String,
    indent: usize,
    /// The current round as an expression.
    round: String,
}

impl Steps<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}{line}", "    ".repeat(self.indent));
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Section(title) => self.line(&format!("// {title}")),
                Step::AddFirstRoundKey(call) => self.columns(call, "0", "AT"),
                Step::MixColumns(call) => self.columns(call, &self.round.clone(), "SHIFTED"),
                Step::AddLastRoundKey(call) => self.columns(call, "rounds", "SHIFTED"),
                Step::SubBytes(call) => match call.uniform() {
                    Some(f) => {
                        let name = &self.plan.functions[f].name;
                        self.line(&format!("UNROLL for (int j = 0; j < 16; j++) {name}(&s[8 * j]);"));
                    }
                    None => {
                        for (j, &f) in call.functions.iter().enumerate() {
                            self.line(&format!("{}(&s[8 * {j}]);", self.plan.functions[f].name));
                        }
                    }
                },
                Step::Rounds(body) => self.rounds(body),
            }
        }
    }

    fn columns(&mut self, call: &Call<4>, round: &str, at: &str) {
        let lines: Vec<(String, usize)> = match call.uniform() {
            Some(f) => vec![("c".into(), f)],
            None => call.functions.iter().enumerate().map(|(c, &f)| (c.to_string(), f)).collect(),
        };
        let prefix = if call.uniform().is_some() { "UNROLL for (int c = 0; c < 4; c++) " } else { "" };
        for (c, f) in lines {
            let rows: Vec<String> = (0..4).map(|r| format!("&s[{at}({r}, {c})]")).collect();
            let key = match call.key {
                KeyOperand::None => String::new(),
                KeyOperand::Planes => format!("&key[{round}][32 * {c}], "),
                KeyOperand::Selectors => "selector, ".into(),
            };
            let name = &self.plan.functions[f].name;
            self.line(&format!("{prefix}{name}({}, {key}&t[32 * {c}]);", rows.join(", ")));
        }
        self.line("UNROLL for (int i = 0; i < 128; i++) s[i] = t[i];");
    }

    fn rounds(&mut self, body: &[Step]) {
        let last = match self.plan.rounds() {
            Some(rounds) => rounds.to_string(),
            None => "rounds".into(),
        };
        self.line(&format!("ROLLED for (u32 round = 1; round < {last}; round++) {{"));
        self.indent += 1;
        if let (KeyStrategy::OneHotMux, Some(rounds)) = (self.plan.spec.round_keys.strategy(), self.plan.rounds()) {
            let n = rounds - 1;
            self.line(&format!("u32 selector[{n}]; // one-hot: all ones for this round, else zero"));
            self.line(&format!("UNROLL for (u32 i = 0; i < {n}; i++) selector[i] = 0u - (u32)(round == i + 1);"));
        }
        let outer = std::mem::replace(&mut self.round, "round".into());
        self.steps(body);
        self.round = outer;
        self.indent -= 1;
        self.line("}");
    }
}
