//! Builds circuits from circuits: composition, constants, complements, dead gates.

use super::{Circuit, Gate, Lut3, Wire};

impl Circuit {
    /// Copies another circuit's gates into this one, its inputs bound to `args`; returns the wires of its outputs.
    ///
    /// If inputs are bound to constants or complements, the copy shrinks accordingly.
    ///
    /// # Panics
    /// If the number of arguments is not the other circuit's number of inputs.
    pub fn include(&mut self, other: &Circuit, args: &[Wire]) -> Vec<Wire> {
        assert_eq!(args.len(), other.inputs().len(), "arguments of circuit {}", other.name());
        let mut wires = args.to_vec();
        for gate in other.gates() {
            let inputs = gate.inputs.map(|w| wires[w.index()]);
            wires.push(self.gate(gate.table, inputs));
        }
        other.outputs().iter().map(|(_, w)| wires[w.index()]).collect()
    }

    /// The circuit without gates that no output needs.
    pub fn pruned(&self) -> Circuit {
        let first = self.inputs.len();
        let mut needed = vec![false; first + self.gates.len()];
        for (_, w) in &self.outputs {
            needed[w.index()] = true;
        }
        for (i, gate) in self.gates.iter().enumerate().rev() {
            if needed[first + i] {
                gate.fanin().for_each(|w| needed[w.index()] = true);
            }
        }
        let mut out = Circuit::new(self.name.clone(), self.inputs.clone());
        let mut wires: Vec<Wire> = (0..first as u32).map(Wire).collect();
        for (i, gate) in self.gates.iter().enumerate() {
            // A dead gate's number is never read again.
            wires.push(if needed[first + i] {
                out.append(Gate { table: gate.table, inputs: gate.inputs.map(|w| wires[w.index()]) })
            } else {
                Wire(0)
            });
        }
        for (name, w) in &self.outputs {
            out.output(name.clone(), wires[w.index()]);
        }
        out
    }

    /// This circuit for inputs that arrive complemented and outputs wanted complemented, without extra gates wherever possible: complements
    /// move into the tables of the gates that drive or read a wire.
    ///
    /// An extra gate is needed only where an output is an input, or where one gate drives both a plain and a
    /// complemented output.
    pub fn complemented(&self, inputs: impl Fn(usize) -> bool, outputs: impl Fn(usize) -> bool) -> Circuit {
        let first = self.inputs.len();
        let mut out = Circuit::new(self.name.clone(), self.inputs.clone());
        // flip[w]: the copy of wire w carries its complement.
        let mut flip: Vec<bool> = (0..first).map(&inputs).collect();
        let mut wires: Vec<Wire> = (0..first as u32).map(Wire).collect();
        let mut wanted = vec![None; first + self.gates.len()];
        for (i, (_, w)) in self.outputs.iter().enumerate() {
            wanted[w.index()].get_or_insert(outputs(i));
        }
        for (i, gate) in self.gates.iter().enumerate() {
            let mut table = gate.table;
            for (k, w) in gate.inputs.iter().enumerate() {
                if flip[w.index()] {
                    table = table.complement_input(k);
                }
            }
            let complement = wanted[first + i].unwrap_or(false);
            let table = if complement { table.complement() } else { table };
            flip.push(complement);
            wires.push(out.append(Gate { table, inputs: gate.inputs.map(|w| wires[w.index()]) }));
        }
        for (i, (name, w)) in self.outputs.iter().enumerate() {
            let carried = wires[w.index()];
            let wire = if flip[w.index()] == outputs(i) { carried } else { out.not(carried) };
            out.output(name.clone(), wire);
        }
        out
    }

    /// The circuit with some inputs replaced by constants; the other inputs keep their names and order.
    ///
    /// # Panics
    /// If every input is fixed.
    pub fn with_constants(&self, value: impl Fn(usize) -> Option<bool>) -> Circuit {
        let free: Vec<usize> = (0..self.inputs.len()).filter(|&i| value(i).is_none()).collect();
        let mut out = Circuit::new(self.name.clone(), free.iter().map(|&i| self.inputs[i].clone()));
        let args: Vec<Wire> = (0..self.inputs.len())
            .map(|i| match value(i) {
                Some(constant) => out.constant(constant),
                None => out.input(free.binary_search(&i).expect("a free input")),
            })
            .collect();
        let wires = out.include(self, &args);
        for ((name, _), w) in self.outputs.iter().zip(wires) {
            out.output(name.clone(), w);
        }
        out.pruned()
    }

    /// The circuit with the output of gate `i` complemented: a fault that checks must catch.
    pub fn with_fault(&self, i: usize) -> Circuit {
        let mut out = self.clone();
        out.gates[i].table = out.gates[i].table.complement();
        out.known.clear();
        out
    }

    /// Exclusive or of any number of wires, three at a time.
    pub fn xor_all(&mut self, wires: &[Wire]) -> Wire {
        self.reduce(Lut3::XOR3, Lut3::XOR, wires)
    }

    /// Or of any number of wires, three at a time.
    pub fn or_all(&mut self, wires: &[Wire]) -> Wire {
        self.reduce(Lut3::OR3, Lut3::OR, wires)
    }

    /// A tree of an associative operator, false for no wires.
    fn reduce(&mut self, three: Lut3, two: Lut3, wires: &[Wire]) -> Wire {
        let mut level = wires.to_vec();
        while level.len() > 1 {
            level = level
                .chunks(3)
                .map(|group| match *group {
                    [a] => a,
                    [a, b] => self.gate2(two, a, b),
                    _ => self.gate(three, [group[0], group[1], group[2]]),
                })
                .collect();
        }
        level.first().copied().unwrap_or_else(|| self.constant(false))
    }
}
