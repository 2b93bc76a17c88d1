//! S-box circuits by name, each forward and inverse. A new one is a small file with one [`Sbox`], listed in [`ALL`].

mod boyar_peralta;
mod canright;
mod canright_netlist;
pub(crate) mod lut3;

use crate::circuit::{Circuit, Wire, cover};
use crate::linear;
use crate::netlist::Netlist;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

pub use boyar_peralta::BOYAR_PERALTA;
pub use canright::{Bases, CANRIGHT};
pub use canright_netlist::CANRIGHT_NETLIST;
pub use lut3::LUT3;

/// A way to compute the S-box and its inverse.
#[derive(Debug)]
pub struct Sbox {
    /// The name used to select it.
    pub name: &'static str,
    /// Its origin, in one line.
    pub source: &'static str,
    /// Eight inputs and eight outputs, least significant bit first, with any names.
    forward: fn() -> Circuit,
    inverse: fn() -> Circuit,
    /// Its netlists from and to bases other than the standard one.
    in_other_bases: fn(Direction) -> Vec<Netlist>,
}

/// Every S-box.
pub static ALL: &[&Sbox] = &[&CANRIGHT, &CANRIGHT_NETLIST, &BOYAR_PERALTA, &LUT3];

/// There is no S-box of this name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown S-box `{name}`: the known ones are {}", ALL.iter().map(|s| s.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownSbox {
    /// The requested name.
    pub name: String,
}

impl Sbox {
    /// The S-box of this name.
    pub fn named(name: &str) -> Result<&'static Self, UnknownSbox> {
        ALL.iter().copied().find(|s| s.name == name).ok_or_else(|| UnknownSbox { name: name.into() })
    }

    /// The circuit as published or built, mostly of two-input gates: inputs `x0` to `x7`, outputs `y0` to `y7`, least
    /// significant bit first. Decryption takes the inverse S-box.
    pub fn circuit(&self, direction: Direction) -> Circuit {
        let native = match direction {
            Direction::Encrypt => (self.forward)(),
            Direction::Decrypt => (self.inverse)(),
        };
        self.between(direction, &native, [Basis::STANDARD; 2], [Basis::STANDARD; 2])
    }

    /// The S-box for a target whose gate is the LUT3: the circuit covered by LUT3s, if that takes fewer.
    pub fn lut3(&self, direction: Direction) -> Circuit {
        // Covering takes far longer than all other operations on a circuit.
        static KNOWN: Mutex<BTreeMap<(&str, bool), Circuit>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let covered = known.entry((self.name, direction == Direction::Encrypt)).or_insert_with(|| {
            let native = self.circuit(direction);
            let covered = cover::cover(&native);
            if covered.gates().len() < native.gates().len() { covered } else { native }
        });
        covered.clone()
    }

    /// The S-box on bytes that arrive in one basis and leave in another; for the standard basis on both sides, it is
    /// [`Self::lut3`].
    ///
    /// Where no netlist is stored for these bases, changes of basis are put around the standard one: correct, but not
    /// small.
    pub fn lut3_between(&self, direction: Direction, from: Basis, to: Basis) -> Circuit {
        if (from, to) == (Basis::STANDARD, Basis::STANDARD) {
            return self.lut3(direction);
        }
        let stored = (self.in_other_bases)(direction).into_iter().find(|n| (n.from, n.to) == (from, to));
        match stored {
            Some(netlist) => self.between(direction, &netlist.circuit, [from; 2], [to; 2]),
            None => self.between(direction, &self.lut3(direction), [from, Basis::STANDARD], [Basis::STANDARD, to]),
        }
    }

    /// The best basis for the state between rounds with this S-box.
    pub fn basis(&self, direction: Direction) -> Basis {
        let between_rounds = (self.in_other_bases)(direction).into_iter().find(|n| n.from == n.to);
        between_rounds.map_or(Basis::STANDARD, |netlist| netlist.to)
    }

    /// A circuit for this S-box with its name and its names of inputs and outputs; bytes change basis before it and
    /// after it.
    fn between(&self, direction: Direction, inner: &Circuit, before: [Basis; 2], after: [Basis; 2]) -> Circuit {
        let mut name = self.name.to_string();
        if direction == Direction::Decrypt {
            name += ", inverse";
        }
        let (from, to) = (before[0], after[1]);
        if (from, to) != (Basis::STANDARD, Basis::STANDARD) {
            let word = |basis| if basis == Basis::STANDARD { "standard".into() } else { format!("{basis}") };
            name += &format!(", {} to {}", word(from), word(to));
        }
        let mut circuit = Circuit::new(name, (0..8).map(|i| format!("x{i}")));
        let inputs: Vec<Wire> = (0..8).map(|i| circuit.input(i)).collect();
        let inputs = linear::change_basis(&mut circuit, &inputs, before[0], before[1]);
        let outputs = circuit.include(inner, &inputs);
        for (i, wire) in linear::change_basis(&mut circuit, &outputs, after[0], after[1]).into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        circuit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::aes::sbox;

    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    fn computes(circuit: &Circuit, table: &[u8; 256], from: Basis, to: Basis) -> bool {
        (0..=255).all(|x| circuit.evaluate_byte(from.apply(x)) == to.apply(table[x as usize]))
    }

    fn check(circuit: &Circuit, direction: Direction, from: Basis, to: Basis) {
        let table = sbox::table(direction);
        assert!(computes(circuit, table, from, to), "{}", circuit.name());
        for gate in 0..circuit.gates().len() {
            assert!(!computes(&circuit.with_fault(gate), table, from, to), "{}: gate {gate}", circuit.name());
        }
    }

    #[test]
    fn every_circuit_is_the_sbox_and_every_fault_shows() {
        for sbox in ALL {
            for direction in DIRECTIONS {
                for circuit in [sbox.circuit(direction), sbox.lut3(direction)] {
                    check(&circuit, direction, Basis::STANDARD, Basis::STANDARD);
                }
            }
        }
    }

    #[test]
    fn every_circuit_between_bases_is_the_sbox_and_every_fault_shows() {
        // A basis that nothing is stored for.
        let other = Basis::new([3, 2, 4, 8, 16, 32, 65, 128]).unwrap();
        for sbox in ALL {
            for direction in DIRECTIONS {
                let bases = [Basis::STANDARD, sbox.basis(direction), other];
                for (from, to) in bases.iter().flat_map(|&from| bases.map(|to| (from, to))) {
                    check(&sbox.lut3_between(direction, from, to), direction, from, to);
                }
            }
        }
    }

    #[test]
    fn only_netlists_found_by_search_ask_for_a_basis() {
        for sbox in ALL {
            for direction in DIRECTIONS {
                let basis = sbox.basis(direction);
                assert_eq!(basis == Basis::STANDARD, sbox.name != LUT3.name, "{}", sbox.name);
                let stored = (sbox.in_other_bases)(direction);
                let bases: Vec<_> = stored.iter().map(|n| (n.from, n.to)).collect();
                let all = [(basis, basis), (Basis::STANDARD, basis), (basis, Basis::STANDARD)];
                assert!(bases.is_empty() || bases == all, "{bases:?}");
            }
        }
    }

    #[test]
    fn gate_counts() {
        let counts = |sbox: &Sbox| DIRECTIONS.map(|d| (sbox.circuit(d).stats(), sbox.lut3(d).stats().gates()));
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&CANRIGHT);
        assert_eq!((forward.by_arity, inverse.by_arity), ([0, 0, 120, 0], [0, 0, 125, 0]));
        assert!(forward_lut3 <= 80 && inverse_lut3 <= 82, "{forward_lut3} {inverse_lut3}");
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&CANRIGHT_NETLIST);
        assert_eq!((forward.by_arity, inverse.by_arity), ([0, 0, 120, 0], [0, 0, 121, 0]));
        assert!(forward_lut3 <= 80 && inverse_lut3 <= 82, "{forward_lut3} {inverse_lut3}");
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&BOYAR_PERALTA);
        assert_eq!((forward.by_arity, inverse.by_arity), ([0, 0, 113, 0], [0, 0, 121, 0]));
        assert!(forward_lut3 <= 72 && inverse_lut3 <= 78, "{forward_lut3} {inverse_lut3}");
        let [(forward, forward_lut3), (inverse, inverse_lut3)] = counts(&LUT3);
        assert_eq!([forward.gates(), inverse.gates()], [forward_lut3, inverse_lut3]);
        assert!(forward_lut3 <= 60 && inverse_lut3 <= 62, "{forward_lut3} {inverse_lut3}");
        for (direction, most) in [(Direction::Encrypt, [55, 67, 59]), (Direction::Decrypt, [56, 59, 62])] {
            let gates = (LUT3.in_other_bases)(direction).iter().map(Netlist::gates).collect::<Vec<_>>();
            assert!(gates.iter().zip(most).all(|(&gates, most)| gates <= most), "{direction:?}: {gates:?}");
        }
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
