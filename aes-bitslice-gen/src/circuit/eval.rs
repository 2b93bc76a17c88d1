//! Evaluation of a circuit, all lanes of a word at once.

use super::{Circuit, Lut3};
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A type with bitwise operators: each bit position is a lane, evaluated independently.
pub trait Word:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The bitwise application of a table to three words, in the order of its inputs.
    fn lut3(table: Lut3, [a, b, c]: [Self; 3]) -> Self {
        let zero = a & !a;
        // Shannon expansion on the first input; each cofactor is a 2-input table whose bits select minterms.
        let cofactor = |table: u8| {
            let minterm = |i: u8, word: Self| if table >> i & 1 == 1 { word } else { zero };
            minterm(0, !b & !c) | minterm(1, !b & c) | minterm(2, b & !c) | minterm(3, b & c)
        };
        (a & cofactor(table.0 >> 4)) | (!a & cofactor(table.0 & 15))
    }
}

impl Word for bool {}
impl Word for u8 {}
impl Word for u32 {}
impl Word for u64 {}
impl Word for u128 {}

impl Circuit {
    /// The output words for the given input words, each in the order of the circuit's names.
    ///
    /// # Panics
    /// If the number of words is not the number of inputs.
    pub fn evaluate<W: Word>(&self, inputs: &[W]) -> Vec<W> {
        let values = self.evaluate_wires(inputs);
        self.outputs().iter().map(|(_, w)| values[w.index()]).collect()
    }

    /// The value of every wire, inputs first.
    pub fn evaluate_wires<W: Word>(&self, inputs: &[W]) -> Vec<W> {
        assert_eq!(inputs.len(), self.inputs().len(), "inputs of circuit {}", self.name());
        let mut values = inputs.to_vec();
        for gate in self.gates() {
            let [a, b, c] = gate.inputs.map(|w| values[w.index()]);
            values.push(gate.table.apply(a, b, c));
        }
        values
    }

    /// The outputs as a byte, output `i` in bit `i`, for an input byte with bit `i` on input `i`.
    ///
    /// # Panics
    /// If the circuit does not have eight inputs and at most eight outputs.
    pub fn evaluate_byte(&self, byte: u8) -> u8 {
        assert!(self.inputs().len() == 8 && self.outputs().len() <= 8, "circuit {} maps bytes to bytes", self.name());
        let inputs: Vec<bool> = (0..8).map(|i| byte >> i & 1 == 1).collect();
        self.evaluate(&inputs).iter().enumerate().fold(0, |y, (i, &bit)| y | (bit as u8) << i)
    }
}
