//! Linear layers with a key added on the way: a walk over programs of XORs that minimises gates and key bits without a place.
//!
//! A sum of two operands has a place for a third, a key bit, which then reaches a set of outputs. The number of key bits that the places of
//! a program take is the number of independent sets among their outputs; each other key bit costs a gate after an output. The steps are the
//! same as in [`super::sums`]. A step that costs no more is accepted, other steps occasionally (Metropolis et al., "Equation of State
//! Calculations by Fast Computing Machines", 1953).

use super::sums::Sums;
use crate::circuit::{Circuit, Lut3, Wire};
use crate::random::Random;

/// The number of outputs, and of key bits.
const OUTPUTS: usize = 32;
/// The number of steps without a better program after which a walk returns to the best one.
const PATIENCE: u64 = 1_000_000;

/// A program of XORs without the key, and data derived from it.
#[derive(Clone)]
struct Program {
    sums: Sums,
    /// Nodes that a key bit is added to, each for a different bit.
    places: Vec<u8>,
    /// Outputs that a key bit is added to.
    after: Vec<usize>,
}

impl Program {
    fn new(sums: Sums) -> Self {
        let order = sums.order().expect("a program has no cycle");
        let reached = sums.reached_outputs(&order);
        let mut known = Independent::default();
        let takes = |node: &u8| sums.has_free_operand(*node) && known.add(reached[*node as usize]);
        let places = order.iter().copied().filter(takes).collect();
        let after = (0..OUTPUTS).filter(|&output| known.add(1 << output)).collect();
        Self { sums, places, after }
    }

    fn cost(&self) -> usize {
        self.sums.gates() + self.after.len()
    }

    /// The program as a circuit of the inputs, then the key bits, with the names of `like`.
    fn circuit(&self, like: &Circuit) -> Circuit {
        let mut circuit = Circuit::new(like.name(), like.inputs());
        let inputs = like.inputs().len() - OUTPUTS;
        let key = |circuit: &Circuit, bit: usize| circuit.input(inputs + bit);
        let with_key = |circuit: &mut Circuit, node: u8, [a, b]: [Wire; 2]| {
            let bit = self.places.iter().position(|&place| place == node)?;
            let k = key(circuit, bit);
            Some(circuit.gate(Lut3::XOR3, [a, b, k]))
        };
        let mut outputs = self.sums.add_to(&mut circuit, with_key);
        for (n, &output) in self.after.iter().enumerate() {
            let k = key(&circuit, self.places.len() + n);
            outputs[output] = circuit.xor(outputs[output], k);
        }
        for ((name, _), wire) in like.outputs().iter().zip(outputs) {
            circuit.output(name.clone(), wire);
        }
        circuit.pruned()
    }
}

/// Independent sets of outputs, each with a different highest output.
#[derive(Default)]
struct Independent([u32; OUTPUTS]);

impl Independent {
    /// Adds a set, unless it is a sum of the existing ones.
    fn add(&mut self, mut set: u32) -> bool {
        while set != 0 {
            let highest = set.ilog2() as usize;
            if self.0[highest] == 0 {
                self.0[highest] = set;
                return true;
            }
            set ^= self.0[highest];
        }
        false
    }
}

/// Walks for a number of steps from a linear layer of 32 outputs whose last 32 inputs are key bits, and returns the smallest on the way,
/// the latest of equals; `None` if the layer is too large. The key bits may then reach other sets of outputs, but these still span all
/// outputs.
pub(super) fn walk(start: &Circuit, steps: u64, random: &mut Random) -> Option<Circuit> {
    let inputs = start.inputs().len() - OUTPUTS;
    let keyless = start.with_constants(|i| (i >= inputs).then_some(false));
    let mut current = Program::new(Sums::new(&keyless)?);
    let mut best = current.clone();
    // A step that costs d more is accepted once in 2^(d coldness) times.
    let coldness = 8 + random.below(6) as u32;
    let mut since = 0;
    for _ in 0..steps {
        since += 1;
        let mut sums = current.sums.clone();
        sums.step(random);
        if sums.is_same_program(&current.sums) {
            continue;
        }
        let next = Program::new(sums);
        let dearer = next.cost().saturating_sub(current.cost()) as u32;
        if random.next().trailing_zeros() >= dearer * coldness {
            current = next;
        }
        if current.cost() < best.cost() || current.cost() == best.cost() && since > 2000 {
            best.clone_from(&current);
            since = 0;
        } else if since > PATIENCE {
            current.clone_from(&best);
            since = 0;
        }
    }
    Some(best.circuit(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::target::Target;
    use aes_bitslice_core::aes::Direction;

    #[test]
    fn a_walk_keeps_the_layer_and_places_key_bits() {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let target = Target::placed_key(direction);
            let start = target.key_after();
            assert!(target.is_computed_by(&start));
            let walked = walk(&start, 100_000, &mut Random(3)).unwrap();
            assert!(target.is_computed_by(&walked));
            assert!(walked.gates().len() + 6 < start.gates().len(), "{}", walked.gates().len());
            assert_eq!(walked.inputs(), start.inputs());
        }
    }

    #[test]
    fn sets_are_independent_or_not() {
        let mut sets = Independent::default();
        assert!(sets.add(0b1100) && sets.add(0b0110) && sets.add(1 << 31));
        assert!(!sets.add(0b1010) && !sets.add(0));
        assert!(sets.add(0b1000));
    }
}
