//! Maps netlists to LUT3 netlists: technology mapping by cut enumeration.
//!
//! A cut of a gate is a set of at most three wires that determine its output; the gate can be one LUT3 over them. A
//! cover chooses a cut for every gate that is needed, and costs one LUT3 for each. All cuts are enumerated. The cost of
//! another choice is its exact local area, followed through the gates that only this choice needs (Mishchenko,
//! Chatterjee, Brayton, "Improvements to Technology Mapping for LUT-Based FPGAs", IEEE TCAD 2007). Accepting only
//! improvements gets stuck some LUT3s early, so the choice is annealed. Deterministic: the same circuit gives the same
//! cover on every machine.

use super::{Circuit, Lut3, Wire};
use crate::random::Random;

/// A LUT3 that computes a gate's output; the table ignores repeated wires.
#[derive(Clone)]
struct Cut {
    /// At most three wires, ascending.
    leaves: Vec<Wire>,
    table: Lut3,
}

impl Cut {
    fn of_wire(wire: Wire) -> Self {
        Self { leaves: vec![wire], table: Lut3::BUFFER }
    }

    /// The cut of a gate whose inputs are computed by these cuts, if it has at most three leaves.
    fn merge(table: Lut3, fanin: &[(usize, &Cut)]) -> Option<Self> {
        let mut leaves: Vec<Wire> = fanin.iter().flat_map(|(_, cut)| cut.leaves.iter().copied()).collect();
        leaves.sort_unstable();
        leaves.dedup();
        if leaves.len() > 3 {
            return None;
        }
        let table = Lut3::from_fn(|a, b, c| {
            let mut operands = [false; 3];
            for (position, cut) in fanin {
                let mut at = [false; 3];
                for (value, leaf) in at.iter_mut().zip(&cut.leaves) {
                    *value = [a, b, c][leaves.iter().position(|l| l == leaf).expect("a leaf of the union")];
                }
                operands[*position] = cut.table.at(at[0], at[1], at[2]);
            }
            table.at(operands[0], operands[1], operands[2])
        });
        // A wire that turns out not to matter is not a leaf.
        let support: Vec<usize> = (0..leaves.len()).filter(|&i| table.depends_on(i)).collect();
        let table = Lut3::from_fn(|a, b, c| {
            let mut at = [false; 3];
            support.iter().zip([a, b, c]).for_each(|(&i, value)| at[i] = value);
            table.at(at[0], at[1], at[2])
        });
        Some(Self { leaves: support.iter().map(|&i| leaves[i]).collect(), table })
    }

    fn is_within(&self, other: &Cut) -> bool {
        self.leaves.iter().all(|l| other.leaves.contains(l))
    }
}

/// The cuts of every gate, none contained in another cut of the same gate.
fn cuts(circuit: &Circuit) -> Vec<Vec<Cut>> {
    let first = circuit.inputs().len();
    let mut all: Vec<Vec<Cut>> = Vec::with_capacity(circuit.gates().len());
    for gate in circuit.gates() {
        let positions: Vec<usize> = (0..3).filter(|&i| gate.table.depends_on(i)).collect();
        let choices: Vec<Vec<Cut>> = positions
            .iter()
            .map(|&i| {
                let wire = gate.inputs[i];
                let deeper = wire.index().checked_sub(first).map_or(&[][..], |g| &all[g]);
                std::iter::once(Cut::of_wire(wire)).chain(deeper.iter().cloned()).collect()
            })
            .collect();
        let mut found: Vec<Cut> = Vec::new();
        for n in 0..choices.iter().map(Vec::len).product::<usize>() {
            // One choice for each input: the digits of n.
            let mut rest = n;
            let mut digit = |base: usize| (rest % base, rest /= base).0;
            let fanin: Vec<(usize, &Cut)> =
                positions.iter().zip(&choices).map(|(&p, cuts)| (p, &cuts[digit(cuts.len())])).collect();
            if let Some(cut) = Cut::merge(gate.table, &fanin)
                && !found.iter().any(|f| f.is_within(&cut))
            {
                found.retain(|f| !cut.is_within(f));
                found.push(cut);
            }
        }
        all.push(found);
    }
    all
}

/// A chosen cut for each gate, and the number of reads of each gate under that choice.
struct Cover<'a> {
    first: usize,
    cuts: &'a [Vec<Cut>],
    choice: Vec<usize>,
    readers: Vec<u32>,
    /// LUT3s: gates with a reader.
    area: usize,
}

impl<'a> Cover<'a> {
    fn new(circuit: &Circuit, cuts: &'a [Vec<Cut>]) -> Self {
        let gates = circuit.gates().len();
        let mut cover =
            Self { first: circuit.inputs().len(), cuts, choice: vec![0; gates], readers: vec![0; gates], area: 0 };
        circuit.outputs().iter().for_each(|(_, wire)| cover.read(*wire));
        cover
    }

    fn read(&mut self, wire: Wire) {
        let Some(gate) = wire.index().checked_sub(self.first) else { return };
        self.readers[gate] += 1;
        if self.readers[gate] == 1 {
            self.area += 1;
            self.read_leaves(gate);
        }
    }

    fn release(&mut self, wire: Wire) {
        let Some(gate) = wire.index().checked_sub(self.first) else { return };
        self.readers[gate] -= 1;
        if self.readers[gate] == 0 {
            self.area -= 1;
            self.release_leaves(gate);
        }
    }

    fn read_leaves(&mut self, gate: usize) {
        let cuts = self.cuts;
        cuts[gate][self.choice[gate]].leaves.iter().for_each(|l| self.read(*l));
    }

    fn release_leaves(&mut self, gate: usize) {
        let cuts = self.cuts;
        cuts[gate][self.choice[gate]].leaves.iter().for_each(|l| self.release(*l));
    }

    /// Chooses another cut for a gate that is read.
    fn choose(&mut self, gate: usize, cut: usize) {
        self.release_leaves(gate);
        self.choice[gate] = cut;
        self.read_leaves(gate);
    }

    /// Random changes; one that costs `d` LUT3s is kept with probability 2^(-d k), `k` rising as the cover cools.
    fn anneal(&mut self) {
        let mut random = Random(1);
        let mut best = (self.area, self.choice.clone());
        let gates = self.choice.len();
        for k in 1..=10u32 {
            for _ in 0..400 * gates {
                let gate = random.below(gates);
                if self.readers[gate] == 0 || self.cuts[gate].len() == 1 {
                    continue;
                }
                let (before, area) = (self.choice[gate], self.area);
                self.choose(gate, random.below(self.cuts[gate].len()));
                let worse = (self.area.saturating_sub(area) as u32 * k).min(63);
                if random.next().trailing_zeros() < worse {
                    self.choose(gate, before);
                } else if self.area < best.0 {
                    best = (self.area, self.choice.clone());
                }
            }
        }
        self.choice = best.1;
    }
}

/// An equivalent circuit of few LUT3s, with the same inputs and outputs.
pub fn cover(circuit: &Circuit) -> Circuit {
    let first = circuit.inputs().len();
    let cuts = cuts(circuit);
    let mut cover = Cover::new(circuit, &cuts);
    if !cuts.is_empty() {
        cover.anneal();
    }
    let mut out = Circuit::new(circuit.name(), circuit.inputs());
    // Tables that nothing reads are pruned at the end.
    let mut wires: Vec<Wire> = (0..first).map(|i| out.input(i)).collect();
    for (cuts, &choice) in cuts.iter().zip(&cover.choice) {
        let Cut { leaves, table } = &cuts[choice];
        let leaf = |i: usize| leaves.get(i).map_or(Wire(0), |l| wires[l.index()]);
        let operands = [leaf(0), leaf(1), leaf(2)];
        wires.push(out.gate(*table, operands));
    }
    for (name, wire) in circuit.outputs() {
        out.output(name.clone(), wires[wire.index()]);
    }
    out.pruned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tree_of_two_input_gates_becomes_half_as_many_lut3s() {
        let mut c = Circuit::new("parity", (0..9).map(|i| format!("x{i}")));
        let sum = (1..9).fold(c.input(0), |sum, i| {
            let x = c.input(i);
            c.xor(sum, x)
        });
        c.output("y", sum);
        let covered = cover(&c);
        assert_eq!((c.gates().len(), covered.gates().len()), (8, 4));
        assert_eq!(c.same_function(&covered), Ok(()));
    }

    proptest! {
        /// Any netlist of LUT3s, constants and complements included; outputs may be inputs or share a wire.
        #[test]
        fn a_cover_computes_the_same_and_is_no_larger(
            gates in prop::collection::vec((any::<u8>(), any::<[u16; 3]>()), 0..40),
            outputs in prop::collection::vec(any::<u16>(), 1..6),
        ) {
            let mut c = Circuit::new("random", ["a", "b", "c", "d", "e"]);
            let mut wires: Vec<Wire> = (0..5).map(|i| c.input(i)).collect();
            for (table, operands) in gates {
                let wire = c.gate(Lut3(table), operands.map(|o| wires[o as usize % wires.len()]));
                wires.push(wire);
            }
            for (i, o) in outputs.iter().enumerate() {
                c.output(format!("y{i}"), wires[*o as usize % wires.len()]);
            }
            let covered = cover(&c);
            prop_assert_eq!(c.same_function(&covered), Ok(()));
            prop_assert!(covered.gates().len() <= c.pruned().gates().len());
        }
    }
}
