//! What a turn of the loop over tiles may access in device memory, and must write there.

use crate::proof::accesses::Reached;
use crate::proof::aes::Block;
use crate::proof::every_length::MOST_BLOCKS;
use crate::proof::form::{Condition, Form, Unknown, Unknowns};
use crate::proof::kernel_cells::TILE;
use crate::proof::memory::Byte;
use crate::proof::order::{Access, History};
use std::collections::HashMap;

/// Which tiles there are: block `n` of a tile is block `256 tile - skipped + n`, counted from the one in which the data begins.
pub(super) struct Tiles {
    pub skipped: Form,
    /// The first tile of a run: any.
    pub from: Form,
    /// The first tile after `from` that begins another run, if runs end before their share.
    pub next_run: Option<Form>,
    /// A tile of the run: any.
    pub tile: Form,
}

impl Tiles {
    /// Tiles of data that begins with a tile, in which a share is one run.
    pub fn of_data(unknowns: &mut Unknowns) -> Self {
        let [from, tile] = [0, 1].map(|_| unknowns.number(0, u32::MAX.into()));
        Self { skipped: Form::default(), from, next_run: None, tile }
    }
}

/// Pieces, of which the data has a whole number: blocks, or bytes.
pub(super) struct Pieces {
    /// Bytes of a piece.
    pub bytes: usize,
    /// How many there are.
    pub count: Form,
    /// Pieces of the first block that come before the data.
    pub skipped: Form,
}

impl Pieces {
    pub fn blocks(unknowns: &mut Unknowns) -> Self {
        Self { bytes: 16, count: unknowns.number(1, MOST_BLOCKS.into()), skipped: Form::default() }
    }

    pub fn bytes(unknowns: &mut Unknowns) -> Self {
        let count = unknowns.number(1, 16 * i128::from(MOST_BLOCKS));
        Self { bytes: 1, count, skipped: unknowns.number(0, 15) }
    }

    /// How many blocks the data has, or has bytes of.
    pub fn in_blocks(&self, unknowns: &mut Unknowns) -> Form {
        let per_block = 16 / self.bytes as u32;
        let rounded_up = self.skipped.plus(1, &self.count).plus(1, &Form::constant((per_block - 1).into()));
        let blocks = unknowns.shifted(&rounded_up, per_block.ilog2());
        unknowns.assume(Form::constant(MOST_BLOCKS.into()).plus(-1, &blocks));
        blocks
    }
}

/// The data of a launch.
pub(super) struct Data {
    /// The buffers, by the unknowns that are their addresses.
    pub input: Unknown,
    pub output: Unknown,
    pub pieces: Pieces,
    pub tiles: Tiles,
}

/// Conditions on the number of a piece.
struct Exists {
    /// It is not before the data, and not after.
    both: [Condition; 2],
    /// In 64 bits the numbers of pieces before the data wrap, and are above all others.
    below: Condition,
}

impl Exists {
    fn is_known(&self, unknowns: &Unknowns) -> bool {
        self.both.iter().all(|one| unknowns.decide(one) == Some(true))
    }

    fn is_refuted(&self, unknowns: &Unknowns) -> bool {
        self.both.iter().any(|one| unknowns.decide(one) == Some(false))
    }

    /// Whether what takes place under conditions takes place exactly if the piece exists: one of them says so, or it follows from all; and the
    /// others follow.
    fn is(&self, unknowns: &mut Unknowns, under: &[Condition]) -> bool {
        let [not_before, not_after] = &self.both;
        let says_so =
            |one: &Condition| *one == self.below || one == not_after && unknowns.decide(not_before) == Some(true);
        if under.is_empty() {
            return self.is_known(unknowns);
        }
        let which = under.iter().position(says_so);
        let is_said = which.is_some() || self.both.iter().all(|one| unknowns.follows(one, under));
        is_said && under.iter().enumerate().all(|(n, one)| Some(n) == which || unknowns.follows(one, &self.both))
    }
}

impl Data {
    /// Where a tile begins, in bytes from the beginning of the data.
    pub fn beginning(&self, tile: &Form) -> Form {
        self.first(tile).times(self.pieces.bytes as i128)
    }

    /// The number of a tile's first piece.
    fn first(&self, tile: &Form) -> Form {
        let first_block = tile.times(TILE as i128).plus(-1, &self.tiles.skipped);
        first_block.times((16 / self.pieces.bytes) as i128).plus(-1, &self.pieces.skipped)
    }

    /// How many bytes after the beginning of a tile something was accessed, if that is known.
    pub fn distance(&self, access: &Reached, tile: &Form) -> Option<i128> {
        let distance = access.offset.plus(-1, &self.beginning(tile));
        distance.terms.is_empty().then_some(distance.constant)
    }

    /// The piece that has byte `at` of a tile exists.
    fn exists(&self, tile: &Form, at: usize) -> Exists {
        let Pieces { bytes, count, .. } = &self.pieces;
        let number = self.first(tile).plus(1, &Form::constant((at / bytes) as i128));
        let not_after = count.plus(-1, &number).plus(-1, &Form::constant(1));
        Exists {
            below: Condition::Below(number.clone(), count.clone()),
            both: [number, not_after].map(Condition::NotNegative),
        }
    }

    /// The condition that the piece exists which has byte `at` of a tile.
    pub fn condition(&self, tile: &Form, at: usize) -> Condition {
        self.exists(tile, at).below
    }

    /// Checks accesses of a turn that has a tile, or none yet, and that reads the next tile early, or not: they are loads of both tiles' pieces
    /// that exist, and stores to those of the turn's, each of whose bytes is loaded before it is stored, and barriers order these. So the output
    /// may be in the place of the input. Returns the bytes that were stored, by their number in the tile.
    ///
    /// # Errors
    /// In words: the access that is not so.
    pub fn stores<'a>(
        &self,
        unknowns: &mut Unknowns,
        reached: &[Reached],
        [tile, next]: [Option<&'a Form>; 2],
    ) -> Result<HashMap<usize, Byte>, String> {
        let mut stored = HashMap::new();
        let mut histories: HashMap<usize, History> = HashMap::new();
        let mut known = HashMap::new();
        for one in reached {
            let buffer = if one.is_store { self.output } else { self.input };
            let place = |of: Option<&'a Form>| {
                let at = usize::try_from(self.distance(one, of?)?).ok()?;
                let piece = |at| at / self.pieces.bytes;
                let is_in_piece = piece(at) == piece(at + one.bytes as usize - 1) && at < 16 * TILE;
                is_in_piece.then_some((of?, at))
            };
            let found = place(tile).or_else(|| place(next).filter(|_| !one.is_store));
            let (of, at) =
                found.filter(|_| one.buffer == buffer).ok_or("what is read or written is not of the tile")?;
            let (block, what) = (at / 16, if one.is_store { "written" } else { "read" });
            let asked = (of, at / self.pieces.bytes, &one.under);
            if !*known.entry(asked).or_insert_with(|| self.exists(of, at).is(unknowns, &one.under)) {
                return Err(format!("block {block} of a tile is {what}, and may not exist"));
            }
            if Some(of) != tile {
                continue;
            }
            for (at, bits) in (at..at + one.bytes as usize).zip(one.bits.as_chunks::<8>().0) {
                if stored.contains_key(&at) {
                    let again = if one.is_store { "written twice" } else { "read after it is written" };
                    return Err(format!("byte {at} of a tile is {again}"));
                }
                let access = if one.is_store { Access::Write } else { Access::Read };
                if !histories.entry(at).or_default().add(access, one.moment) {
                    return Err(format!("a race: no barrier lies between two accesses to byte {at} of a tile"));
                }
                if one.is_store {
                    stored.insert(at, *bits);
                }
            }
        }
        Ok(stored)
    }

    /// Compares what was stored of a tile: of each piece that exists, the bytes of the output.
    ///
    /// # Errors
    /// In words: what is missing, or the first bit that differs.
    pub fn compare(&self, unknowns: &Unknowns, stored: &HashMap<usize, Byte>, output: &[Block]) -> Result<(), String> {
        for (n, block) in output.iter().enumerate() {
            for (i, byte) in block.as_chunks::<8>().0.iter().enumerate() {
                match stored.get(&(16 * n + i)) {
                    None if self.exists(&self.tiles.tile, 16 * n + i).is_refuted(unknowns) => {}
                    None => return Err(format!("block {n} of a tile is not written, and may exist")),
                    Some(found) if found != byte => return Err(format!("byte {i} of block {n} of a tile differs")),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}
