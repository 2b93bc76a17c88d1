//! Equality of two circuits: exhaustively up to 16 inputs, as GF(2) matrices when both are linear.

use super::Circuit;
use std::fmt;

/// An affine map over GF(2): output `i` is the parity of `rows[i] & x`, complemented where bit `i` of `constant` is set.
#[derive(Clone, PartialEq, Eq)]
pub struct Affine {
    /// One row per output, bit `k` for input `k`; at most 128 inputs.
    pub rows: Vec<u128>,
    /// The outputs for an all-zero input.
    pub constant: Vec<bool>,
}

impl fmt::Debug for Affine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (row, constant) in self.rows.iter().zip(&self.constant) {
            writeln!(f, "{row:#x} ^ {}", *constant as u8)?;
        }
        Ok(())
    }
}

/// The reason why two circuits are not known to be equal.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// They have different numbers of inputs or outputs.
    #[error("{left:?} inputs and outputs against {right:?}")]
    Shape {
        /// Inputs and outputs of the first circuit.
        left: (usize, usize),
        /// Inputs and outputs of the second circuit.
        right: (usize, usize),
    },
    /// They differ in an output.
    #[error("output {output} differs, for example at input {input:#x}")]
    Output {
        /// The output's index.
        output: usize,
        /// An input for which it differs, input `k` in bit `k`.
        input: u128,
    },
    /// There are too many inputs to try all, and not both circuits are linear.
    #[error("more than 16 inputs, and not both linear")]
    TooLarge,
}

impl Circuit {
    /// The circuit as an affine map, if every gate is affine and there are at most 128 inputs.
    pub fn as_affine(&self) -> Option<Affine> {
        let n = self.inputs().len();
        if n > 128 {
            return None;
        }
        let mut forms: Vec<(u128, bool)> = (0..n).map(|i| (1 << i, false)).collect();
        for gate in self.gates() {
            let t = gate.table;
            let constant = t.at(false, false, false);
            let slopes =
                [t.at(true, false, false), t.at(false, true, false), t.at(false, false, true)].map(|v| v ^ constant);
            let affine = super::Lut3::from_fn(|a, b, c| constant ^ (a & slopes[0]) ^ (b & slopes[1]) ^ (c & slopes[2]));
            if affine != t {
                return None;
            }
            let mut form = (0, constant);
            for (w, _) in gate.inputs.iter().zip(slopes).filter(|(_, slope)| *slope) {
                form.0 ^= forms[w.index()].0;
                form.1 ^= forms[w.index()].1;
            }
            forms.push(form);
        }
        let (rows, constant) = self.outputs().iter().map(|(_, w)| forms[w.index()]).unzip();
        Some(Affine { rows, constant })
    }

    /// Checks that two circuits compute the same function of their inputs in order; names do not matter.
    pub fn same_function(&self, other: &Circuit) -> Result<(), Difference> {
        let shape = |c: &Circuit| (c.inputs().len(), c.outputs().len());
        if shape(self) != shape(other) {
            return Err(Difference::Shape { left: shape(self), right: shape(other) });
        }
        let n = self.inputs().len();
        if n <= 16 {
            return self.same_exhaustively(other);
        }
        match (self.as_affine(), other.as_affine()) {
            (Some(a), Some(b)) => {
                for output in 0..a.rows.len() {
                    if a.constant[output] != b.constant[output] {
                        return Err(Difference::Output { output, input: 0 });
                    }
                    let differs = a.rows[output] ^ b.rows[output];
                    if differs != 0 {
                        return Err(Difference::Output { output, input: 1 << differs.trailing_zeros() });
                    }
                }
                Ok(())
            }
            _ => Err(Difference::TooLarge),
        }
    }

    fn same_exhaustively(&self, other: &Circuit) -> Result<(), Difference> {
        let n = self.inputs().len();
        // 64 inputs per word: the low six input bits count within the word, the others from word to word.
        const LOW: [u64; 6] = [
            0xaaaa_aaaa_aaaa_aaaa,
            0xcccc_cccc_cccc_cccc,
            0xf0f0_f0f0_f0f0_f0f0,
            0xff00_ff00_ff00_ff00,
            0xffff_0000_ffff_0000,
            0xffff_ffff_0000_0000,
        ];
        for high in 0..1usize << n.saturating_sub(6) {
            let words: Vec<u64> =
                (0..n).map(|i| if i < 6 { LOW[i] } else { 0u64.wrapping_sub((high >> (i - 6) & 1) as u64) }).collect();
            let (left, right) = (self.evaluate(&words), other.evaluate(&words));
            for (output, (l, r)) in left.iter().zip(&right).enumerate() {
                // With fewer than six inputs, values repeat within the word, which changes nothing.
                if l != r {
                    let lane = (l ^ r).trailing_zeros() as u128;
                    let input = ((high as u128) << 6 | lane) & ((1u128 << n) - 1);
                    return Err(Difference::Output { output, input });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parity(n: usize, swap: bool) -> Circuit {
        let mut c = Circuit::new("parity", (0..n).map(|i| format!("x{i}")));
        let mut wires: Vec<_> = (0..n).map(|i| c.input(i)).collect();
        if swap {
            wires.reverse();
        }
        let all = c.xor_all(&wires);
        c.output("y", all);
        c
    }

    #[test]
    fn equal_functions_compare_equal_and_faults_do_not() {
        for n in [1, 2, 5, 6, 7, 16, 40] {
            let (a, b) = (parity(n, false), parity(n, true));
            assert_eq!(a.same_function(&b), Ok(()));
            for i in 0..b.gates().len() {
                assert!(matches!(a.same_function(&b.with_fault(i)), Err(Difference::Output { .. })));
            }
        }
    }
}
