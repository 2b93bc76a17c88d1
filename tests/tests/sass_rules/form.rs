//! The forms in which instructions occur in a listing: opcode, modifiers, predicate, signs and numbers. Only which registers are named does
//! not matter.

use aes_bitslice_analysis::sass::{Instruction, Operand, PREDICATES, UNIFORM, UNIFORM_PREDICATES};
use std::collections::BTreeSet;

/// A form, by its first instruction.
#[derive(Clone)]
pub struct Form {
    /// The instruction with `#` in place of the numbers of registers.
    pub name: String,
    pub instruction: Instruction,
    /// As the compiler has encoded it.
    pub word: u128,
}

impl Form {
    pub fn new(instruction: Instruction, word: u128) -> Self {
        Self { name: name(&instruction.text), instruction, word }
    }

    pub fn opcode(&self) -> String {
        self.instruction.opcode.join(".")
    }

    /// Registers and predicates that it may read or write: those that it names and, as values may have up to four words, three more; of
    /// uniform ones one more. `registers` is how many a thread has.
    pub fn places(&self, registers: usize) -> BTreeSet<usize> {
        let mut places = BTreeSet::new();
        let guard = self.instruction.guard.map(|(predicate, _)| Operand::Predicate(predicate));
        for operand in guard.iter().chain(&self.instruction.operands) {
            add(operand, registers, &mut places);
        }
        if self.opcode() == "P2R" {
            places.extend(PREDICATES..PREDICATES + 7);
        }
        places
    }

    /// The registers in the brackets of an operand in memory or in the constant bank, without the descriptor, and the number there.
    pub fn terms(&self) -> (Vec<usize>, u64) {
        let (mut registers, mut offset) = (vec![], 0);
        for term in self.address().unwrap_or_default().iter().skip(usize::from(self.is_of_device())) {
            match term {
                Operand::Register { number, .. } => registers.push(*number),
                Operand::Number(number) => offset = *number as u64,
                _ => {}
            }
        }
        (registers, offset)
    }

    /// Whether it accesses device memory.
    pub fn is_of_device(&self) -> bool {
        ["LDG", "STG"].contains(&&*self.instruction.opcode[0])
    }

    /// The first of the two uniform registers that hold the descriptor of device memory.
    pub fn descriptor(&self) -> Option<usize> {
        match self.address()?.first()? {
            Operand::Register { number, .. } if self.is_of_device() => Some(*number),
            _ => None,
        }
    }

    /// The bytes that it accesses in memory.
    pub fn bytes(&self) -> u64 {
        let size = |part: &String| match &**part {
            "U8" => Some(1),
            "64" => Some(8),
            "128" => Some(16),
            _ => None,
        };
        self.instruction.opcode.iter().find_map(size).unwrap_or(4)
    }

    fn address(&self) -> Option<&[Operand]> {
        self.instruction.operands.iter().find_map(|operand| match operand {
            Operand::Memory(terms) | Operand::Bank { terms, .. } => Some(&terms[..]),
            _ => None,
        })
    }

    /// The numbers among its operands.
    pub fn numbers(&self) -> Vec<u32> {
        let number =
            |operand: &Operand| if let Operand::Number(number) = operand { Some(*number as u32) } else { None };
        self.instruction.operands.iter().filter_map(number).collect()
    }
}

fn add(operand: &Operand, registers: usize, places: &mut BTreeSet<usize>) {
    match operand {
        Operand::Register { number, .. } if *number < UNIFORM => {
            places.extend((*number..number + 4).filter(|number| *number < registers));
        }
        Operand::Register { number, .. } => {
            places.extend((*number..number + 2).filter(|number| *number < UNIFORM + 63))
        }
        Operand::Predicate(number) => _ = places.insert(*number),
        Operand::Memory(terms) | Operand::Bank { terms, .. } => {
            terms.iter().for_each(|term| add(term, registers, places));
        }
        _ => {}
    }
}

/// The name of a form.
pub fn name(text: &str) -> String {
    let mut name = String::new();
    let text = text.replace(".reuse", "");
    let (text, label) = text.split_once(" `(").map_or((&*text, ""), |(text, _)| (text, " `()"));
    for part in text.split_inclusive(|sign: char| !sign.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|sign: char| !sign.is_ascii_alphanumeric());
        let kind = word.trim_end_matches(|sign: char| sign.is_ascii_digit());
        if ["R", "UR", "P", "UP", "B"].contains(&kind) && kind != word {
            name += kind;
            name.push('#');
            name += &part[word.len()..];
        } else {
            name += part;
        }
    }
    name + label
}

/// Whether all threads of a warp have the same value in it.
pub fn is_uniform(place: usize) -> bool {
    (UNIFORM..PREDICATES).contains(&place) || place >= UNIFORM_PREDICATES
}
