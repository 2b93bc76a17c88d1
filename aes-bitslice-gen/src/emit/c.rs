//! Circuits as C: one statement per gate, and a single circuit as a function.

use crate::circuit::{Circuit, Lut3, Wire};
use std::fmt::Write;

/// A circuit as a C function `NAME(const u32 *x, u32 *y)`, where every bit position of the words is a lane: input `i`
/// is `x[i]`, output `i` is `y[i]`, and the two arrays do not overlap. It must follow [`super::cuda::prelude`].
pub fn function(circuit: &Circuit, name: &str, gates: Gates) -> String {
    let stats = circuit.stats();
    let unit = if gates == Gates::Tables { "LUT3" } else { "gates" };
    let mut text = format!("// Circuit: {}; {} {unit}, depth {}.\n", circuit.name(), stats.gates(), stats.depth);
    let _ = writeln!(text, "DEVICE void {name}(const u32 *x, u32 *y) {{");
    statements(circuit, |i| format!("x[{i}]"), "y", gates, &mut text);
    text += "}\n";
    text
}

/// How gates are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gates {
    /// One instruction each, which the compiler leaves unchanged, unless C has an operator for it.
    Tables,
    /// Two-input gates as operators, which the compiler may merge.
    Operators,
}

/// The gates of a circuit and the assignments to its outputs; `input` is the expression for an input and `target` the
/// array for the outputs.
pub(super) fn statements(
    circuit: &Circuit,
    input: impl Fn(usize) -> String,
    target: &str,
    gates: Gates,
    text: &mut String,
) {
    let operand = |wire: Wire| match wire.index().checked_sub(circuit.inputs().len()) {
        Some(gate) => format!("n{gate}"),
        None => input(wire.index()),
    };
    for (i, gate) in circuit.gates().iter().enumerate() {
        let [a, b, c] = gate.inputs.map(operand);
        let _ = match (operator(gate.table), operator(gate.table.complement()), gate.table) {
            (Some(sign), _, _) => writeln!(text, "    const u32 n{i} = {a} {sign} {b};"),
            (_, Some(sign), _) if gates == Gates::Operators => {
                writeln!(text, "    const u32 n{i} = ~({a} {sign} {b});")
            }
            (_, _, Lut3::NOT) => writeln!(text, "    const u32 n{i} = ~{a};"),
            (_, _, Lut3(table)) => writeln!(text, "    const u32 n{i} = LUT3({a}, {b}, {c}, {table:#04x});"),
        };
    }
    for (i, (_, wire)) in circuit.outputs().iter().enumerate() {
        let _ = writeln!(text, "    {target}[{i}] = {};", operand(*wire));
    }
}

/// C's operator for a function of two inputs, if there is one.
fn operator(table: Lut3) -> Option<char> {
    [(Lut3::XOR, '^'), (Lut3::AND, '&'), (Lut3::OR, '|')].into_iter().find(|(of, _)| *of == table).map(|(_, sign)| sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_a_statement_a_gate_and_an_output() {
        let mut circuit = Circuit::new("a sum, and an input passed on", ["a", "b", "c"]);
        let [a, b, c] = [0, 1, 2].map(|i| circuit.input(i));
        let sum = circuit.xor(a, b);
        let majority = circuit.gate(Lut3(0xe8), [sum, b, c]);
        for (name, wire) in [("majority", majority), ("b", b)] {
            circuit.output(name, wire);
        }
        let expected = "// Circuit: a sum, and an input passed on; 2 LUT3, depth 2.\n\
                        DEVICE void f(const u32 *x, u32 *y) {\n    \
                        const u32 n0 = x[0] ^ x[1];\n    \
                        const u32 n1 = LUT3(x[1], x[2], n0, 0xe8);\n    \
                        y[0] = n1;\n    \
                        y[1] = x[1];\n}\n";
        assert_eq!(function(&circuit, "f", Gates::Tables), expected);
    }
}
