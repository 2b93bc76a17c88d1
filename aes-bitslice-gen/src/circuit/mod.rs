//! Boolean circuits of 3-input lookup tables: the only representation that everything is checked on and printed from.
//!
//! LUT3 is the native gate of the targets: NVIDIA's `LOP3` and AVX-512's `VPTERNLOG` compute any function of three
//! inputs in one instruction. Two-input netlists are circuits whose tables use only two inputs.
//!
//! | file | idea |
//! |---|---|
//! | `lut` | truth tables |
//! | `eval` | evaluation over any word type |
//! | `stats` | gate counts, depth, live values |
//! | `compare` | equality of two circuits, exhaustive or as GF(2) matrices |
//! | `rewrite` | composition, constants, complements, dead gates |
//! | `schedule` | the order of gates |
//! | `cover` | two-input netlists to LUT3 netlists |
//! | `text` | text with one gate per line |
//! | `straight_line` | programs in Rust expression syntax |

pub mod compare;
pub mod cover;
mod eval;
pub mod lut;
mod rewrite;
mod schedule;
mod stats;
pub mod straight_line;
pub mod text;

pub use eval::Word;
pub use lut::Lut3;
pub use stats::Stats;

use std::collections::HashMap;

/// A value in a circuit: an input or the output of a gate, numbered inputs first, then gates in order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Wire(pub u32);

impl Wire {
    /// The wire's number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One lookup table and the three wires it reads.
///
/// In canonical form: inputs that matter come first and in ascending order; an input that does not matter repeats
/// the last one that does, and the table ignores it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gate {
    /// The function of the three inputs.
    pub table: Lut3,
    /// The wires that the gate reads, each older than the gate itself.
    pub inputs: [Wire; 3],
}

impl Gate {
    /// The number of inputs that the output depends on.
    pub fn arity(&self) -> usize {
        (0..3).filter(|&i| self.table.depends_on(i)).count()
    }

    /// The wires that the output depends on.
    pub fn fanin(&self) -> impl Iterator<Item = Wire> + '_ {
        (0..3).filter(|&i| self.table.depends_on(i)).map(|i| self.inputs[i])
    }

    /// The canonical form of a table over three wires: one spelling per function.
    fn canonical(table: Lut3, wires: [Wire; 3]) -> Self {
        // Restrict to the distinct wires, in ascending order, then drop those that do not matter.
        let mut distinct: Vec<Wire> = wires.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let restricted = |support: &[Wire]| {
            Lut3::from_fn(|a, b, c| {
                let value = |w: Wire| support.iter().position(|&s| s == w).is_some_and(|i| [a, b, c][i]);
                table.at(value(wires[0]), value(wires[1]), value(wires[2]))
            })
        };
        let full = restricted(&distinct);
        let support: Vec<Wire> =
            distinct.iter().enumerate().filter(|&(i, _)| full.depends_on(i)).map(|(_, &w)| w).collect();
        let last = support.last().copied().unwrap_or(wires[0]);
        let input = |i: usize| support.get(i).copied().unwrap_or(last);
        Self { table: restricted(&support), inputs: [input(0), input(1), input(2)] }
    }
}

/// An append-only, hash-consed list of gates in topological order, with named inputs and outputs.
#[derive(Clone, Debug)]
pub struct Circuit {
    name: String,
    inputs: Vec<String>,
    gates: Vec<Gate>,
    outputs: Vec<(String, Wire)>,
    known: HashMap<Gate, Wire>,
}

impl Circuit {
    /// An empty circuit with the given inputs.
    ///
    /// # Panics
    /// If there is no input.
    pub fn new(name: impl Into<String>, inputs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let inputs: Vec<String> = inputs.into_iter().map(Into::into).collect();
        assert!(!inputs.is_empty(), "a circuit has at least one input");
        Self { name: name.into(), inputs, gates: Vec::new(), outputs: Vec::new(), known: HashMap::new() }
    }

    /// The circuit's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This circuit under another name.
    pub fn renamed(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The names of the inputs, in order.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The gates, each after everything it reads.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// The outputs, in order: name and wire.
    pub fn outputs(&self) -> &[(String, Wire)] {
        &self.outputs
    }

    /// The wire of input `i`.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn input(&self, i: usize) -> Wire {
        assert!(i < self.inputs.len(), "circuit {} has no input {i}", self.name);
        Wire(i as u32)
    }

    /// The gate that drives a wire, or `None` for an input.
    pub fn driver(&self, wire: Wire) -> Option<&Gate> {
        wire.index().checked_sub(self.inputs.len()).map(|i| &self.gates[i])
    }

    /// The wire of gate `i`.
    pub fn gate_wire(&self, i: usize) -> Wire {
        Wire((self.inputs.len() + i) as u32)
    }

    /// Adds a lookup table over three wires, or finds an existing equal one.
    ///
    /// Constants and complements among the operands are folded into the table, so that a key bit known at generation
    /// time costs nothing. For a table that only passes a wire through, returns that wire.
    pub fn gate(&mut self, table: Lut3, wires: [Wire; 3]) -> Wire {
        let (mut table, mut wires) = (table, wires);
        for i in 0..3 {
            match self.driver(wires[i]).copied() {
                Some(Gate { table: Lut3::NOT, inputs }) => {
                    table = table.complement_input(i);
                    wires[i] = inputs[0];
                }
                Some(Gate { table: constant @ (Lut3::FALSE | Lut3::TRUE), .. }) => {
                    let value = constant == Lut3::TRUE;
                    let whole = table;
                    table = Lut3::from_fn(|a, b, c| {
                        let mut bits = [a, b, c];
                        bits[i] = value;
                        whole.at(bits[0], bits[1], bits[2])
                    });
                }
                _ => {}
            }
        }
        let gate = Gate::canonical(table, wires);
        if gate.table == Lut3::BUFFER {
            return gate.inputs[0];
        }
        self.append(gate)
    }

    /// Adds a gate exactly as given, or shares an equal one; used where a netlist must keep its own form.
    fn append(&mut self, gate: Gate) -> Wire {
        let next = self.gate_wire(self.gates.len());
        assert!(gate.inputs.iter().all(|w| *w < next), "a gate reads only what comes before it");
        *self.known.entry(gate).or_insert_with(|| {
            self.gates.push(gate);
            next
        })
    }

    /// A two-input function: the table may only depend on its first two inputs.
    pub fn gate2(&mut self, table: Lut3, a: Wire, b: Wire) -> Wire {
        self.gate(table, [a, b, b])
    }

    /// Exclusive or of two wires.
    pub fn xor(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate2(Lut3::XOR, a, b)
    }

    /// And of two wires.
    pub fn and(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate2(Lut3::AND, a, b)
    }

    /// Or of two wires.
    pub fn or(&mut self, a: Wire, b: Wire) -> Wire {
        self.gate2(Lut3::OR, a, b)
    }

    /// The complement of a wire.
    pub fn not(&mut self, a: Wire) -> Wire {
        self.gate2(Lut3::NOT, a, a)
    }

    /// A constant.
    pub fn constant(&mut self, value: bool) -> Wire {
        self.gate(if value { Lut3::TRUE } else { Lut3::FALSE }, [Wire(0); 3])
    }

    /// Names a wire as the next output.
    pub fn output(&mut self, name: impl Into<String>, wire: Wire) {
        assert!(wire < self.gate_wire(self.gates.len()), "an output names a wire of the circuit");
        self.outputs.push((name.into(), wire));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_share_one_gate() {
        let mut c = Circuit::new("t", ["a", "b", "c"]);
        let (a, b) = (c.input(0), c.input(1));
        let ab = c.xor(a, b);
        assert_eq!(ab, c.xor(b, a));
        assert_eq!(ab, c.gate(Lut3::XOR, [a, b, a]));
        let na = c.not(a);
        let nb = c.not(b);
        assert_eq!(c.xor(na, nb), ab, "complements fold into tables");
        assert_eq!(c.not(na), a);
        assert_eq!(c.xor(a, a), c.constant(false));
        let zero = c.constant(false);
        assert_eq!(c.or(a, zero), a);
    }
}
