//! Evaluation of a circuit, all lanes of a word at once.

use super::Circuit;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Anything with bitwise operators: each bit position is a lane, evaluated on its own.
pub trait Word:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
}

impl<T> Word for T where T: Copy + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T> {}

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
    /// If the circuit has not eight inputs and at most eight outputs.
    pub fn evaluate_byte(&self, byte: u8) -> u8 {
        assert!(self.inputs().len() == 8 && self.outputs().len() <= 8, "circuit {} maps bytes to bytes", self.name());
        let inputs: Vec<bool> = (0..8).map(|i| byte >> i & 1 == 1).collect();
        self.evaluate(&inputs).iter().enumerate().fold(0, |y, (i, &bit)| y | (bit as u8) << i)
    }
}
