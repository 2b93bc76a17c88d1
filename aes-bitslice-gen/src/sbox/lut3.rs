//! The S-box in the fewest LUT3s at hand: netlists found by search over tower-field bases and resubstitution.

use super::Sbox;
use crate::circuit::{Circuit, text};

/// See the module.
pub static LUT3: Sbox = Sbox {
    name: "lut3",
    source: "netlists of 61 and 62 LUT3s, found by resubstitution in tower-field circuits of many bases",
    forward: || read(include_str!("circuits/sbox_61.lut")),
    inverse: || read(include_str!("circuits/inv_sbox_62.lut")),
};

fn read(netlist: &str) -> Circuit {
    text::parse(LUT3.name, netlist).expect("a netlist of this crate")
}
