//! The S-box in the fewest known LUT3s: netlists found by search over tower-field bases, bases of the state and
//! resubstitution. Between rounds, the state is in a basis other than the standard one, which has its own netlists.

use super::Sbox;
use crate::netlist::Netlist;
use aes_bitslice_core::aes::Direction::{self, Decrypt, Encrypt};

/// See the module.
pub static LUT3: Sbox = Sbox {
    name: "lut3",
    source: "netlists of LUT3s found by search: tower-field circuits of many bases, resubstitution",
    forward: || read(STANDARD[0]).circuit,
    inverse: || read(STANDARD[1]).circuit,
    in_other_bases: |direction| OTHER.iter().filter(|(d, _)| *d == direction).map(|(_, text)| read(text)).collect(),
};

const STANDARD: [&str; 2] = [include_str!("circuits/forward.lut"), include_str!("circuits/inverse.lut")];

const OTHER: [(Direction, &str); 6] = [
    (Encrypt, include_str!("circuits/forward_q.lut")),
    (Encrypt, include_str!("circuits/forward_to_q.lut")),
    (Encrypt, include_str!("circuits/forward_from_q.lut")),
    (Decrypt, include_str!("circuits/inverse_q.lut")),
    (Decrypt, include_str!("circuits/inverse_to_q.lut")),
    (Decrypt, include_str!("circuits/inverse_from_q.lut")),
];

/// Every netlist.
#[cfg(feature = "search")]
pub(crate) fn netlists() -> impl Iterator<Item = Netlist> {
    STANDARD.into_iter().chain(OTHER.map(|(_, text)| text)).map(read)
}

fn read(text: &str) -> Netlist {
    Netlist::parse(LUT3.name, text).expect("a netlist of this crate")
}
