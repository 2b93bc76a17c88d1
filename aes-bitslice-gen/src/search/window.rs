//! Exact synthesis: replaces a few neighbouring gates with as few as possible, found by a SAT solver.
//!
//! The function of a window's gates is a table with a row for every combination of input signals that occurs. Whether
//! fewer LUT3s compute the same function is a question of operands, tables and values: for each gate and operand, one
//! variable per signal that it may be; for each gate, eight bits of a table; and for each row, the value of the gate
//! (Kojevnikov, Kulikov, Yaroslavtsev, "Finding Efficient Circuits Using SAT-Solvers", SAT 2009). Rows are added when
//! answers turn out to be wrong for them.

use crate::circuit::{Circuit, Lut3, Wire};
use crate::random::Random;
use rustsat::instances::{BasicVarManager, ManageVars};
use rustsat::solvers::{Solve, SolverResult};
use rustsat::types::{Clause, Lit};
use rustsat_batsat::BasicSolver;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// The maximum number of signals that a window may read.
const LEAVES: usize = 10;

/// The inputs and outputs of a window's gates.
struct Window {
    leaves: Vec<Wire>,
    /// Wires that are read outside the window.
    roots: Vec<Wire>,
    /// Leaf values, leaf `i` in bit `i`, with the values of the roots.
    rows: Vec<(u32, u32)>,
}

/// A LUT3 over signals: leaves first, then the gates before it.
struct Found {
    gates: Vec<(Lut3, [usize; 3])>,
    /// The gate of each root.
    roots: Vec<usize>,
}

/// Tries windows of up to `size` gates at random places; returns a smaller circuit if one of them can do with one gate
/// less. For circuits of at most eight inputs.
pub(super) fn shrink(circuit: &Circuit, size: usize, tries: usize, random: &mut Random) -> Option<Circuit> {
    (0..tries).find_map(|_| {
        let gates = random_window(circuit, 2 + random.below(size - 1), random)?;
        let window = Window::new(circuit, &gates)?;
        let found = window.synthesize(gates.len() - 1, Duration::from_millis(1500))?;
        let smaller = window.replace(circuit, &gates, &found);
        (smaller.gates().len() < circuit.gates().len()).then_some(smaller)
    })
}

/// Some connected gates.
fn random_window(circuit: &Circuit, size: usize, random: &mut Random) -> Option<BTreeSet<usize>> {
    let first = circuit.inputs().len();
    let mut gates = BTreeSet::from([random.below(circuit.gates().len())]);
    while gates.len() < size {
        let below = |&g: &usize| circuit.gates()[g].fanin().filter_map(|w| w.index().checked_sub(first));
        let above = (0..circuit.gates().len()).filter(|g| below(g).any(|b| gates.contains(&b)));
        let near: BTreeSet<usize> = gates.iter().flat_map(below).chain(above).filter(|g| !gates.contains(g)).collect();
        gates.insert(*near.iter().nth(random.below(near.len().max(1)))?);
    }
    Some(gates)
}

impl Window {
    /// The window of these gates; `None` if it reads too many signals, or a signal that depends on it.
    fn new(circuit: &Circuit, gates: &BTreeSet<usize>) -> Option<Self> {
        let inside = |w: Wire| w.index().checked_sub(circuit.inputs().len()).is_some_and(|g| gates.contains(&g));
        let leaves: BTreeSet<Wire> =
            gates.iter().flat_map(|&g| circuit.gates()[g].fanin()).filter(|w| !inside(*w)).collect();
        let mut above = vec![false; circuit.inputs().len() + circuit.gates().len()];
        for (g, gate) in circuit.gates().iter().enumerate() {
            above[circuit.gate_wire(g).index()] = gates.contains(&g) || gate.fanin().any(|w| above[w.index()]);
        }
        if !(3..=LEAVES).contains(&leaves.len()) || leaves.iter().any(|w| above[w.index()]) {
            return None;
        }
        let read_outside = |wire: Wire| {
            circuit.outputs().iter().any(|(_, w)| *w == wire)
                || circuit
                    .gates()
                    .iter()
                    .enumerate()
                    .any(|(g, gate)| !gates.contains(&g) && gate.fanin().any(|w| w == wire))
        };
        let leaves: Vec<Wire> = leaves.into_iter().collect();
        let roots: Vec<Wire> = gates.iter().map(|&g| circuit.gate_wire(g)).filter(|w| read_outside(*w)).collect();
        let mut rows = BTreeSet::new();
        for x in 0..1u32 << circuit.inputs().len() {
            let inputs: Vec<bool> = (0..circuit.inputs().len()).map(|i| x >> i & 1 == 1).collect();
            let values = circuit.evaluate_wires(&inputs);
            let pack = |wires: &[Wire]| wires.iter().rev().fold(0, |bits, w| bits << 1 | u32::from(values[w.index()]));
            rows.insert((pack(&leaves), pack(&roots)));
        }
        Some(Self { leaves, roots, rows: rows.into_iter().collect() })
    }

    /// This number of gates that compute the roots, if they exist and are found in time.
    fn synthesize(&self, count: usize, time: Duration) -> Option<Found> {
        let mut question = Question::new(self.leaves.len(), count, self.roots.len());
        let deadline = Instant::now() + time;
        question.solver.batsat_mut().cb_mut().set_stop(move || Instant::now() >= deadline);
        // Starts with a few rows; each answer that is wrong for a row adds that row.
        let mut next = self.rows.iter().step_by(1 + self.rows.len() / 8).copied().collect::<Vec<_>>();
        loop {
            next.iter().for_each(|row| question.add_row(*row));
            let found = question.answer()?;
            let wrong = self.rows.iter().find(|(leaves, roots)| found.evaluate(*leaves, self.leaves.len()) != *roots);
            match wrong {
                Some(row) => next = vec![*row],
                None => return Some(found),
            }
        }
    }

    /// The circuit with other gates for the window.
    fn replace(&self, circuit: &Circuit, gates: &BTreeSet<usize>, found: &Found) -> Circuit {
        let mut out = Circuit::new(circuit.name(), circuit.inputs());
        let mut wires: HashMap<Wire, Wire> =
            (0..circuit.inputs().len()).map(|i| (circuit.input(i), out.input(i))).collect();
        let mut pending: Vec<usize> = (0..circuit.gates().len()).filter(|g| !gates.contains(g)).collect();
        let mut is_open = true;
        while is_open || !pending.is_empty() {
            if is_open && self.leaves.iter().all(|w| wires.contains_key(w)) {
                let mut signals: Vec<Wire> = self.leaves.iter().map(|w| wires[w]).collect();
                for (table, operands) in &found.gates {
                    signals.push(out.gate(*table, operands.map(|o| signals[o])));
                }
                for (root, gate) in self.roots.iter().zip(&found.roots) {
                    wires.insert(*root, signals[self.leaves.len() + gate]);
                }
                is_open = false;
            }
            pending.retain(|&g| {
                let gate = circuit.gates()[g];
                let is_ready = gate.fanin().all(|w| wires.contains_key(&w));
                if is_ready {
                    let operand = |i: usize| wires.get(&gate.inputs[i]).copied().unwrap_or(Wire(0));
                    wires.insert(circuit.gate_wire(g), out.gate(gate.table, [operand(0), operand(1), operand(2)]));
                }
                !is_ready
            });
        }
        for (name, wire) in circuit.outputs() {
            out.output(name.clone(), wires[wire]);
        }
        out.pruned()
    }
}

impl Found {
    fn evaluate(&self, leaves: u32, count: usize) -> u32 {
        let mut signals: Vec<bool> = (0..count).map(|i| leaves >> i & 1 == 1).collect();
        for (table, [a, b, c]) in &self.gates {
            signals.push(table.at(signals[*a], signals[*b], signals[*c]));
        }
        self.roots.iter().rev().fold(0, |bits, gate| bits << 1 | u32::from(signals[count + gate]))
    }
}

/// The problem given to the solver.
struct Question {
    solver: BasicSolver,
    variables: BasicVarManager,
    leaves: usize,
    /// `operands[gate][k][signal]`: operand `k` of the gate is the signal.
    operands: Vec<[Vec<Lit>; 3]>,
    tables: Vec<[Lit; 8]>,
    /// `roots[root][gate]`: the root is the gate.
    roots: Vec<Vec<Lit>>,
}

impl Question {
    fn new(leaves: usize, gates: usize, roots: usize) -> Self {
        let mut question = Self {
            solver: BasicSolver::default(),
            variables: BasicVarManager::default(),
            leaves,
            operands: Vec::new(),
            tables: Vec::new(),
            roots: Vec::new(),
        };
        for gate in 0..gates {
            let operands = [0; 3].map(|_| question.one_of(leaves + gate));
            // In ascending order.
            for (low, high) in [(0, 1), (1, 2)] {
                for (i, a) in operands[low].iter().enumerate() {
                    operands[high][..=i].iter().for_each(|b| question.clause([!*a, !*b]));
                }
            }
            question.operands.push(operands);
            let table = std::array::from_fn(|_| question.variable());
            question.tables.push(table);
        }
        for _ in 0..roots {
            let root = question.one_of(gates);
            question.roots.push(root);
        }
        question
    }

    fn variable(&mut self) -> Lit {
        self.variables.new_lit()
    }

    fn clause(&mut self, literals: impl IntoIterator<Item = Lit>) {
        let clause: Clause = literals.into_iter().collect();
        self.solver.add_clause(clause).expect("the solver takes clauses");
    }

    /// Variables of which exactly one is true.
    fn one_of(&mut self, count: usize) -> Vec<Lit> {
        let choice: Vec<Lit> = (0..count).map(|_| self.variable()).collect();
        self.clause(choice.iter().copied());
        for (i, &a) in choice.iter().enumerate() {
            choice[..i].iter().for_each(|&b| self.clause([!a, !b]));
        }
        choice
    }

    /// Requires the correct values of the roots for one combination of leaves.
    fn add_row(&mut self, (leaves, roots): (u32, u32)) {
        let of = |literal: Lit, value: bool| if value { literal } else { !literal };
        let mut values: Vec<Lit> = Vec::new();
        for gate in 0..self.operands.len() {
            let operands = [0; 3].map(|_| self.variable());
            for (k, operand) in operands.into_iter().enumerate() {
                for (signal, choice) in self.operands[gate][k].clone().into_iter().enumerate() {
                    match signal.checked_sub(self.leaves) {
                        None => self.clause([!choice, of(operand, leaves >> signal & 1 == 1)]),
                        Some(before) => {
                            self.clause([!choice, !operand, values[before]]);
                            self.clause([!choice, operand, !values[before]]);
                        }
                    }
                }
            }
            let value = self.variable();
            for (i, bit) in self.tables[gate].into_iter().enumerate() {
                let [a, b, c] = std::array::from_fn(|k| of(operands[k], i >> (2 - k) & 1 == 0));
                self.clause([a, b, c, !value, bit]);
                self.clause([a, b, c, value, !bit]);
            }
            values.push(value);
        }
        for (r, root) in self.roots.clone().into_iter().enumerate() {
            for (choice, value) in root.into_iter().zip(&values) {
                self.clause([!choice, of(*value, roots >> r & 1 == 1)]);
            }
        }
    }

    fn answer(&mut self) -> Option<Found> {
        if !matches!(self.solver.solve(), Ok(SolverResult::Sat)) {
            return None;
        }
        let holds = |l: Lit| self.solver.lit_val(l).is_ok_and(|v| v.to_bool_with_def(false));
        let chosen = |choice: &[Lit]| choice.iter().position(|l| holds(*l)).expect("one of them holds");
        let gates = self.operands.iter().zip(&self.tables).map(|(operands, table)| {
            let bits = (0..8).fold(0, |bits, i| bits | u8::from(holds(table[i])) << i);
            (Lut3(bits), operands.each_ref().map(|choice| chosen(choice)))
        });
        Some(Found { gates: gates.collect(), roots: self.roots.iter().map(|r| chosen(r)).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum of five bits, written wastefully.
    fn wasteful() -> Circuit {
        let mut c = Circuit::new("wasteful", (0..5).map(|i| format!("x{i}")));
        let x: Vec<Wire> = (0..5).map(|i| c.input(i)).collect();
        let sum = x[1..].iter().fold(x[0], |sum, &x| c.xor(sum, x));
        c.output("y", sum);
        c
    }

    #[test]
    fn a_window_is_made_with_fewer_gates() {
        let circuit = wasteful();
        let window = Window::new(&circuit, &(0..4).collect()).unwrap();
        assert!(window.synthesize(1, Duration::from_secs(60)).is_none());
        for count in [2, 3] {
            let found = window.synthesize(count, Duration::from_secs(60)).unwrap();
            let replaced = window.replace(&circuit, &(0..4).collect(), &found);
            assert_eq!(replaced.same_function(&circuit), Ok(()));
            assert!(replaced.gates().len() <= count);
        }
        let smaller = shrink(&circuit, 4, 50, &mut Random(1)).unwrap();
        assert_eq!((smaller.gates().len(), smaller.same_function(&circuit)), (3, Ok(())));
    }

    #[test]
    fn a_window_does_not_read_what_depends_on_it() {
        let mut c = Circuit::new("nested", ["a", "b", "c", "d"]);
        let inner = c.and(Wire(0), Wire(1));
        let between = c.or(inner, Wire(2));
        let outer = c.gate(Lut3::XOR3, [inner, between, Wire(3)]);
        c.output("y", outer);
        assert!(Window::new(&c, &BTreeSet::from([0, 2])).is_none());
        assert!(Window::new(&c, &BTreeSet::from([0, 1, 2])).is_some());
    }
}
