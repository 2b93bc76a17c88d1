//! Circuits as text, one gate per line:
//!
//! ```text
//! # sbox: 61 LUT3
//! inputs x0 x1 x2
//! outputs y0=n1
//! n0 = LUT3(0x96, x0, x1, x2)
//! n1 = LUT3(0x5a, x0, n0, n0)
//! ```
//!
//! A repeated operand stands for fewer inputs; bit `4a + 2b + c` of the table is the output.

use super::{Circuit, Lut3, Wire};
use std::collections::HashMap;
use std::fmt;

/// The reason why a text is not a circuit; lines count from 1.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
#[non_exhaustive]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The fault in this line.
    pub what: String,
}

/// Reads a circuit from its text.
pub fn parse(name: &str, text: &str) -> Result<Circuit, ParseError> {
    let mut circuit: Option<Circuit> = None;
    let mut outputs: Vec<(usize, &str, &str)> = Vec::new();
    let mut wires: HashMap<&str, Wire> = HashMap::new();
    for (i, line) in text.lines().enumerate().map(|(i, l)| (i + 1, l.trim())) {
        let fail = |what: String| ParseError { line: i, what };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(names) = line.strip_prefix("inputs ") {
            if circuit.is_some() {
                return Err(fail("a second line of inputs".into()));
            }
            let names: Vec<&str> = names.split_whitespace().collect();
            if names.is_empty() {
                return Err(fail("no input named".into()));
            }
            for (k, n) in names.iter().enumerate() {
                if wires.insert(n, Wire(k as u32)).is_some() {
                    return Err(fail(format!("input {n} is named twice")));
                }
            }
            circuit = Some(Circuit::new(name, names));
        } else if let Some(names) = line.strip_prefix("outputs ") {
            for pair in names.split_whitespace() {
                let (out, wire) = pair.split_once('=').ok_or_else(|| fail(format!("`{pair}` is not output=wire")))?;
                outputs.push((i, out, wire));
            }
        } else {
            let c = circuit.as_mut().ok_or_else(|| fail("a gate before the line of inputs".into()))?;
            let (wire, table, operands) =
                parse_gate(line).ok_or_else(|| fail(format!("`{line}` is not NAME = LUT3(0xTT, a, b, c)")))?;
            let mut inputs = [Wire(0); 3];
            for (slot, n) in inputs.iter_mut().zip(operands) {
                *slot = *wires.get(n).ok_or_else(|| fail(format!("`{n}` is read before it is made")))?;
            }
            let made = c.gate(table, inputs);
            if wires.insert(wire, made).is_some() {
                return Err(fail(format!("`{wire}` is made twice")));
            }
        }
    }
    let mut circuit = circuit.ok_or(ParseError { line: 0, what: "no line of inputs".into() })?;
    for (line, out, wire) in outputs {
        let wire = *wires.get(wire).ok_or(ParseError { line, what: format!("output {out}: no wire `{wire}`") })?;
        circuit.output(out, wire);
    }
    Ok(circuit)
}

fn parse_gate(line: &str) -> Option<(&str, Lut3, [&str; 3])> {
    let (wire, rest) = line.split_once('=')?;
    let body = rest.trim().strip_prefix("LUT3(")?.strip_suffix(')')?;
    let mut parts = body.split(',').map(str::trim);
    let table = u8::from_str_radix(parts.next()?.strip_prefix("0x")?, 16).ok()?;
    let operands = [parts.next()?, parts.next()?, parts.next()?];
    parts.next().is_none().then_some((wire.trim(), Lut3(table), operands))
}

/// The text of a circuit; gates are named `n0`, `n1`, ... in order.
impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wire = |w: Wire| match w.index().checked_sub(self.inputs().len()) {
            None => self.inputs()[w.index()].clone(),
            Some(gate) => format!("n{gate}"),
        };
        writeln!(f, "# {}: {} LUT3", self.name(), self.gates().len())?;
        writeln!(f, "inputs {}", self.inputs().join(" "))?;
        let outputs: Vec<String> = self.outputs().iter().map(|(n, w)| format!("{n}={}", wire(*w))).collect();
        writeln!(f, "outputs {}", outputs.join(" "))?;
        for (i, gate) in self.gates().iter().enumerate() {
            let [a, b, c] = gate.inputs.map(wire);
            writeln!(f, "n{i} = LUT3({:#04x}, {a}, {b}, {c})", gate.table.0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_circuit_parses_to_itself() {
        let text = "inputs a b c\noutputs y=n1\nn0 = LUT3(0x96, a, b, c)\nn1 = LUT3(0x5a, a, n0, n0)\n";
        let circuit = parse("t", text).unwrap();
        let again = parse("t", &circuit.to_string()).unwrap();
        assert_eq!(circuit.gates(), again.gates());
        assert_eq!(circuit.outputs(), again.outputs());
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("n0 = LUT3(0x96, a, a, a)", 1),
            ("inputs a\nn0 = LUT3(0x96, a, b, a)", 2),
            ("inputs a\nn0 = LUT3(96, a, a, a)", 2),
            ("inputs a\noutputs y=n7", 2),
            ("inputs a a", 1),
            ("", 0),
        ] {
            assert_eq!(parse("t", text).unwrap_err().line, line, "{text}");
        }
    }
}
