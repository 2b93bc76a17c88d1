//! The steps of a plan as C: circuits become functions, and the cipher becomes calls of them.

use super::parts::KeyAccess;
use crate::circuit::Circuit;
use crate::emit::c::{self, Gates};
use crate::kernel::plan::{Call, Function, KeyOperand, Plan, Step};
use crate::kernel::spec::{Layers, Selected};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::mode::State;
use std::fmt::Write;

/// A circuit as a C function: on a byte in place if it has eight outputs, otherwise from four bytes, with or without a key, to four.
pub(super) fn function(function: &Function, layers: Layers, key: &str, text: &mut String) {
    let circuit = &function.circuit;
    let stats = circuit.stats();
    let (gates, unit) = match layers {
        Layers::Fewest => (Gates::Tables, "LUT3"),
        Layers::Published => (Gates::Operators, "gates"),
    };
    let _ = writeln!(
        text,
        "// {}\n// Circuit: {}; {} {unit}, depth {}, at most {} values alive.",
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
    let _ = if byte {
        writeln!(text, "DEVICE void {name}(u32 *x) {{")
    } else {
        writeln!(
            text,
            "DEVICE void {name}(const u32 *row0, const u32 *row1, const u32 *row2, const u32 *row3, {key}u32 *y) {{"
        )
    };
    c::statements(circuit, input, if byte { "x" } else { "y" }, gates, text);
    *text += "}\n";
}

/// The text of a cipher with a prefix before every name that it defines: its functions, and the macro `SHIFTED`.
pub(super) fn renamed(text: &str, prefix: &str) -> String {
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    let defined = |line: &str| {
        let head = line.strip_prefix("DEVICE void ").or_else(|| line.strip_prefix("#define "))?;
        Some(head.split_once('(')?.0.to_string())
    };
    let names: Vec<String> = text.lines().filter_map(defined).collect();
    let mut renamed = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = rest.find('(') {
        let begin = rest[..at].rfind(|sign| !is_name(sign)).map_or(0, |before| before + 1);
        renamed += &rest[..begin];
        if names.iter().any(|name| *name == rest[begin..at]) {
            renamed += prefix;
        }
        renamed += &rest[begin..=at];
        rest = &rest[at + 1..];
    }
    renamed + rest
}

/// Whether the printed code calls a function: false if all its work is done on bytes. By column, the first round key is added to bytes, or
/// to counters by the template that makes their planes.
pub(super) fn is_called(plan: &Plan, function: usize) -> bool {
    plan.first.iter().chain(&plan.round).chain(&plan.last).any(|step| match step {
        Step::AddRoundKey(_) if plan.spec.layout == Layout::Column => false,
        Step::AddRoundKey(c) | Step::MixColumns(c) | Step::AddLastRoundKey(c) => {
            c.key != KeyOperand::Bytes && c.functions.contains(&function)
        }
        Step::SubBytes(f) => *f == function,
    })
}

fn is_byte(circuit: &Circuit) -> bool {
    circuit.outputs().len() == 8
}

/// The cipher in parts, where a round begins after SubBytes: `begin` up to SubBytes of round 1, `mix_columns` and `sub_bytes` for a round,
/// `rounds` from a round to the last MixColumns, `end` from there to the end; and `cipher`, all of it. For counters by column, `begin_byte` is SubBytes of round 1 on a byte: the template has the rest
/// of `begin` and the use of its result. The loop of rounds has `unrolled` rounds per turn.
pub(super) fn cipher(plan: &Plan, access: &KeyAccess, unrolled: u32, text: &mut String) {
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
            *text += include_str!("column/shift_rows.h");
            *text += "\n";
        }
    }
    let parameter = access.pass(", cipher_key key");
    let argument = access.pass(", key");
    let rounds = if access.shared { "key.rounds".to_string() } else { access.rounds.clone() };
    let mut part = |heading: &str, steps: &[Step], round: &str| {
        let _ = writeln!(text, "DEVICE void {heading} {{");
        let mut printer = Steps { plan, text, round: round.into() };
        printer.steps(steps);
        *text += "}\n\n";
    };
    let starts_with_counters = (plan.spec.layout, plan.spec.mode.state()) == (Layout::Column, State::Counters);
    let is_generic = plan.spec.selected == Selected::All;
    if !starts_with_counters && !is_generic {
        part(&format!("begin(u32 *s{parameter})"), &plan.first, "0");
    }
    for step in &plan.round {
        let heading = match (step, plan.spec.layout) {
            (Step::SubBytes(_), _) => "sub_bytes(u32 *s)".into(),
            (Step::MixColumns(_), Layout::Column) => "mix_columns(u32 *s, const u32 *k, cipher_key key)".into(),
            (step, _) if has_key(step) => format!("{}(u32 *s{parameter}, u32 round)", layer(step)),
            (step, _) => format!("{}(u32 *s)", layer(step)),
        };
        part(&heading, std::slice::from_ref(step), "round");
    }
    if is_generic {
        return generic_cipher(&rounds, text);
    }
    // A layer of a round by state, as a call.
    let call = |step: &Step, round: &str| {
        if has_key(step) { format!("{}(s{argument}, {round});", layer(step)) } else { format!("{}(s);", layer(step)) }
    };
    let mut last = plan.last.as_slice();
    // The last round's layers up to SubBytes reuse the existing functions.
    let before_sub_bytes = plan.round.iter().take_while(|step| !matches!(step, Step::SubBytes(_)));
    let (again, others) = last.split_at(before_sub_bytes.count());
    last = others;
    let _ = match plan.spec.layout {
        Layout::State => {
            let round: Vec<String> = plan.round.iter().map(|step| call(step, "round")).collect();
            let again: Vec<String> = again.iter().map(|step| call(step, &format!("{rounds} - 1"))).collect();
            writeln!(
                text,
                "DEVICE void rounds(u32 *s{parameter}, u32 round) {{\n    \
                 ROLLED for (; round < {rounds} - 1; round++) {{\n        {}\n    }}\n    {}\n}}\n",
                round.join("\n        "),
                again.join("\n    ")
            )
        }
        Layout::Column => writeln!(
            text,
            "DEVICE void rounds(u32 *s, cipher_key key, u32 round) {{\n    \
             // A round key is on its way while SubBytes runs.\n    \
             u32 k[32];\n    get_round_key(k, key, round);\n    \
             ROLLED for (; round < {rounds} - 1; round += {unrolled}) {{\n        \
             UNROLL for (u32 i = 0; i < {unrolled}; i++) {{\n            \
             mix_columns(s, k, key);\n            get_round_key(k, key, round + i + 1);\n            \
             sub_bytes(s);\n        }}\n    }}\n    \
             mix_columns(s, k, key);\n}}\n"
        ),
    };
    let mut printer = Steps { plan, text, round: format!("{rounds} - 1") };
    let _ = writeln!(printer.text, "DEVICE void end(u32 *s{parameter}) {{");
    printer.steps(last);
    let _ = writeln!(printer.text, "}}");
    if starts_with_counters {
        let Some(Step::SubBytes(first)) = plan.first.get(1) else { unreachable!("SubBytes after AddRoundKey") };
        let name = printer.name(*first);
        let begin_byte = format!("\nDEVICE void begin_byte(u32 *x) {{ {name}(x); }}\n");
        *printer.text += &begin_byte;
    } else {
        let _ = writeln!(
            printer.text,
            "\nDEVICE void cipher(u32 *s{parameter}) {{\n    begin(s{argument});\n    rounds(s{argument}, 1);\n    \
             end(s{argument});\n}}"
        );
    }
}

/// The cipher as a loop over one round, which begins with its key: the compiler does not know which it is.
fn generic_cipher(rounds: &str, text: &mut String) {
    *text += &include_str!("state/generic_cipher.h").replace("@ROUNDS@", rounds);
}

/// The name of a round's layer as a function.
fn layer(step: &Step) -> &'static str {
    match step {
        Step::MixColumns(_) => "mix_columns",
        Step::AddRoundKey(_) => "add_round_keys",
        Step::SubBytes(_) => "sub_bytes",
        other => unreachable!("{other:?} in a round"),
    }
}

/// Whether a layer adds a key.
fn has_key(step: &Step) -> bool {
    matches!(step, Step::MixColumns(call) | Step::AddRoundKey(call) if call.key != KeyOperand::None)
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
                Step::AddRoundKey(call) => self.columns(call, &self.round.clone(), false),
                Step::MixColumns(call) => self.columns(call, &self.round.clone(), true),
                Step::AddLastRoundKey(call) => self.columns(call, &format!("{} + 1", self.round), true),
                Step::SubBytes(f) => self.line(&match self.plan.spec.layout {
                    Layout::State => format!("UNROLL for (int j = 0; j < 16; j++) {}(&s[8 * j]);", self.name(*f)),
                    Layout::Column => {
                        format!("UNROLL for (int row = 0; row < 4; row++) {}(&s[8 * row]);", self.name(*f))
                    }
                }),
            }
        }
    }

    fn name(&self, function: usize) -> &str {
        &self.plan.functions[function].name
    }

    fn columns(&mut self, call: &Call, round: &str, shifted: bool) {
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
                    let selected = self.plan.spec.selected_keys(self.plan.rounds().unwrap_or_default());
                    let n = selected.len();
                    let of_round = if selected.start == 0 { "i" } else { "i + 1" };
                    self.line(&format!("u32 selector[{n}]; // one-hot: all ones for this round, else zero"));
                    self.line(&format!(
                        "UNROLL for (u32 i = 0; i < {n}; i++) selector[i] = 0u - (u32)({round} == {of_round});"
                    ));
                }
                // Where a function has several steps, each has its own block.
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
