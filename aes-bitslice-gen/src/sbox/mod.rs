//! S-box circuits by name, each forward and inverse. A new one is a small file with one [`Sbox`], listed in [`ALL`].

mod boyar_peralta;
mod canright;
mod lut3;

use crate::aes::Direction;
use crate::circuit::{Circuit, cover};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use boyar_peralta::BOYAR_PERALTA;
pub use canright::{Bases, CANRIGHT};
pub use lut3::LUT3;

/// A way to compute the S-box and its inverse.
#[derive(Debug)]
pub struct Sbox {
    /// The name it is chosen by.
    pub name: &'static str,
    /// Where it comes from, in a line.
    pub source: &'static str,
    /// Eight inputs and eight outputs, least significant bit first, under any names.
    forward: fn() -> Circuit,
    inverse: fn() -> Circuit,
}

/// Every S-box.
pub static ALL: &[&Sbox] = &[&CANRIGHT, &BOYAR_PERALTA, &LUT3];

/// There is no S-box of this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown S-box `{name}`: the known ones are {}", ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownSbox {
    /// The name asked for.
    pub name: String,
}

impl Sbox {
    /// The S-box of this name.
    pub fn named(name: &str) -> Result<&'static Self, UnknownSbox> {
        ALL.iter().copied().find(|s| s.name == name).ok_or_else(|| UnknownSbox { name: name.into() })
    }

    /// The circuit as it was published or built, most often of two-input gates: inputs `x0` to `x7`, outputs `y0` to
    /// `y7`, least significant bit first. Decryption takes the inverse S-box.
    pub fn circuit(&self, direction: Direction) -> Circuit {
        let (native, name) = match direction {
            Direction::Encrypt => ((self.forward)(), self.name.to_string()),
            Direction::Decrypt => ((self.inverse)(), format!("{}, inverse", self.name)),
        };
        let mut circuit = Circuit::new(name, (0..8).map(|i| format!("x{i}")));
        let inputs: Vec<_> = (0..8).map(|i| circuit.input(i)).collect();
        for (i, wire) in circuit.include(&native, &inputs).into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        circuit
    }

    /// The same function for a target whose gate is the LUT3: the circuit covered by LUT3s, if that takes fewer.
    pub fn lut3(&self, direction: Direction) -> Circuit {
        // Covering takes far longer than all else that is done with a circuit.
        static KNOWN: Mutex<BTreeMap<(&str, bool), Circuit>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let covered = known.entry((self.name, direction == Direction::Encrypt)).or_insert_with(|| {
            let native = self.circuit(direction);
            let covered = cover::cover(&native);
            if covered.gates().len() < native.gates().len() { covered } else { native }
        });
        covered.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::sbox;

    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    fn computes(circuit: &Circuit, table: &[u8; 256]) -> bool {
        (0..=255).all(|x| circuit.evaluate_byte(x) == table[x as usize])
    }

    #[test]
    fn every_circuit_is_the_sbox_and_every_fault_shows() {
        for sbox in ALL {
            for direction in DIRECTIONS {
                for circuit in [sbox.circuit(direction), sbox.lut3(direction)] {
                    let table = sbox::table(direction);
                    assert!(computes(&circuit, table), "{}", circuit.name());
                    for gate in 0..circuit.gates().len() {
                        assert!(!computes(&circuit.with_fault(gate), table), "{}: gate {gate}", circuit.name());
                    }
                }
            }
        }
    }

    #[test]
    fn gate_counts() {
        let counts = |sbox: &Sbox| DIRECTIONS.map(|d| (sbox.circuit(d).stats(), sbox.lut3(d).stats().gates()));
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&CANRIGHT);
        assert_eq!((forward.by_arity, inverse.by_arity), ([0, 0, 120, 0], [0, 0, 125, 0]));
        assert!(forward_lut3 <= 80 && inverse_lut3 <= 82, "{forward_lut3} {inverse_lut3}");
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&BOYAR_PERALTA);
        assert_eq!((forward.by_arity, inverse.by_arity), ([0, 0, 113, 0], [0, 0, 121, 0]));
        assert!(forward_lut3 <= 72 && inverse_lut3 <= 78, "{forward_lut3} {inverse_lut3}");
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&LUT3);
        assert_eq!([forward.gates(), forward_lut3, inverse.gates(), inverse_lut3], [61, 61, 62, 62]);
    }

    #[test]
    fn names() {
        for sbox in ALL {
            assert_eq!(Sbox::named(sbox.name).unwrap().name, sbox.name);
        }
        let error = Sbox::named("lut4").unwrap_err().to_string();
        assert!(error.contains("`lut4`") && ALL.iter().all(|s| error.contains(s.name)), "{error}");
    }
}
