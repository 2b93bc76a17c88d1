//! The S-box in the gates of Canright's own netlist: 80 XORs, 34 NANDs and 6 NORs, and one XOR more for the inverse.
//!
//! D. Canright, "A Very Compact S-Box for AES", CHES 2005: inversion in GF(((2^2)^2)^2) in normal bases, with the sums
//! that products share, and with a NOR where a product and a sum of two bits come together. The changes of basis are
//! factored without cancellation, as in the paper, which gives its numbers of XORs: 24 for the S-box, 25 for the
//! inverse. Which sums they share is this project's choice.
//!
//! [`CANRIGHT`](super::CANRIGHT) derives a circuit from the same bases, with other gates.

use super::Sbox;
use crate::circuit::{Circuit, straight_line};

/// See the module.
pub static CANRIGHT_NETLIST: Sbox = Sbox {
    name: "canright-netlist",
    source: "Canright, \"A Very Compact S-Box for AES\", CHES 2005: its gates, 80 XOR + 34 NAND + 6 NOR, inverse 81 + 34 + 6",
    forward: || read(PROGRAMS[0]),
    inverse: || read(PROGRAMS[1]),
    in_other_bases: |_| Vec::new(),
};

/// The S-box and its inverse.
const PROGRAMS: [&str; 2] = [include_str!("circuits/canright.rs"), include_str!("circuits/canright_inverse.rs")];

fn read(program: &str) -> Circuit {
    straight_line::parse(CANRIGHT_NETLIST.name, program).expect("a program of this crate")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::Lut3;
    use aes_bitslice_core::aes::Direction;

    /// XORs and XNORs, NANDs, and NORs; there are no others.
    #[test]
    fn the_gates_of_the_paper() {
        for (direction, expected) in [(Direction::Encrypt, [80, 34, 6]), (Direction::Decrypt, [81, 34, 6])] {
            let circuit = CANRIGHT_NETLIST.circuit(direction);
            let count = |tables: &[Lut3]| circuit.gates().iter().filter(|gate| tables.contains(&gate.table)).count();
            let xors = count(&[Lut3::XOR, Lut3::XOR.complement()]);
            assert_eq!([xors, count(&[Lut3::AND.complement()]), count(&[Lut3::OR.complement()])], expected);
            assert_eq!(circuit.gates().len(), expected.iter().sum::<usize>());
        }
    }
}
