//! Linear layers in few XORs of two or three operands: a walk over straight-line programs on GF(2) vectors.
//!
//! A value is the set of inputs whose sum it is. Two kinds of step change a program and preserve its outputs: a gate takes other operands
//! with the same sum; or an inner gate's value changes by a value d, and d is added to every gate that reads it. Steps that do not make the
//! program larger are accepted as found. From time to time a pair of operands gets its own gate, which opens paths that are closed to
//! programs of the best size.

use crate::circuit::{Circuit, Lut3, Wire};
use crate::random::Random;

/// No operand.
const NONE: u8 = u8::MAX;
/// The maximum number of nodes, inputs included.
const NODES: usize = 254;
/// Slots of the table from values to nodes: a power of two, and sparse.
const SLOTS: usize = 2048;

/// A program of XORs: nodes are inputs, gates and free places, in any order.
#[derive(Clone)]
pub struct Sums {
    inputs: usize,
    /// The inputs whose sum each node is; zero at a free place.
    values: Vec<u64>,
    /// Ascending, padded with `NONE`; all `NONE` for inputs and free places.
    operands: Vec<[u8; 3]>,
    outputs: Vec<u8>,
    /// From values to nodes, by open addressing.
    slots: Box<[u8; SLOTS]>,
    gates: usize,
}

fn slot(value: u64) -> usize {
    (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53) as usize
}

/// The symmetric difference of an operand list and one more operand, if it has at most three.
fn toggled(operands: [u8; 3], with: u8) -> Option<[u8; 3]> {
    let mut out = operands;
    if let Some(at) = operands.iter().position(|&o| o == with) {
        out[at] = NONE;
    } else {
        let free = operands.iter().position(|&o| o == NONE)?;
        out[free] = with;
    }
    out.sort_unstable();
    Some(out)
}

impl Sums {
    /// The program of a circuit, if it is linear, has no constants and at most 64 inputs, and is not too large.
    pub fn new(circuit: &Circuit) -> Option<Self> {
        let inputs = circuit.inputs().len();
        let affine = circuit.as_affine()?;
        if inputs > 64 || inputs + circuit.gates().len() > NODES || affine.constant.contains(&true) {
            return None;
        }
        let mut sums = Self {
            inputs,
            values: (0..inputs).map(|i| 1 << i).collect(),
            operands: vec![[NONE; 3]; inputs],
            outputs: Vec::new(),
            slots: Box::new([NONE; SLOTS]),
            gates: 0,
        };
        // Gates of equal value, complements included, become one.
        let mut nodes: Vec<u8> = (0..inputs as u8).collect();
        sums.index();
        for gate in circuit.gates() {
            let mut operands = [NONE; 3];
            for wire in gate.fanin() {
                operands = toggled(operands, nodes[wire.index()])?;
            }
            let value = operands.iter().filter(|&&o| o != NONE).fold(0, |v, &o| v ^ sums.values[o as usize]);
            let node = match sums.node(value) {
                Some(node) => node,
                None if value == 0 => return None,
                None => {
                    sums.values.push(value);
                    sums.operands.push(operands);
                    sums.gates += 1;
                    let node = (sums.values.len() - 1) as u8;
                    sums.insert(node);
                    node
                }
            };
            nodes.push(node);
        }
        sums.outputs = circuit.outputs().iter().map(|(_, w)| nodes[w.index()]).collect();
        sums.sweep();
        Some(sums)
    }

    /// The number of gates.
    pub fn gates(&self) -> usize {
        self.gates
    }

    /// The program as a circuit, with the names of `like`.
    pub fn circuit(&self, like: &Circuit) -> Circuit {
        let mut circuit = Circuit::new(like.name(), like.inputs());
        let outputs = self.add_to(&mut circuit, |_, _, _| None);
        for ((name, _), wire) in like.outputs().iter().zip(outputs) {
            circuit.output(name.clone(), wire);
        }
        circuit.pruned()
    }

    /// Adds the gates to a circuit, whose first inputs are the program's, and returns the outputs. The gate for a sum of two is the result
    /// of `of_two` for its node and operands, if there is one.
    pub(super) fn add_to(
        &self,
        circuit: &mut Circuit,
        of_two: impl Fn(&mut Circuit, u8, [Wire; 2]) -> Option<Wire>,
    ) -> Vec<Wire> {
        let mut wires: Vec<Wire> = (0..self.inputs).map(|i| circuit.input(i)).collect();
        wires.resize(self.values.len(), Wire(0));
        for node in self.order().expect("a program has no cycle") {
            let operands = self.operands[node as usize];
            let [a, b, c] = operands.map(|o| wires.get(o as usize).copied().unwrap_or(Wire(0)));
            wires[node as usize] = match operands[2] {
                NONE => of_two(circuit, node, [a, b]).unwrap_or_else(|| circuit.xor(a, b)),
                _ => circuit.gate(Lut3::XOR3, [a, b, c]),
            };
        }
        self.outputs.iter().map(|node| wires[*node as usize]).collect()
    }

    /// Whether a gate is a sum of two.
    pub(super) fn has_free_operand(&self, node: u8) -> bool {
        self.operands[node as usize][2] == NONE
    }

    /// For each node, the outputs, at most 32, that change with it. `order` is the order of the gates.
    pub(super) fn reached_outputs(&self, order: &[u8]) -> Vec<u32> {
        let mut reached = vec![0; self.values.len()];
        for (i, &node) in self.outputs.iter().enumerate() {
            reached[node as usize] ^= 1 << i;
        }
        for &node in order.iter().rev() {
            let set = reached[node as usize];
            for &o in self.operands[node as usize].iter().filter(|&&o| o != NONE) {
                reached[o as usize] ^= set;
            }
        }
        reached
    }

    /// Whether two programs with the same inputs and outputs have the same gates.
    pub(super) fn is_same_program(&self, other: &Self) -> bool {
        self.operands == other.operands
    }

    /// Takes a step of any kind, even one that makes the program larger.
    pub(super) fn step(&mut self, random: &mut Random) {
        match random.below(64) {
            0 => self.split(random),
            1..32 => self.resum(random),
            _ => self.shift(random),
        }
    }

    /// Walks for a number of steps and returns the smallest program on the way, the latest of equals.
    pub(crate) fn walk(self, steps: u64, random: &mut Random) -> Self {
        let mut best = self.clone();
        let mut current = self;
        let mut since = 0u64;
        let mut slack = 0;
        for _ in 0..steps {
            since += 1;
            match random.below(64) {
                0 if current.gates < best.gates + slack => current.split(random),
                0..32 => current.resum(random),
                _ => current.shift(random),
            }
            if current.gates <= best.gates && since > 2000 || current.gates < best.gates {
                best.clone_from(&current);
                since = 0;
                slack = random.below(3);
            } else if since > 200_000 {
                current.clone_from(&best);
                since = 0;
                slack = random.below(3);
            }
        }
        best
    }

    fn node(&self, value: u64) -> Option<u8> {
        let mut at = slot(value);
        loop {
            match self.slots[at] {
                NONE => return None,
                node if self.values[node as usize] == value => return Some(node),
                _ => at = (at + 1) % SLOTS,
            }
        }
    }

    fn insert(&mut self, node: u8) {
        let mut at = slot(self.values[node as usize]);
        while self.slots[at] != NONE {
            at = (at + 1) % SLOTS;
        }
        self.slots[at] = node;
    }

    /// Rebuilds the table of values.
    fn index(&mut self) {
        self.slots.fill(NONE);
        for node in 0..self.values.len() {
            if self.values[node] != 0 {
                self.insert(node as u8);
            }
        }
    }

    fn is_gate(&self, node: usize) -> bool {
        self.operands[node][0] != NONE
    }

    /// Whether `node` has `below` as a direct or indirect operand.
    fn reads(&self, node: u8, below: u8) -> bool {
        let mut seen = [0u64; 4];
        let mut stack = [0u8; 256];
        stack[0] = node;
        let mut depth = 1;
        while depth > 0 {
            depth -= 1;
            let at = stack[depth];
            if at == below {
                return true;
            }
            for &o in self.operands[at as usize].iter().filter(|&&o| o != NONE) {
                if seen[o as usize / 64] >> (o % 64) & 1 == 0 {
                    seen[o as usize / 64] |= 1 << (o % 64);
                    stack[depth] = o;
                    depth += 1;
                }
            }
        }
        false
    }

    /// The gates in topological order, if there is one.
    pub(super) fn order(&self) -> Option<Vec<u8>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        fn visit(sums: &Sums, node: u8, marks: &mut [Mark], order: &mut Vec<u8>) -> bool {
            match marks[node as usize] {
                Mark::Done => return true,
                Mark::Open => return false,
                Mark::New => marks[node as usize] = Mark::Open,
            }
            let operands = sums.operands[node as usize];
            let sound = operands.iter().filter(|&&o| o != NONE).all(|&o| visit(sums, o, marks, order));
            marks[node as usize] = Mark::Done;
            if operands[0] != NONE {
                order.push(node);
            }
            sound
        }
        let mut marks = vec![Mark::New; self.values.len()];
        let mut order = Vec::with_capacity(self.gates);
        (0..self.values.len()).all(|n| visit(self, n as u8, &mut marks, &mut order)).then_some(order)
    }

    /// Frees gates that nothing reads.
    fn sweep(&mut self) {
        loop {
            let mut read = [false; 256];
            self.outputs.iter().for_each(|&o| read[o as usize] = true);
            self.operands.iter().flatten().for_each(|&o| read[o as usize] = true);
            let Some(dead) = (self.inputs..self.values.len()).find(|&n| self.is_gate(n) && !read[n]) else { break };
            self.values[dead] = 0;
            self.operands[dead] = [NONE; 3];
            self.gates -= 1;
            self.index();
        }
    }

    fn random_node(&self, random: &mut Random) -> u8 {
        loop {
            let node = random.below(self.values.len());
            if self.values[node] != 0 {
                return node as u8;
            }
        }
    }

    fn random_gate(&self, random: &mut Random) -> u8 {
        loop {
            let node = self.inputs + random.below(self.values.len() - self.inputs);
            if self.is_gate(node) {
                return node as u8;
            }
        }
    }

    /// Two or three nodes with the sum `value`, one of which is `a` and none of which reads `not_above`.
    fn sum_with(&self, value: u64, a: u8, not_above: u8, random: &mut Random) -> Option<[u8; 3]> {
        let n = self.values.len();
        let rest = value ^ self.values[a as usize];
        if a == not_above || rest == 0 || self.reads(a, not_above) {
            return None;
        }
        let start = random.below(n);
        for b in (start..n).chain(0..start) {
            if self.values[b] == 0 || b == a as usize || b == not_above as usize {
                continue;
            }
            let last = rest ^ self.values[b];
            let c = match last {
                0 => NONE,
                _ => match self.node(last) {
                    Some(c) if c != not_above && c != a => c,
                    _ => continue,
                },
            };
            if !self.reads(b as u8, not_above) && (c == NONE || !self.reads(c, not_above)) {
                let mut operands = [a, b as u8, c];
                operands.sort_unstable();
                return Some(operands);
            }
        }
        None
    }

    /// Gives a gate other operands with the same sum.
    fn resum(&mut self, random: &mut Random) {
        let gate = self.random_gate(random);
        let a = self.random_node(random);
        let Some(operands) = self.sum_with(self.values[gate as usize], a, gate, random) else { return };
        if operands != self.operands[gate as usize] {
            self.operands[gate as usize] = operands;
            self.sweep();
        }
    }

    /// Changes an inner gate's value by another value, and adds that to its readers.
    fn shift(&mut self, random: &mut Random) {
        let gate = self.random_gate(random);
        if self.outputs.contains(&gate) {
            return;
        }
        let mut readers = [0u8; 256];
        let mut count = 0;
        for n in self.inputs..self.values.len() {
            if self.operands[n].contains(&gate) {
                readers[count] = n as u8;
                count += 1;
            }
        }
        let readers = &readers[..count];
        // An operand of a reader is most likely to fit.
        let by = match random.below(4) {
            0 => self.random_node(random),
            1 => self.operands[gate as usize][random.below(3)],
            _ => self.operands[readers[random.below(count)] as usize][random.below(3)],
        };
        if by == NONE || by == gate {
            return;
        }
        let long = |operands: &[u8; 3]| operands[2] != NONE && !operands.contains(&by);
        if readers.iter().filter(|&&r| long(&self.operands[r as usize])).count()
            + usize::from(long(&self.operands[gate as usize]))
            > 1
        {
            return;
        }
        let mut next = self.clone();
        let value = self.values[gate as usize] ^ self.values[by as usize];
        let twin = self.node(value);
        next.values[gate as usize] = value;
        let mut too_long = None;
        for &node in readers.iter().chain([&gate]) {
            match toggled(self.operands[node as usize], by) {
                Some(operands) => next.operands[node as usize] = operands,
                None => too_long = Some(node),
            }
        }
        if let Some(twin) = twin {
            // One of the two nodes with equal values is removed.
            let (keep, drop) =
                if (twin as usize) < self.inputs || too_long == Some(gate) { (twin, gate) } else { (gate, twin) };
            if too_long == Some(gate) {
                too_long = None;
            }
            if too_long.is_some() {
                return;
            }
            for operands in &mut next.operands {
                if operands.contains(&drop) {
                    if operands.contains(&keep) {
                        return;
                    }
                    operands.iter_mut().filter(|o| **o == drop).for_each(|o| *o = keep);
                    operands.sort_unstable();
                }
            }
            next.outputs.iter_mut().filter(|o| **o == drop).for_each(|o| *o = keep);
            next.values[drop as usize] = 0;
            next.operands[drop as usize] = [NONE; 3];
            next.gates -= 1;
        }
        next.index();
        if let Some(node) = too_long {
            // A gate cannot have a fourth operand, so try any others with its sum.
            let found = (0..4).find_map(|_| {
                let a = next.random_node(random);
                next.sum_with(next.values[node as usize], a, node, random)
            });
            match found {
                Some(operands) => next.operands[node as usize] = operands,
                None => return,
            }
        }
        if next.operands.iter().any(|o| o[0] != NONE && o[1] == NONE) || next.order().is_none() {
            return;
        }
        next.sweep();
        *self = next;
    }

    /// Gives two of a gate's three operands their own gate.
    fn split(&mut self, random: &mut Random) {
        let gate = self.random_gate(random) as usize;
        let operands = self.operands[gate];
        let free = (self.inputs..self.values.len()).find(|&n| self.values[n] == 0);
        if operands[2] == NONE || free.is_none() && self.values.len() == NODES {
            return;
        }
        let rest = operands[random.below(3)];
        let mut pair = operands;
        pair.iter_mut().filter(|o| **o == rest).for_each(|o| *o = NONE);
        pair.sort_unstable();
        let value = self.values[pair[0] as usize] ^ self.values[pair[1] as usize];
        if self.node(value).is_some() {
            return;
        }
        let node = free.unwrap_or_else(|| {
            self.values.push(0);
            self.operands.push([NONE; 3]);
            self.values.len() - 1
        });
        self.values[node] = value;
        self.operands[node] = pair;
        let mut with = [rest, node as u8, NONE];
        with.sort_unstable();
        self.operands[gate] = with;
        self.gates += 1;
        self.insert(node as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::cover;
    use crate::linear;
    use aes_bitslice_core::aes::Direction;

    #[test]
    fn a_walk_keeps_the_function_and_finds_shared_sums() {
        let [forward, inverse] = [Direction::Encrypt, Direction::Decrypt]
            .map(|direction| cover::cover(&linear::mix_column_from_definition(direction)));
        for start in [linear::followed_by_key(&forward), forward, inverse] {
            let sums = Sums::new(&start).unwrap();
            let before = sums.gates();
            let walked = sums.walk(200_000, &mut Random(3));
            let circuit = walked.circuit(&start);
            assert_eq!(circuit.same_function(&start), Ok(()));
            assert_eq!(circuit.gates().len(), walked.gates());
            assert!(walked.gates() < before * 9 / 10, "{} of {before}", walked.gates());
        }
    }

    #[test]
    fn what_is_not_linear_is_refused() {
        let mut circuit = Circuit::new("and", ["a", "b"]);
        let and = circuit.and(Wire(0), Wire(1));
        circuit.output("y", and);
        assert!(Sums::new(&circuit).is_none());
    }
}
