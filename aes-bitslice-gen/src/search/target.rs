//! The target of a search: a layer of a direction between two bases, with its definition, its proof and its file.

use crate::circuit::Circuit;
use crate::linear;
use crate::netlist::Netlist;
use crate::sbox::LUT3;
use aes_bitslice_core::aes::{Direction, sbox as tables};
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::column_basis::ColumnBasis;

/// A layer of a round.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// SubBytes on one byte.
    SubBytes,
    /// MixColumns on one column.
    MixColumns,
    /// MixColumns on one column, and AddRoundKey.
    MixColumnsAddRoundKey,
    /// MixColumns on one column, and AddRoundKey with a round key in any basis of columns.
    MixColumnsPlacedKey,
}

/// A layer in one direction, between bases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Target {
    /// The direction of the cipher.
    pub direction: Direction,
    /// The layer.
    pub layer: Layer,
    /// The basis of the bytes it reads.
    pub from: Basis,
    /// The basis of the bytes it produces.
    pub to: Basis,
}

impl Target {
    /// The target of a stored netlist, if it has one: by its inputs, its bases, and the function it computes.
    pub fn of(netlist: &Netlist) -> Option<Self> {
        let layer = match netlist.circuit.inputs().len() {
            8 => Layer::SubBytes,
            32 => Layer::MixColumns,
            64 => Layer::MixColumnsAddRoundKey,
            _ => return None,
        };
        let layers = [layer, Layer::MixColumnsPlacedKey];
        let mut targets = layers.into_iter().flat_map(|layer| {
            let directions = [Direction::Encrypt, Direction::Decrypt];
            directions.map(|direction| Self { direction, layer, from: netlist.from, to: netlist.to })
        });
        targets.find(|t| t.is_computed_by(&netlist.circuit))
    }

    /// The layers of one direction in the standard basis.
    pub fn standard(direction: Direction) -> [Self; 3] {
        [Layer::SubBytes, Layer::MixColumns, Layer::MixColumnsAddRoundKey].map(|layer| Self {
            direction,
            layer,
            from: Basis::STANDARD,
            to: Basis::STANDARD,
        })
    }

    /// The layers of one direction for a state that is in `basis` between rounds: the S-box between rounds, the S-boxes
    /// of the first and the last round, MixColumns, MixColumns with AddRoundKey.
    pub fn family(direction: Direction, basis: Basis) -> [Self; 5] {
        let target = |layer, from, to| Self { direction, layer, from, to };
        [
            target(Layer::SubBytes, basis, basis),
            target(Layer::SubBytes, Basis::STANDARD, basis),
            target(Layer::SubBytes, basis, Basis::STANDARD),
            target(Layer::MixColumns, basis, basis),
            target(Layer::MixColumnsAddRoundKey, basis, basis),
        ]
    }

    /// MixColumns with a key added on the way, in the generator's basis of bytes between rounds.
    pub fn placed_key(direction: Direction) -> Self {
        let basis = LUT3.basis(direction);
        Self { direction, layer: Layer::MixColumnsPlacedKey, from: basis, to: basis }
    }

    /// MixColumns without a key, followed by a gate for each key bit.
    pub(super) fn key_after(&self) -> Circuit {
        linear::followed_by_key(&linear::mix_column(self.direction, self.to)).renamed(self.title())
    }

    /// A circuit that computes it: the stored one, or one derived from the standard one.
    pub fn stored(&self) -> Circuit {
        match self.layer {
            Layer::SubBytes => LUT3.lut3_between(self.direction, self.from, self.to),
            Layer::MixColumns => linear::mix_column(self.direction, self.to),
            Layer::MixColumnsAddRoundKey => linear::mix_column_with_key(self.direction, self.to),
            Layer::MixColumnsPlacedKey => linear::mix_column_with_placed_key(self.direction, self.to),
        }
        .renamed(self.title())
    }

    /// Whether a circuit computes it: an S-box on all inputs, a linear layer as a matrix.
    pub fn is_computed_by(&self, circuit: &Circuit) -> bool {
        let definition = || linear::mix_column_by_conjugation(self.direction, self.to);
        match self.layer {
            Layer::SubBytes => {
                let table = tables::table(self.direction);
                let shape = (circuit.inputs().len(), circuit.outputs().len());
                shape == (8, 8)
                    && (0..=255).all(|x| circuit.evaluate_byte(self.from.apply(x)) == self.to.apply(table[x as usize]))
            }
            Layer::MixColumns => self.from == self.to && circuit.same_function(&definition()).is_ok(),
            Layer::MixColumnsAddRoundKey => {
                self.from == self.to && circuit.same_function(&linear::followed_by_key(&definition())).is_ok()
            }
            Layer::MixColumnsPlacedKey => {
                let definition = definition().as_affine().expect("a linear layer");
                self.from == self.to
                    && circuit.inputs().len() == 64
                    && circuit.as_affine().is_some_and(|map| {
                        let on_bytes = map.rows.iter().map(|row| row & u128::from(u32::MAX));
                        let on_keys: Result<[u32; 32], _> =
                            map.rows.iter().map(|row| (row >> 32) as u32).collect::<Vec<_>>().try_into();
                        on_bytes.eq(definition.rows)
                            && !map.constant.contains(&true)
                            && on_keys.is_ok_and(|images| ColumnBasis::new(images).is_ok())
                    })
            }
        }
    }

    /// The title of a netlist for it.
    pub fn title(&self) -> &'static str {
        match (self.layer, self.direction) {
            (Layer::SubBytes, Direction::Encrypt) => "S-box",
            (Layer::SubBytes, Direction::Decrypt) => "inverse S-box",
            (Layer::MixColumns, Direction::Encrypt) => "MixColumns",
            (Layer::MixColumns, Direction::Decrypt) => "InvMixColumns",
            (Layer::MixColumnsAddRoundKey, Direction::Encrypt) => "MixColumns, AddRoundKey",
            (Layer::MixColumnsAddRoundKey, Direction::Decrypt) => "InvMixColumns, AddRoundKey",
            (Layer::MixColumnsPlacedKey, Direction::Encrypt) => "MixColumns, AddRoundKey on the way",
            (Layer::MixColumnsPlacedKey, Direction::Decrypt) => "InvMixColumns, AddRoundKey on the way",
        }
    }

    /// The generator's file for it, folder and name, below its `src`.
    pub fn file(&self) -> (&'static str, String) {
        let forward = self.direction == Direction::Encrypt;
        let is_standard = |basis| basis == Basis::STANDARD;
        match self.layer {
            Layer::SubBytes => {
                let suffix = match (is_standard(self.from), is_standard(self.to)) {
                    (true, true) => "",
                    (true, false) => "_to_q",
                    (false, true) => "_from_q",
                    (false, false) => "_q",
                };
                ("sbox/circuits", format!("{}{suffix}.lut", if forward { "forward" } else { "inverse" }))
            }
            layer => {
                let prefix = if forward { "" } else { "inv_" };
                let basis = if is_standard(self.to) { "" } else { "_q" };
                let key = match layer {
                    Layer::MixColumnsAddRoundKey => "_key",
                    Layer::MixColumnsPlacedKey => "_placed_key",
                    _ => "",
                };
                ("linear/circuits", format!("{prefix}mix_columns{basis}{key}.lut"))
            }
        }
    }

    /// A circuit for it from one for the same layer and direction between other bases.
    pub(super) fn rebased(&self, circuit: &Circuit, from: Basis, to: Basis) -> Circuit {
        linear::rebased(circuit, [self.from, from], [to, self.to]).renamed(self.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Target> {
        [Direction::Encrypt, Direction::Decrypt].into_iter().flat_map(|direction| {
            let family = Target::family(direction, LUT3.basis(direction));
            Target::standard(direction).into_iter().chain(family).chain([Target::placed_key(direction)])
        })
    }

    #[test]
    fn every_target_is_known_by_its_netlist_and_has_a_file_of_its_own() {
        let mut files: Vec<_> = all().map(|target| target.file()).collect();
        for target in all() {
            let circuit = target.stored();
            for gate in 0..circuit.gates().len() {
                assert!(!target.is_computed_by(&circuit.with_fault(gate)), "{} {gate}", target.title());
            }
            let netlist = Netlist { circuit, from: target.from, to: target.to, found_by: String::new() };
            assert_eq!(Target::of(&netlist), Some(target));
        }
        files.sort();
        files.dedup();
        assert_eq!(files.len(), all().count());
    }

    #[test]
    fn a_target_takes_netlists_of_other_bases() {
        let basis = Basis::new([3, 2, 4, 8, 16, 32, 65, 128]).unwrap();
        for target in all() {
            for other in Target::family(target.direction, basis).into_iter().filter(|o| o.layer == target.layer) {
                assert!(other.is_computed_by(&other.rebased(&target.stored(), target.from, target.to)));
            }
        }
    }
}
