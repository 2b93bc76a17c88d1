//! Small nonlinear functions in few LUT3s: a walk by resubstitution over networks represented as full truth tables.
//!
//! A gate matters only for the inputs where flipping it changes an output: its care set. Any three signals that determine it there, and do
//! not depend on it, can replace its operands (Mishchenko, Brayton, Jiang, Jang, "Scalable Don't-Care-Based Logic Optimization and
//! Resynthesis", FPGA 2009). The search finds all such triples, not just some: one of the three must distinguish an input where the gate is
//! on from one where it is off, which leaves few candidates for each. A triple that leaves gates without a reader makes the network
//! smaller; any other is a step on a plateau, accepted as found. Two other steps keep the size: a signal is added to a gate, and its
//! readers subtract it again; a gate and an operand that only it reads are split differently into two gates. Without the first step the
//! linear parts would never change, without the second the borders of linear and nonlinear parts.
//!
//! From time to time a gate is duplicated and its readers are divided between the copies: each copy has a smaller care set, which opens
//! paths that are closed to networks of the best size.

use super::table::{self, Table};
use crate::circuit::{Circuit, Lut3, Wire};
use crate::random::Random;

/// The maximum number of nodes, inputs included: a set of nodes is a `u128`.
const NODES: usize = 128;

/// The number of gates by which a walk may exceed its best network.
const SLACK: usize = 4;

/// Pairs of inputs used to filter candidates: enough that few wrong triples pass.
const SAMPLE: usize = 64;
/// The number of these used to filter second and third operands.
const INNER: usize = 32;

/// A gate's table and its inputs: inputs that do not matter repeat the last one that does.
#[derive(Clone, Copy)]
struct Node {
    table: Lut3,
    inputs: [u8; 3],
}

impl Node {
    fn is_free(&self) -> bool {
        self.inputs[0] == u8::MAX
    }
}

const FREE: Node = Node { table: Lut3::FALSE, inputs: [u8::MAX; 3] };

/// A network of LUT3s of at most eight inputs: nodes are inputs, gates and free places, in any order.
#[derive(Clone)]
pub struct Network {
    inputs: usize,
    nodes: Vec<Node>,
    /// The value of each node for every input of the network.
    values: Vec<Table>,
    /// For every input of the network, the nodes that are on.
    columns: Box<[u128; 256]>,
    /// The gates in topological order.
    order: Vec<u8>,
    /// The gates that read a node.
    readers: Vec<u128>,
    outputs: Vec<u8>,
    is_output: u128,
}

impl Network {
    /// The network of a circuit of at most eight inputs, if it is not too large.
    pub fn new(circuit: &Circuit) -> Option<Self> {
        let inputs = circuit.inputs().len();
        let circuit = circuit.pruned();
        if inputs > 8 || inputs + circuit.gates().len() > NODES {
            return None;
        }
        let number = |w: Wire| w.0 as u8;
        let mut network = Self {
            inputs,
            nodes: vec![FREE; inputs],
            values: (0..inputs).map(table::input).collect(),
            columns: Box::new([0; 256]),
            order: Vec::new(),
            readers: Vec::new(),
            outputs: circuit.outputs().iter().map(|(_, w)| number(*w)).collect(),
            is_output: circuit.outputs().iter().fold(0, |set, (_, w)| set | 1 << w.0),
        };
        for gate in circuit.gates() {
            let inputs = gate.inputs.map(number);
            network.nodes.push(Node { table: gate.table, inputs });
            let [a, b, c] = inputs.map(|i| network.values[i as usize]);
            network.values.push(table::lut(gate.table, a, b, c));
        }
        for (n, value) in network.values.iter().enumerate() {
            table::ones(value).for_each(|x| network.columns[x] |= 1 << n);
        }
        network.rewire();
        Some(network)
    }

    /// The number of gates.
    pub fn gates(&self) -> usize {
        self.order.len()
    }

    /// The network as a circuit, with the names of `like`.
    pub fn circuit(&self, like: &Circuit) -> Circuit {
        let mut circuit = Circuit::new(like.name(), like.inputs());
        let mut wires = vec![Wire(0); self.nodes.len()];
        (0..self.inputs).for_each(|i| wires[i] = circuit.input(i));
        for &n in &self.order {
            let Node { table, inputs } = self.nodes[n as usize];
            wires[n as usize] = circuit.gate(table, inputs.map(|i| wires[i as usize]));
        }
        for ((name, _), n) in like.outputs().iter().zip(&self.outputs) {
            circuit.output(name.clone(), wires[*n as usize]);
        }
        circuit.pruned()
    }

    /// Walks for a number of steps and returns the smallest network on the way, the latest of equals.
    pub(crate) fn walk(self, steps: u64, random: &mut Random) -> Self {
        let mut best = self.clone();
        let mut current = self;
        let mut since = 0u64;
        let mut hold = 0u64;
        for _ in 0..steps {
            since += 1;
            hold = hold.saturating_sub(1);
            match random.below(64) {
                0 if current.gates() < best.gates() + SLACK && random.below(2) == 0 => {
                    current.double(random);
                    hold = 1 << random.below(10);
                }
                1..20 => current.split_otherwise(random),
                20..54 => current.shift(random),
                _ => {
                    let gate = current.order[random.below(current.order.len())];
                    current.resubstitute(gate, hold == 0, random);
                }
            }
            if current.gates() < best.gates() || current.gates() == best.gates() && since > 300 {
                best.clone_from(&current);
                since = 0;
            } else if since > 200_000 {
                current.clone_from(&best);
                since = 0;
            }
        }
        best
    }

    /// Recomputes the data derived from the nodes: readers, and the order of the gates that an output needs; frees the others.
    fn rewire(&mut self) {
        let mut needed = self.is_output;
        let gates = u128::MAX << self.inputs;
        let mut todo = needed & gates;
        while todo != 0 {
            let n = todo.trailing_zeros() as usize;
            todo &= todo - 1;
            for i in self.nodes[n].inputs {
                let bit = 1u128 << i;
                if needed & bit == 0 {
                    needed |= bit;
                    todo |= bit & gates;
                }
            }
        }
        self.readers.clear();
        self.readers.resize(self.nodes.len(), 0);
        let needed_gates = needed & gates;
        for n in self.inputs..self.nodes.len() {
            if needed_gates >> n & 1 == 1 {
                self.nodes[n].inputs.iter().for_each(|&i| self.readers[i as usize] |= 1 << n);
            } else if !self.nodes[n].is_free() {
                self.nodes[n] = FREE;
                table::ones(&self.values[n]).for_each(|x| self.columns[x] &= !(1 << n));
                self.values[n] = table::FALSE;
            }
        }
        // The old order is nearly correct: gates that come too early in it wait for another round.
        let mut waiting = std::mem::take(&mut self.order);
        waiting.retain(|n| needed_gates >> n & 1 == 1);
        let old = waiting.iter().fold(0u128, |set, n| set | 1 << n);
        let mut new = needed_gates & !old;
        while new != 0 {
            waiting.push(new.trailing_zeros() as u8);
            new &= new - 1;
        }
        let mut placed = !gates;
        self.order.reserve(waiting.len());
        while !waiting.is_empty() {
            let before = waiting.len();
            waiting.retain(|&n| {
                let [a, b, c] = self.nodes[n as usize].inputs;
                let is_ready = (placed >> a & placed >> b & placed >> c) & 1 == 1;
                if is_ready {
                    placed |= 1 << n;
                    self.order.push(n);
                }
                !is_ready
            });
            assert!(waiting.len() < before, "a network has no cycle");
        }
    }

    /// The gates that depend on a gate, itself included, and the inputs where flipping it changes an output.
    fn care_set(&self, gate: u8) -> (u128, Table) {
        let mut above = 1u128 << gate;
        let mut flipped = [table::FALSE; NODES];
        flipped[gate as usize] = table::not(&self.values[gate as usize]);
        let mut care = table::FALSE;
        if self.is_output >> gate & 1 == 1 {
            care = table::TRUE;
        }
        let mut reached = self.readers[gate as usize];
        for &n in &self.order {
            if reached >> n & 1 == 0 {
                continue;
            }
            above |= 1 << n;
            reached |= self.readers[n as usize];
            let Node { table, inputs } = self.nodes[n as usize];
            let value = |i: u8| if above >> i & 1 == 1 { flipped[i as usize] } else { self.values[i as usize] };
            let changed = table::lut(table, value(inputs[0]), value(inputs[1]), value(inputs[2]));
            flipped[n as usize] = changed;
            if self.is_output >> n & 1 == 1 {
                care = table::or(&care, &table::xor(&changed, &self.values[n as usize]));
            }
        }
        (above, care)
    }

    /// Gives a gate other operands, chosen at random among those that free the most other gates, or free none if not `greedy`.
    fn resubstitute(&mut self, gate: u8, greedy: bool, random: &mut Random) {
        let (above, care) = self.care_set(gate);
        let on = table::and(&care, &self.values[gate as usize]);
        let off = table::and_not(&care, &self.values[gate as usize]);
        let live = self.order.iter().fold((1u128 << self.inputs) - 1, |set, &n| set | 1 << n);
        // Operands that would be removed with this gate unless it continues to read them.
        let mut freed = 0u128;
        for i in self.nodes[gate as usize].inputs {
            if (i as usize) >= self.inputs && self.readers[i as usize] == 1 << gate && self.is_output >> i & 1 == 0 {
                freed |= 1 << i;
            }
        }
        let mut best: Option<(u32, [u8; 3])> = None;
        let mut equals = 0;
        let mut consider = |operands: [u8; 3], count: usize, random: &mut Random| {
            let set = operands.iter().fold(0u128, |set, &n| set | 1 << n);
            let gain = (freed & !set).count_ones() + u32::from(count <= 1);
            match best {
                _ if gain > 0 && !greedy => {}
                Some((most, _)) if gain < most => {}
                Some((most, _)) if gain == most => {
                    equals += 1;
                    if random.below(equals) == 0 {
                        best = Some((gain, operands));
                    }
                }
                _ => {
                    equals = 1;
                    best = Some((gain, operands));
                }
            }
        };
        if table::is_false(&on) || table::is_false(&off) {
            consider([0; 3], 0, random);
        } else {
            self.triples(&on, &off, live & !above, random, &mut consider);
        }
        let Some((_, operands)) = best else { return };
        self.replace(gate, operands, &on, &off, random);
    }

    /// Finds all sets of one, two or three candidates that distinguish `on` from `off`, neither of which is empty; no set twice and none
    /// with a needless member. A set of fewer than three repeats its last member.
    fn triples(
        &self,
        on: &Table,
        off: &Table,
        candidates: u128,
        random: &mut Random,
        mut found: impl FnMut([u8; 3], usize, &mut Random),
    ) {
        let sample = self.sample(on, off, candidates, random);
        let exact = |a: usize, b: usize, c: usize| {
            let [a, b, c] = [a, b, c].map(|n| &self.values[n]);
            (0..8).all(|i| {
                let minterm = table::minterm(i, a, b, c);
                table::are_disjoint(&minterm, on) || table::are_disjoint(&minterm, off)
            })
        };
        let mut pool = candidates;
        let mut firsts = sample[0] & pool;
        while firsts != 0 {
            let a = firsts.trailing_zeros() as usize;
            firsts &= firsts - 1;
            pool &= !(1u128 << a);
            // The pairs that the first does not distinguish, in halves of 64 nodes, without branches.
            let mut rest = [[u64::MAX; SAMPLE + 1]; 2];
            let mut count = 0;
            for set in sample {
                rest[0][count] = set as u64;
                rest[1][count] = (set >> 64) as u64;
                count += usize::from(set >> a & 1 == 0);
            }
            if count == 0 && exact(a, a, a) {
                found([a as u8; 3], 1, random);
                continue;
            }
            rest[0][count] = u64::MAX;
            rest[1][count] = u64::MAX;
            let rest = rest.each_ref().map(|half| half.first_chunk::<INNER>().expect("no longer than a sample"));
            let mut pool = pool;
            let mut seconds = pool & (u128::from(rest[1][0]) << 64 | u128::from(rest[0][0]));
            while seconds != 0 {
                let b = seconds.trailing_zeros() as usize;
                seconds &= seconds - 1;
                pool &= !(1u128 << b);
                let (own, shift) = (rest[b / 64], b % 64);
                let mut both = [u64::MAX; 2];
                for i in 0..INNER {
                    let told_apart = 0u64.wrapping_sub(own[i] >> shift & 1);
                    both[0] &= rest[0][i] | told_apart;
                    both[1] &= rest[1][i] | told_apart;
                }
                let mut thirds = (u128::from(both[1]) << 64 | u128::from(both[0])) & pool;
                if thirds == pool && exact(a, b, b) {
                    found([a as u8, b as u8, b as u8], 2, random);
                    continue;
                }
                while thirds != 0 {
                    let c = thirds.trailing_zeros() as usize;
                    thirds &= thirds - 1;
                    if exact(a, b, c) {
                        found([a as u8, b as u8, c as u8], 3, random);
                    }
                }
            }
        }
    }

    /// For random pairs of an input in `on` and one in `off`, the nodes that differ between the two, one of which must be an operand: pairs
    /// with the fewest candidates first.
    fn sample(&self, on: &Table, off: &Table, candidates: u128, random: &mut Random) -> [u128; SAMPLE] {
        let list = |of: &Table| {
            let mut list = [0u8; 256];
            let mut count = 0;
            for x in table::ones(of) {
                list[count] = x as u8;
                count += 1;
            }
            (list, count)
        };
        let ((on, on_count), (off, off_count)) = (list(on), list(off));
        let mut sets = std::array::from_fn(|_| {
            let bits = random.next();
            let p = on[((bits >> 32) as usize * on_count) >> 32];
            let q = off[((bits & 0xffff_ffff) as usize * off_count) >> 32];
            self.columns[p as usize] ^ self.columns[q as usize]
        });
        sets.sort_unstable_by_key(|set| (set & candidates).count_ones());
        sets
    }

    /// Gives a gate these operands, with which it is on at `on`, off at `off`, and arbitrary elsewhere.
    fn replace(&mut self, gate: u8, operands: [u8; 3], on: &Table, off: &Table, random: &mut Random) {
        let [a, b, c] = operands.map(|n| self.values[n as usize]);
        let fill = random.next() as u8;
        let mut bits = 0u8;
        for i in 0..8u8 {
            let minterm = table::minterm(i, &a, &b, &c);
            let is_on = !table::is_false(&table::and(&minterm, on));
            let is_off = !table::is_false(&table::and(&minterm, off));
            bits |= u8::from(is_on || !is_off && fill >> i & 1 == 1) << i;
        }
        self.set(gate, Lut3(bits), operands);
    }

    /// Gives a gate a table and operands, and updates all values that depend on it.
    fn set(&mut self, gate: u8, table: Lut3, operands: [u8; 3]) {
        self.nodes[gate as usize] = canonical(table, operands);
        self.update(1 << gate);
        self.bypass(gate);
    }

    /// Recomputes the data derived from gates that have changed.
    fn update(&mut self, changed: u128) {
        self.rewire();
        let mut stale = changed;
        for k in 0..self.order.len() {
            let n = self.order[k];
            if stale >> n & 1 == 0 {
                continue;
            }
            let Node { table, inputs } = self.nodes[n as usize];
            let [a, b, c] = inputs.map(|i| self.values[i as usize]);
            let value = table::lut(table, a, b, c);
            let changed = table::xor(&value, &self.values[n as usize]);
            if !table::is_false(&changed) {
                table::ones(&changed).for_each(|x| self.columns[x] ^= 1 << n);
                self.values[n as usize] = value;
                stale |= self.readers[n as usize];
            }
        }
    }

    /// Splits a gate and an operand that only it reads into two gates in another way: the inner gate gets a different selection of the
    /// signals that the two read.
    fn split_otherwise(&mut self, random: &mut Random) {
        let outer = self.order[random.below(self.order.len())];
        let node = self.nodes[outer as usize];
        let inner = node.inputs[random.below(3)];
        let is_own = self.readers[inner as usize] == 1 << outer && self.is_output >> inner & 1 == 0;
        if (inner as usize) < self.inputs || !is_own {
            return;
        }
        let mut signals = [0u8; 5];
        let mut count = 0;
        for i in self.nodes[inner as usize].inputs.into_iter().chain(node.inputs) {
            if i != inner && !signals[..count].contains(&i) {
                signals[count] = i;
                count += 1;
            }
        }
        if count < 4 {
            return;
        }
        for i in (1..count).rev() {
            signals.swap(i, random.below(i + 1));
        }
        // The first three go to the inner gate; with four signals, one of these also stays outside.
        let apart = [signals[3], signals[if count == 5 { 4 } else { random.below(3) }]];
        let (_, care) = self.care_set(outer);
        let value = &self.values[outer as usize];
        let (on, off) = (table::and(&care, value), table::and_not(&care, value));
        let [a, b, c] = [signals[0], signals[1], signals[2]].map(|n| &self.values[n as usize]);
        let [d, e] = apart.map(|n| &self.values[n as usize]);
        let quarters: [Table; 4] = std::array::from_fn(|i| table::minterm(i as u8 | 4, &table::TRUE, d, e));
        // For each value of the inner gate: where the outer gate must be on and off, one bit for each of the four cases.
        let mut classes = [(0u8, 0u8); 2];
        let mut table = 0u8;
        let first = random.below(2);
        for i in 0..8u8 {
            let minterm = table::minterm(i, a, b, c);
            let (mut ons, mut offs) = (0u8, 0u8);
            for (q, quarter) in quarters.iter().enumerate() {
                let cell = table::and(&minterm, quarter);
                ons |= u8::from(!table::are_disjoint(&cell, &on)) << q;
                offs |= u8::from(!table::are_disjoint(&cell, &off)) << q;
            }
            if ons & offs != 0 {
                return;
            }
            let fits = |class: usize| classes[class].0 & offs == 0 && classes[class].1 & ons == 0;
            let class = match (fits(first), fits(1 - first)) {
                (false, false) => return,
                (true, true) if classes[1 - first] != (0, 0) => random.below(2),
                (true, _) => first,
                (false, true) => 1 - first,
            };
            classes[class].0 |= ons;
            classes[class].1 |= offs;
            table |= (class as u8) << i;
        }
        let fill = random.next() as u8;
        let outer_table = Lut3::from_fn(|inner, d, e| {
            let bit = 2 * u8::from(d) + u8::from(e);
            let (ons, offs) = classes[usize::from(inner)];
            ons >> bit & 1 == 1 || offs >> bit & 1 == 0 && fill >> (bit + 4 * u8::from(inner)) & 1 == 1
        });
        self.nodes[inner as usize] = canonical(Lut3(table), [signals[0], signals[1], signals[2]]);
        self.nodes[outer as usize] = canonical(outer_table, [inner, apart[0], apart[1]]);
        self.update(1 << inner | 1 << outer);
        for n in [inner, outer] {
            if !self.nodes[n as usize].is_free() {
                self.bypass(n);
            }
        }
    }

    /// Removes a gate that only passes on or complements a signal, or is constant, from its readers.
    fn bypass(&mut self, gate: u8) {
        let Node { table, inputs } = self.nodes[gate as usize];
        let single = match table {
            Lut3::BUFFER => Some(false),
            Lut3::NOT => Some(true),
            Lut3::FALSE | Lut3::TRUE => None,
            _ => return,
        };
        let readers = self.readers[gate as usize];
        let mut changed = Vec::new();
        for n in (0..self.nodes.len() as u8).filter(|n| readers >> n & 1 == 1) {
            let node = self.nodes[n as usize];
            let mut table = node.table;
            let mut operands = node.inputs;
            for k in 0..3 {
                if operands[k] != gate {
                    continue;
                }
                let whole = table;
                match single {
                    Some(complement) => {
                        operands[k] = inputs[0];
                        if complement {
                            table = table.complement_input(k);
                        }
                    }
                    None => {
                        let value = self.nodes[gate as usize].table == Lut3::TRUE;
                        table = Lut3::from_fn(|a, b, c| {
                            let mut bits = [a, b, c];
                            bits[k] = value;
                            whole.at(bits[0], bits[1], bits[2])
                        });
                    }
                }
            }
            self.nodes[n as usize] = canonical(table, operands);
            changed.push(n);
        }
        if single == Some(false) && self.is_output >> gate & 1 == 1 {
            self.outputs.iter_mut().filter(|o| **o == gate).for_each(|o| *o = inputs[0]);
            self.is_output = self.outputs.iter().fold(0, |set, o| set | 1 << o);
        }
        self.rewire();
        for n in changed {
            if !self.nodes[n as usize].is_free() {
                self.bypass(n);
            }
        }
    }

    /// Adds another signal to an inner gate, and its readers subtract it again: at no cost where they read it anyway or have a free
    /// operand. One of the gates concerned may need other operands for that.
    fn shift(&mut self, random: &mut Random) {
        let gate = self.order[random.below(self.order.len())];
        let node = self.nodes[gate as usize];
        let readers = self.readers[gate as usize];
        if self.is_output >> gate & 1 == 1 {
            return;
        }
        let reader = nth(readers, random.below(readers.count_ones() as usize));
        let near = if random.below(4) == 0 { node } else { self.nodes[reader] };
        let by = near.inputs[random.below(3)];
        if by == gate {
            return;
        }
        let long = |n: &Node| !n.inputs.contains(&by) && n.inputs[1] != n.inputs[2];
        let changed = readers | 1 << gate;
        let mut far = None;
        let mut rest = changed;
        while rest != 0 {
            let n = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            if long(&self.nodes[n as usize]) {
                if far.is_some() {
                    return;
                }
                far = Some(n);
            }
        }
        if self.above(gate) >> by & 1 == 1 {
            return;
        }
        let mut next = self.clone();
        next.values[gate as usize] = table::xor(&self.values[gate as usize], &self.values[by as usize]);
        table::ones(&self.values[by as usize]).for_each(|x| next.columns[x] ^= 1 << gate);
        let mut rest = changed;
        while rest != 0 {
            let n = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let Node { table, mut inputs } = self.nodes[n];
            if far == Some(n as u8) {
                continue;
            }
            let own = inputs;
            if !inputs.contains(&by) {
                inputs[2] = by;
            }
            let at = |node: u8, bits: [bool; 3]| bits[inputs.iter().position(|&i| i == node).expect("an operand")];
            let table = Lut3::from_fn(|a, b, c| {
                let bits = [a, b, c];
                // Equal operands have equal values.
                let bits: [bool; 3] = inputs.map(|i| at(i, bits));
                let sum = at(by, bits);
                let [a, b, c] = own.map(|o| at(o, bits) ^ (o == gate && sum));
                table.at(a, b, c) ^ (n == gate as usize && sum)
            });
            next.nodes[n] = canonical(table, inputs);
        }
        if let Some(far) = far {
            let (above, care) = self.care_set(far);
            let value = next.values[far as usize];
            let (on, off) = (table::and(&care, &value), table::and_not(&care, &value));
            if table::is_false(&on) || table::is_false(&off) {
                return;
            }
            let live = self.order.iter().fold((1u128 << self.inputs) - 1, |set, &n| set | 1 << n);
            let mut found = None;
            let mut count = 0;
            next.triples(&on, &off, live & !above, random, |operands, _, random| {
                count += 1;
                if random.below(count) == 0 {
                    found = Some(operands);
                }
            });
            let Some(operands) = found else { return };
            next.replace(far, operands, &on, &off, random);
        } else {
            next.rewire();
        }
        for n in (0..self.nodes.len()).filter(|n| changed >> n & 1 == 1) {
            if !next.nodes[n].is_free() {
                next.bypass(n as u8);
            }
        }
        *self = next;
    }

    /// The gates that depend on a gate, itself included.
    fn above(&self, gate: u8) -> u128 {
        let mut above = 1u128 << gate;
        let mut reached = self.readers[gate as usize];
        for &n in &self.order {
            if reached >> n & 1 == 1 {
                above |= 1 << n;
                reached |= self.readers[n as usize];
            }
        }
        above
    }

    /// Duplicates a gate, and divides its readers between the copies.
    fn double(&mut self, random: &mut Random) {
        let gate = self.order[random.below(self.order.len())] as usize;
        let readers = self.readers[gate];
        let free = (self.inputs..self.nodes.len()).find(|&n| self.nodes[n].is_free());
        let uses = readers.count_ones() + u32::from(self.is_output >> gate & 1 == 1);
        if uses < 2 || free.is_none() && self.nodes.len() == NODES {
            return;
        }
        let moved = readers & (u128::from(random.next()) << 64 | u128::from(random.next()));
        if moved == 0 || moved == readers && self.is_output >> gate & 1 == 0 {
            return;
        }
        let copy = free.unwrap_or_else(|| {
            self.nodes.push(FREE);
            self.values.push(table::FALSE);
            self.nodes.len() - 1
        });
        self.nodes[copy] = self.nodes[gate];
        self.values[copy] = self.values[gate];
        for x in table::ones(&self.values[copy]) {
            self.columns[x] |= 1 << copy;
        }
        for n in (0..self.nodes.len()).filter(|n| moved >> n & 1 == 1) {
            self.nodes[n].inputs.iter_mut().filter(|i| **i as usize == gate).for_each(|i| *i = copy as u8);
        }
        self.rewire();
    }
}

/// The position of the `n`th bit that is set.
fn nth(mut set: u128, n: usize) -> usize {
    (0..n).for_each(|_| set &= set - 1);
    set.trailing_zeros() as usize
}

/// The canonical form of a table over three nodes: nodes that matter first, the last of them repeated.
fn canonical(table: Lut3, operands: [u8; 3]) -> Node {
    let mut distinct = [u8::MAX; 3];
    let mut count = 0;
    // Only nodes that still matter when equal operands are merged.
    let value = |n: u8, of: [bool; 3], set: &[u8]| set.iter().position(|&s| s == n).is_some_and(|i| of[i]);
    let mut all = operands;
    all.sort_unstable();
    let mut set = [u8::MAX; 3];
    let mut size = 0;
    for n in all {
        if size == 0 || set[size - 1] != n {
            set[size] = n;
            size += 1;
        }
    }
    let over = |set: &[u8]| {
        Lut3::from_fn(|a, b, c| {
            let at = operands.map(|n| value(n, [a, b, c], set));
            table.at(at[0], at[1], at[2])
        })
    };
    let full = over(&set[..size]);
    for (i, &n) in set[..size].iter().enumerate() {
        if full.depends_on(i) {
            distinct[count] = n;
            count += 1;
        }
    }
    let last = if count == 0 { operands[0] } else { distinct[count - 1] };
    let reduced = over(&distinct[..count]);
    distinct[count..].fill(last);
    Node { table: reduced, inputs: distinct }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sbox::BOYAR_PERALTA;
    use aes_bitslice_core::aes::Direction;

    #[test]
    fn a_walk_keeps_the_function_and_shrinks_it() {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let start = BOYAR_PERALTA.lut3(direction);
            let network = Network::new(&start).unwrap();
            assert_eq!(network.circuit(&start).same_function(&start), Ok(()));
            // Every kind of step by itself, and the data recomputed after it.
            let mut stepped = network.clone();
            let mut random = Random(7);
            for i in 0..3000 {
                let gate = stepped.order[random.below(stepped.order.len())];
                match i % 4 {
                    0 if stepped.gates() < 90 => stepped.double(&mut random),
                    1 => stepped.split_otherwise(&mut random),
                    2 => stepped.shift(&mut random),
                    _ => stepped.resubstitute(gate, i % 3 == 0, &mut random),
                }
                assert_eq!(stepped.circuit(&start).same_function(&start), Ok(()), "step {i}");
                let copy = Network::new(&stepped.circuit(&start)).unwrap();
                assert!(copy.gates() <= stepped.gates());
            }
            let walked = network.walk(20_000, &mut Random(5));
            let circuit = walked.circuit(&start);
            assert_eq!(circuit.same_function(&start), Ok(()));
            assert_eq!(circuit.gates().len(), walked.gates());
            assert!(walked.gates() + 3 < start.gates().len(), "{}", walked.gates());
        }
    }
}
