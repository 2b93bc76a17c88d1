//! What is special to XTS where ciphertext is stolen (IEEE 1619, sections 5.3.2 and 5.4.2): stretches of units that end with less than a block.
//!
//! The last whole block of such a unit is written with its tile, and once more, with the bytes that follow it, after the last tile of the
//! stretch. So a stretch is followed as a whole, without a cut at its tiles. How many it has is [known](Ends), and enumerated by the caller;
//! where the data ends with the stretch, so are the blocks of its last tile and the bytes after them. Besides the block of a unit with which
//! the stretch begins, no branch depends on more, but for the addresses' lowest bits. Addresses, the first tile and the number of the first
//! unit are any.
//!
//! Accesses to a byte of the stretch are in an order that barriers make, whether the output is in the input's place or not: the input is read
//! before the first store, the output after it. The last store must be of what the standard says.
//!
//! # Argument on paper
//!
//! Units have `u` blocks and `r` bytes after these. A stretch begins with block `s` of unit `q`, counted from the first of the data, where
//! `u q + s = 256 from + before`. Before it the data has `256 from` blocks, and the last `r` bytes of `q` units: so it begins at byte
//! `4096 from + r q`. It has the bytes up to where the next one begins: its blocks, and the bytes after each last whole block among them.

use crate::proof::accesses::Reached;
use crate::proof::aes;
use crate::proof::context::Context;
use crate::proof::every_length::data::Data;
use crate::proof::every_length::units::{Place, Units};
use crate::proof::form::{Form, Unknowns};
use crate::proof::kernel_cells::TILE;
use crate::proof::memory::Byte;
use crate::proof::mode::{Given, times_alpha};
use crate::proof::order::{Access, History};

/// What is known of a stretch of units that end with less than a block.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    /// Bytes of a unit after its last whole block: at most 15.
    pub ragged: usize,
    /// Tiles of the stretch.
    pub tiles: usize,
    /// Where the data ends with the stretch: the blocks of its last tile, and the bytes of the last unit after its last whole block.
    pub last: Option<[usize; 2]>,
}

impl Ends {
    /// Whole blocks of the stretch.
    pub(super) fn blocks(&self) -> usize {
        TILE * (self.tiles - 1) + self.last.map_or(TILE, |[blocks, _]| blocks)
    }

    /// The bytes that the stretch has of each of its units; none if there is no such launch.
    fn units(&self, place: &Place) -> Option<Vec<usize>> {
        let [last_blocks, last_ragged] = self.last.unwrap_or([TILE, 0]);
        if self.ragged > 15 || last_ragged > 15 || !(1..=TILE).contains(&last_blocks) || self.tiles == 0 {
            return None;
        }
        let (mut left, mut first, mut units) = (self.blocks(), place.block, vec![]);
        while left > 0 {
            let blocks = left.min(place.blocks - first);
            left -= blocks;
            let has_all = first + blocks == place.blocks;
            let ragged = match self.last.filter(|_| left == 0) {
                // No unit has more bytes than others.
                Some([_, ragged]) if has_all && ragged > self.ragged => return None,
                Some([_, ragged]) => ragged,
                None if has_all => self.ragged,
                None => 0,
            };
            units.push(16 * blocks + ragged);
            first = 0;
        }
        Some(units)
    }
}

/// A stretch, by what is known of it.
pub(super) struct Stretch {
    pub ends: Ends,
    /// The bytes after the last whole block of the data: any.
    pub ragged: Form,
    /// Where the stretch begins, in bytes from the beginning of the data.
    pub first: Form,
    /// Its bytes, and what they must become.
    pub input: Vec<Byte>,
    output: Vec<Byte>,
}

impl Stretch {
    /// # Errors
    /// In words, if there is no such launch, or the definition has no form as sums of products within S-boxes.
    pub fn new(context: &mut Context<'_>, given: &Given<'_>, units: &Units, ends: Ends) -> Result<Self, String> {
        let place = &units.place;
        let no_such = "there is no such stretch";
        let of_units = ends.units(place).filter(|_| ends.tiles <= units.longest).ok_or(no_such)?;
        let ragged = context.unknowns.number(0, 15);
        let first = units.from.times(16 * TILE as i128).plus(ends.ragged as i128, &units.quotient);
        let input: Vec<Byte> =
            (0..of_units.iter().sum()).map(|_| std::array::from_fn(|_| context.cells.unknown())).collect();
        let (mut output, mut bits) = (vec![], input.as_flattened());
        for (n, (bytes, tweak)) in of_units.into_iter().zip(&units.tweaks).enumerate() {
            let before = if n == 0 { place.block } else { 0 };
            let tweak = (0..before).fold(*tweak, |tweak, _| times_alpha(&tweak));
            let (unit, rest) = bits.split_at(8 * bytes);
            output.extend(given.of_unit(context.cells, unit, tweak)?.as_chunks().0);
            bits = rest;
        }
        // In place of ends and blocks that do not exist, zeros go through the cipher.
        let of_last = place.tweaks(place.block + TILE * (ends.tiles - 1), |unit| units.tweaks[unit]);
        let none = of_last.into_iter().skip((ends.blocks() - 1) % TILE + 1).chain([aes::known([0; 16])]);
        none.into_iter().try_for_each(|block| given.cipher(context.cells, &block).map(|_| ()))?;
        Ok(Self { ends, ragged, first, input, output })
    }

    /// Checks what a warp has accessed in device memory, from the beginning of the stretch to its end.
    ///
    /// # Errors
    /// In words: the access that is not as it should be, or the byte that differs.
    pub fn check(&self, data: &Data, unknowns: &Unknowns, reached: &[Reached]) -> Result<(), String> {
        let mut stored: Vec<Option<Byte>> = vec![None; self.input.len()];
        let mut histories = vec![History::default(); self.input.len()];
        for one in reached {
            let distance = one.offset.plus(-1, &self.first);
            let at = usize::try_from(distance.constant).ok().filter(|_| distance.terms.is_empty());
            let at = at.filter(|at| at + one.bytes as usize <= stored.len());
            let at = at.ok_or("what is read or written is not of the stretch")?;
            if !one.under.iter().all(|condition| unknowns.decide(condition) == Some(true)) {
                return Err(format!("whether byte {at} of a stretch is accessed is not known"));
            }
            for (at, bits) in (at..at + one.bytes as usize).zip(one.bits.as_chunks::<8>().0) {
                match (one.is_store, &mut stored[at]) {
                    (true, now) if one.buffer == data.output => *now = Some(*bits),
                    (false, None) if one.buffer == data.input && self.input[at] == *bits => {}
                    (false, Some(now)) if one.buffer == data.output && now == bits => {}
                    _ => return Err(format!("byte {at} of a stretch is read or written where it should not be")),
                }
                let access = if one.is_store { Access::Write } else { Access::Read };
                if !histories[at].add(access, one.moment) {
                    return Err(format!("a race: no barrier lies between two accesses to byte {at} of a stretch"));
                }
            }
        }
        match (0..).zip(stored.iter().zip(&self.output)).find(|(_, (stored, output))| **stored != Some(**output)) {
            None => Ok(()),
            Some((at, (None, _))) => Err(format!("byte {at} of a stretch is not written")),
            Some((at, _)) => Err(format!("byte {at} of a stretch differs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stretches that follow one another have all bytes of the data, each from where it begins on.
    #[test]
    fn stretches_have_all_bytes() {
        for (blocks, ragged, before, units) in [(1, 1, 0, 700), (3, 5, 2, 500), (32, 8, 31, 60), (260, 15, 9, 7)] {
            let all = blocks * units - before;
            let (mut from, mut bytes) = (0, 0);
            for tiles in (1..4).cycle() {
                let at = before + TILE * from;
                assert_eq!(bytes, 16 * TILE * from + ragged * (at / blocks));
                let left = all - TILE * from;
                let is_last = left <= TILE * tiles;
                let tiles = if is_last { left.div_ceil(TILE) } else { tiles };
                let last = is_last.then(|| [(left - 1) % TILE + 1, ragged]);
                let place = Place { blocks, before: [before; 2], block: at % blocks };
                bytes += Ends { ragged, tiles, last }.units(&place).unwrap().iter().sum::<usize>();
                from += tiles;
                if is_last {
                    break;
                }
            }
            assert_eq!(bytes, (16 * blocks + ragged) * units - 16 * before);
        }
        let place = Place { blocks: 3, before: [0, 2], block: 0 };
        let units = |blocks, last| Ends { ragged: 5, tiles: 1, last: Some([blocks, last]) }.units(&place);
        assert_eq!((units(2, 15), units(3, 5), units(4, 6)), (Some(vec![47]), Some(vec![53]), Some(vec![53, 22])));
        assert_eq!((units(3, 6), units(0, 5), units(2, 16)), (None, None, None));
    }
}
