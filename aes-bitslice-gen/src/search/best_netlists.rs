//! The best netlists so far: one per target, for every basis that is among the best; as text from which to continue.

use super::target::{Layer, Target};
use crate::circuit::Circuit;
use crate::linear;
use crate::netlist::Netlist;
use crate::sbox::{LUT3, lut3};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::basis::Basis;
use std::collections::BTreeMap;

/// The number of bases kept in each direction.
const KEPT: usize = 32;

/// The netlists that a search starts from, and its results.
#[derive(Clone, Debug)]
pub struct BestNetlists {
    netlists: BTreeMap<Target, Netlist>,
}

/// The reason why a search cannot continue from a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BestNetlistsError {
    /// It is not JSON, or not a list of netlists.
    #[error("not a file of this search: {0}")]
    Json(#[from] serde_json::Error),
    /// One of its netlists is invalid.
    #[error("netlist {0}: {1}")]
    Netlist(usize, crate::netlist::NetlistError),
    /// One of its netlists does not compute a layer between its bases.
    #[error("netlist {0} is no layer of AES between the bases it names")]
    Wrong(usize),
}

impl BestNetlists {
    /// The netlists that the generator stores.
    pub fn stored() -> Self {
        let mut best = Self { netlists: BTreeMap::new() };
        for netlist in lut3::netlists().chain(linear::netlists()) {
            let target = Target::of(&netlist).expect("a stored netlist is a layer");
            best.keep(target, netlist.circuit.renamed(target.title()), &netlist.found_by);
        }
        best
    }

    /// Adds the better netlists from a text written by [`Self::to_text`]. Every netlist is proved first; if one fails,
    /// none is added.
    pub fn merge_text(&mut self, text: &str) -> Result<(), BestNetlistsError> {
        let texts: Vec<String> = serde_json::from_str(text)?;
        let mut read = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let netlist = Netlist::parse("", text).map_err(|e| BestNetlistsError::Netlist(i, e))?;
            let target = Target::of(&netlist).ok_or(BestNetlistsError::Wrong(i))?;
            read.push((target, netlist));
        }
        for (target, netlist) in read {
            self.keep(target, netlist.circuit.renamed(target.title()), &netlist.found_by);
        }
        self.forget();
        Ok(())
    }

    /// All netlists, as text.
    pub fn to_text(&self) -> String {
        let texts: Vec<String> = self.netlists.values().map(Netlist::to_string).collect();
        serde_json::to_string_pretty(&texts).expect("strings are JSON")
    }

    /// The netlist of a target.
    pub fn get(&self, target: &Target) -> Option<&Netlist> {
        self.netlists.get(target)
    }

    /// Keeps a circuit that is no larger than the known one for its target. Returns whether it is smaller.
    pub fn keep(&mut self, target: Target, circuit: Circuit, found_by: &str) -> bool {
        let known = self.netlists.get(&target).map(Netlist::gates);
        if known.is_some_and(|known| known < circuit.gates().len()) {
            return false;
        }
        let smaller = known.is_none_or(|known| known > circuit.gates().len());
        // A circuit of equal size is another place to continue from; the credit stays with the first one of that size.
        let found_by = match self.netlists.get(&target) {
            Some(equal) if !smaller => equal.found_by.clone(),
            _ => found_by.to_string(),
        };
        self.netlists.insert(target, Netlist { circuit, from: target.from, to: target.to, found_by });
        smaller
    }

    /// The bases of a direction for which all layers are known, the cheapest first, with their cost.
    pub fn bases(&self, direction: Direction) -> Vec<(usize, Basis)> {
        let of_direction = self.netlists.keys().filter(|t| t.direction == direction && t.from == t.to);
        let bases = of_direction.filter(|t| t.layer == Layer::SubBytes && t.to != Basis::STANDARD).map(|t| t.to);
        let mut costs: Vec<_> = bases.filter_map(|b| Some((self.cost(direction, b)?, b))).collect();
        costs.sort();
        costs
    }

    /// The LUT3s of AES-128 with keys at launch, with its state in a basis between rounds: the first S-boxes, the
    /// middle ones, the last, and MixColumns with AddRoundKey. MixColumns with a key baked in counts for a tenth, to
    /// choose between bases that are otherwise equal.
    pub fn cost(&self, direction: Direction, basis: Basis) -> Option<usize> {
        let [between, first, last, mix, mix_key] = Target::family(direction, basis).map(|t| self.get(&t));
        let gates = |netlist: Option<&Netlist>| netlist.map(Netlist::gates);
        Some(16 * gates(first)? + 128 * gates(between)? + 16 * gates(last)? + 36 * gates(mix_key)? + 4 * gates(mix)?)
    }

    /// Forgets all bases except the best.
    pub fn forget(&mut self) {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for (_, basis) in self.bases(direction).into_iter().skip(KEPT) {
                for target in Target::family(direction, basis) {
                    self.netlists.remove(&target);
                }
            }
        }
    }

    /// The netlists that are better than the generator's stored ones: in the standard basis, and with a placed key,
    /// each smaller netlist; in another basis, all layers of a direction if together they cost less. All are proved
    /// once more.
    pub fn better_than_stored(&self) -> Vec<(Target, &Netlist)> {
        let stored = Self::stored();
        let gates = |best: &Self, target: &Target| best.get(target).map_or(usize::MAX, Netlist::gates);
        let mut better = Vec::new();
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let smaller = |t: &Target| gates(self, t) < gates(&stored, t);
            better
                .extend(Target::standard(direction).into_iter().chain([Target::placed_key(direction)]).filter(smaller));
            let before = stored.cost(direction, LUT3.basis(direction));
            if let Some(&(cost, basis)) = self.bases(direction).first()
                && before.is_none_or(|before| cost < before)
            {
                better.extend(Target::family(direction, basis).into_iter().filter(smaller));
            }
        }
        let proved = better.into_iter().filter_map(|t| Some((t, self.get(&t)?)));
        proved.filter(|(target, netlist)| target.is_computed_by(&netlist.circuit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::Lut3;

    /// A circuit with one gate more than it needs.
    fn padded(circuit: &Circuit) -> Circuit {
        let mut out = Circuit::new(circuit.name(), circuit.inputs());
        let inputs: Vec<_> = (0..circuit.inputs().len()).map(|i| out.input(i)).collect();
        let outputs = out.include(circuit, &inputs);
        out.gate(Lut3(0x17), [inputs[0], inputs[1], inputs[7]]);
        for ((name, _), wire) in circuit.outputs().iter().zip(outputs) {
            out.output(name.clone(), wire);
        }
        out
    }

    #[test]
    fn what_is_saved_is_gone_on_from() {
        let target = Target::standard(Direction::Encrypt)[0];
        let mut best = BestNetlists::stored();
        let gates = best.get(&target).unwrap().gates();
        let worse = padded(&target.stored());
        assert!(worse.gates().len() == gates + 1 && !best.keep(target, worse.clone(), "worse"));
        assert_eq!(best.get(&target).unwrap().gates(), gates);

        // A file with a worse netlist loses nothing; a better netlist is adopted.
        let mut poor = best.clone();
        poor.netlists.get_mut(&target).unwrap().circuit = worse;
        let mut merged = best.clone();
        merged.merge_text(&poor.to_text()).unwrap();
        assert_eq!(merged.to_text(), best.to_text());
        poor.merge_text(&best.to_text()).unwrap();
        assert_eq!(poor.to_text(), best.to_text());
        assert!(best.better_than_stored().is_empty());
    }

    #[test]
    fn files_with_faults_are_refused_and_change_nothing() {
        let mut best = BestNetlists::stored();
        let before = best.to_text();
        let first = before.find("LUT3(0x").unwrap() + 7;
        let mut faulty = before.clone();
        let digit = if &before[first..=first] == "9" { "8" } else { "9" };
        faulty.replace_range(first..=first, digit);
        assert!(matches!(best.merge_text(&faulty), Err(BestNetlistsError::Wrong(0))));
        assert!(matches!(best.merge_text("[\"inputs a a\"]"), Err(BestNetlistsError::Netlist(0, _))));
        assert!(matches!(best.merge_text("{}"), Err(BestNetlistsError::Json(_))));
        assert_eq!(best.to_text(), before);
    }
}
