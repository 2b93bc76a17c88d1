//! The S-box in few two-input gates, as Boyar, Peralta and Calik minimised it.

use super::Sbox;
use crate::circuit::{Circuit, straight_line};

/// See the module.
pub static BOYAR_PERALTA: Sbox = Sbox {
    name: "boyar-peralta",
    source: "Boyar, Peralta, \"A New Combinational Logic Minimization Technique with Applications to Cryptology\", \
             SEA 2010: straight-line programs of 113 and 121 gates",
    forward: || read(include_str!("circuits/boyar_peralta_forward.rs")),
    inverse: || read(include_str!("circuits/boyar_peralta_inverse.rs")),
};

fn read(program: &str) -> Circuit {
    straight_line::parse(BOYAR_PERALTA.name, program).expect("a program of this crate")
}
