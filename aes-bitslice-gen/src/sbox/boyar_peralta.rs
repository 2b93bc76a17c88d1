//! The S-box in few two-input gates, as minimised by Boyar, Peralta and Calik.

use super::Sbox;
use crate::circuit::{Circuit, straight_line};
use aes_bitslice_core::aes::sub_word;

/// See the module.
pub static BOYAR_PERALTA: Sbox = Sbox {
    name: "boyar-peralta",
    source: "Boyar, Peralta, \"A New Combinational Logic Minimization Technique with Applications to Cryptology\", \
             SEA 2010: straight-line programs of 113 and 121 gates",
    forward: || read(sub_word::PROGRAM),
    inverse: || read(include_str!("circuits/boyar_peralta_inverse.rs")),
    in_other_bases: |_| Vec::new(),
};

fn read(program: &str) -> Circuit {
    straight_line::parse(BOYAR_PERALTA.name, program).expect("a program of this crate")
}

#[cfg(test)]
mod tests {
    /// The text of the circuit, compiled as the Rust function that it is: `straight_line` must read what it means.
    mod compiled {
        #![allow(clippy::too_many_arguments)]
        use crate::circuit::Word;
        include!("circuits/boyar_peralta_inverse.rs");

        pub fn run(x: u8, direction: aes_bitslice_core::aes::Direction) -> Vec<bool> {
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(|i| x >> i & 1 == 1);
            match direction {
                aes_bitslice_core::aes::Direction::Encrypt => {
                    aes_bitslice_core::aes::sub_word::of_planes([a, b, c, d, e, f, g, h]).to_vec()
                }
                aes_bitslice_core::aes::Direction::Decrypt => inverse_sbox(a, b, c, d, e, f, g, h).to_vec(),
            }
        }
    }

    #[test]
    fn the_programs_mean_the_same_to_rustc() {
        use aes_bitslice_core::aes::Direction::{Decrypt, Encrypt};
        for direction in [Encrypt, Decrypt] {
            let circuit = super::BOYAR_PERALTA.circuit(direction);
            for x in 0..=255u8 {
                let inputs: Vec<bool> = (0..8).map(|i| x >> i & 1 == 1).collect();
                assert_eq!(circuit.evaluate(&inputs), compiled::run(x, direction));
            }
        }
    }
}
