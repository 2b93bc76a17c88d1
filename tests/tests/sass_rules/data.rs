//! Operands: any words, and those at which instructions change what they do; within the numbers of which the rules say something.

use crate::form::{Form, is_uniform};
use aes_bitslice_analysis::sass::{Operand, PREDICATES};
use std::collections::BTreeMap;

/// Random numbers (Steele, Lea, Flood: SplitMix, 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    pub fn one_of(&mut self, list: &[u32]) -> u32 {
        list[self.below(list.len() as u64) as usize]
    }

    /// A word, with the numbers in the instruction, and the words before it.
    fn word(&mut self, numbers: &[u32], before: &[u32]) -> u32 {
        const EDGES: [u32; 8] = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, u32::MAX];
        let nearby = |random: &mut Self, list| random.one_of(list).wrapping_add(random.below(3) as u32).wrapping_sub(1);
        match self.below(8) {
            0 => self.one_of(&EDGES),
            1 => self.next() as u32 >> self.below(32),
            2 if !numbers.is_empty() => nearby(self, numbers),
            3 if !before.is_empty() => self.one_of(before),
            4 if !before.is_empty() => nearby(self, before),
            _ => self.next() as u32,
        }
    }
}

/// Values of some places, for each lane of a warp.
pub fn operands(random: &mut Random, form: &Form, places: &[usize]) -> Vec<BTreeMap<usize, u32>> {
    let numbers = form.numbers();
    // A uniform register takes what all threads have. Of several that add to one word, which is first is not known.
    let opcode = &*form.instruction.opcode[0];
    let is_same = |place| is_uniform(place) || opcode == "R2UR";
    let mut lanes = vec![BTreeMap::new(); 32];
    let mut shared = vec![];
    for &place in places.iter().filter(|place| is_same(**place)) {
        let word = any(random, place, &numbers, &shared);
        shared.push(word);
        lanes.iter_mut().for_each(|lane| _ = lane.insert(place, word));
    }
    let one = random.below(32) as usize;
    for (n, lane) in lanes.iter_mut().enumerate() {
        let mut before = shared.clone();
        for &place in places.iter().filter(|place| !is_same(**place)) {
            before.push(any(random, place, &numbers, &before));
            lane.insert(place, before[before.len() - 1]);
        }
        if let ("ATOMS", Some((guard, holds))) = (opcode, form.instruction.guard) {
            lane.insert(guard, u32::from((n == one) == holds));
        }
        limit(form, lane);
    }
    lanes
}

fn any(random: &mut Random, place: usize, numbers: &[u32], before: &[u32]) -> u32 {
    if place >= PREDICATES { random.below(2) as u32 } else { random.word(numbers, before) }
}

/// Makes operands such as the rules state results for: distances of shifts, and numbers with a floating point as in divisions.
fn limit(form: &Form, lane: &mut BTreeMap<usize, u32>) {
    let register = |n: usize| match form.instruction.operands.get(n) {
        Some(Operand::Register { number, .. }) => Some(*number),
        _ => None,
    };
    let (which, within): (_, fn(&Form, u32) -> u32) = match &*form.instruction.opcode[0] {
        "SHF" | "USHF" => (2, |form, word| word & if form.opcode().contains("U64") { 63 } else { 31 }),
        "MUFU" => (1, |_, word| (word.max(1) as f32).to_bits()),
        // Below 2^32, and with bits behind the point.
        "F2I" => (1, |_, word| ((word & 0xffff_ff7f) as f32 / (1 << (word & 15)) as f32).to_bits()),
        _ => return,
    };
    if let Some(word) = register(which).and_then(|number| lane.get_mut(&number)) {
        *word = within(form, *word);
    }
}
