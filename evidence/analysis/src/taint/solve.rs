//! What is known about every register before every instruction, on any path through the program.

use std::collections::{BTreeMap, BTreeSet};

/// How often a block's state may change before whatever still changes is taken as unknown: so every loop ends.
const PATIENCE: usize = 32;

/// A function: instructions by number, and what each does to the registers.
pub trait Code {
    /// What is known about a register.
    type Fact: Copy + PartialEq;

    /// The number of instructions.
    fn len(&self) -> usize;
    /// Where execution may continue after an instruction. Numbers that are not an instruction's are left out.
    fn next(&self, instruction: usize) -> Vec<usize>;
    /// The effect of an instruction. `is_known` says whether this is the last pass, with everything known.
    fn step(&mut self, instruction: usize, registers: &mut [Self::Fact], is_known: bool);
    /// What holds on either of two paths; with `give_up`, as little as is needed to terminate.
    fn join(&self, one: Self::Fact, other: Self::Fact, give_up: bool) -> Self::Fact;
}

/// Goes through the code until nothing changes, then once more with the final state.
pub fn solve<C: Code>(code: &mut C, start: &[C::Fact]) {
    let mut leaders = BTreeSet::from([0]);
    for instruction in 0..code.len() {
        let next = code.next(instruction);
        if next != [instruction + 1] {
            leaders.extend(next.into_iter().chain([instruction + 1]));
        }
    }
    leaders.retain(|&leader| leader < code.len());
    let mut before: BTreeMap<usize, Vec<C::Fact>> = BTreeMap::from([(0, start.to_vec())]);
    let mut changes: BTreeMap<usize, usize> = BTreeMap::new();
    let mut to_do = BTreeSet::from([0]);
    while let Some(leader) = to_do.pop_first() {
        let mut registers = before[&leader].clone();
        let last = block(code, &leaders, leader, &mut registers, false);
        for next in code.next(last) {
            if next >= code.len() {
                continue;
            }
            let changed = match before.get_mut(&next) {
                None => before.insert(next, registers.clone()).is_none(),
                Some(known) => {
                    let times = changes.entry(next).or_default();
                    *times += 1;
                    join(code, known, &registers, *times > PATIENCE)
                }
            };
            if changed {
                to_do.insert(next);
            }
        }
    }
    for (leader, mut registers) in before {
        block(code, &leaders, leader, &mut registers, true);
    }
}

/// Runs a block and returns its last instruction.
fn block<C: Code>(
    code: &mut C,
    leaders: &BTreeSet<usize>,
    leader: usize,
    registers: &mut [C::Fact],
    is_known: bool,
) -> usize {
    let mut instruction = leader;
    loop {
        code.step(instruction, registers, is_known);
        if instruction + 1 >= code.len() || leaders.contains(&(instruction + 1)) {
            return instruction;
        }
        instruction += 1;
    }
}

/// Returns whether anything new came in.
fn join<C: Code>(code: &C, known: &mut [C::Fact], new: &[C::Fact], give_up: bool) -> bool {
    let mut changed = false;
    for (known, &new) in known.iter_mut().zip(new) {
        if *known != new {
            let both = code.join(*known, new, false);
            if both != *known {
                *known = if give_up { code.join(*known, new, true) } else { both };
                changed = true;
            }
        }
    }
    changed
}
