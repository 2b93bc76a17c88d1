//! What is special to XTS (IEEE 1619) on data units of whole blocks: the tweaks of a stretch, the neighbouring tiles that a warp takes at a time.
//!
//! A stretch may begin within a unit, and so may each of its tiles, by the same rule: with any block of it. Which block that is, is
//! [known](Place), and enumerated by the caller. The tile after one that begins with block `s` of a unit begins 256 blocks later. So the tiles of
//! all stretches are proved by those that begin with each block.
//!
//! A stretch has so few tiles that they have blocks of 256 units at most. Their tweaks are the encrypted numbers from that of the stretch's first
//! unit on. A number is written in words as 32-bit additions give them; each word is any 32 bits. Where the lowest word wraps among these numbers
//! is not known: a word above is one of two, by a condition.
//!
//! # Arguments on paper
//!
//! - A stretch begins with block `n = 256 from + before`, counted from the beginning of the first unit. The kernel divides `n` by the `u` blocks
//!   of a unit, in digits of 12 bits. Each quotient is an unknown, and each rest is within bounds, by which it is one. Together the quotients are
//!   `q`, and `n = u q + r` is an identity of forms, where `r` is the last rest: so unit `q` is the stretch's first, and `r` is the known block.
//! - With `k` tiles of a stretch before one that begins with block `s` of unit `e`, counted from the stretch's first, `u e + s = r + 256 k`, and
//!   `r < u`. So `e` is at most `(u - 1 + 256 k - s) / u`, and any up to that is taken.

use crate::proof::aes::{self, Block};
use crate::proof::anf::Bit;
use crate::proof::context::Context;
use crate::proof::form::{Condition, Form, Unknowns, chosen};
use crate::proof::kernel_cells::TILE;
use crate::proof::mode::{no_cell, times_alpha};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::entry::Entry;
use std::collections::HashMap;

/// Blocks of a row of a tile, as the kernel has the tweaks of a tile in shared memory.
pub(super) const ROW: usize = 8;

/// The most blocks of a unit, of 2^24 bytes.
const MOST_BLOCKS: usize = 1 << 20;

/// What is known of the units of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Blocks of a unit, at most 2^20.
    pub blocks: usize,
    /// The fewest and the most blocks of the first unit that come before the data: fewer than a unit has.
    pub before: [usize; 2],
    /// The block of a unit with which a stretch begins, and a tile of a stretch.
    pub block: usize,
}

impl Place {
    /// Whether there is such a launch: where a tile begins, 256 blocks lie before it, or a multiple, and those before the data.
    fn is_there(&self) -> bool {
        let Self { blocks, before: [least, most], block } = *self;
        let is_same = |before| (256 * blocks + before - block) % (1 << blocks.trailing_zeros().min(8)) == 0;
        (1..=MOST_BLOCKS).contains(&blocks) && most < blocks && block < blocks && (least..=most).any(is_same)
    }

    /// The most tiles of a stretch: blocks of at most 256 units, wherever in a unit it begins.
    pub fn longest(&self) -> usize {
        let begin_with_units = self.before == [0, 0] && self.blocks.is_power_of_two() && self.blocks <= TILE;
        if begin_with_units { self.blocks } else { ((TILE - 1) * self.blocks + 1) / TILE }
    }

    /// The largest number that the unit at the start of a tile can have, counted from the first unit of the tile's stretch; `before`: the tiles
    /// of the stretch that come before it.
    fn most(&self, before: usize) -> usize {
        (self.blocks - 1 + TILE * before - self.block) / self.blocks
    }

    /// The tweaks of the blocks of a tile that begins with a block of a unit, by those of its units.
    pub(super) fn tweaks(&self, first: usize, of_unit: impl Fn(usize) -> Block) -> Vec<Block> {
        let mut tweaks: Vec<Block> = vec![];
        for at in first..first + TILE {
            let tweak = match tweaks.last().filter(|_| at % self.blocks > 0) {
                Some(last) => times_alpha(last),
                None => (0..at % self.blocks).fold(of_unit(at / self.blocks), |tweak, _| times_alpha(&tweak)),
            };
            tweaks.push(tweak);
        }
        tweaks
    }
}

/// Where a turn of the loop over tiles begins, in blocks of a unit of the stretch: that in which the first row begins which is in shared memory, and
/// that in which the tile begins. Both may be blocks of a later unit.
#[derive(Clone)]
pub(super) struct Begin {
    pub unit: Form,
    pub rows: usize,
    pub tile: usize,
}

/// The least number of tiles, and the most; none if there may be any number.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub start: i128,
    pub end: Option<i128>,
}

impl Count {
    fn exactly(count: i128) -> Self {
        Self { start: count, end: Some(count) }
    }

    fn from(start: i128) -> Self {
        Self { start, end: None }
    }
}

/// Turns of the loop over tiles, of one kind.
#[derive(Clone)]
pub(super) struct Turn {
    /// How many tiles of the stretch come before the turn's, and how many are left, with it.
    pub before: Count,
    pub left: Count,
    pub begin: Begin,
    /// The most that the unit in which it begins can be, counted from the stretch's first.
    pub most: usize,
    /// By that unit: the tweaks that it finds in shared memory; what the blocks of the tile must become, if it has one; and where the next turn of
    /// the stretch begins, if there is one, and the tweaks that it finds.
    pub tweaks: Vec<Block>,
    pub output: Option<Vec<Block>>,
    pub next: Option<(Begin, Vec<Block>)>,
}

/// The units of a launch.
pub(super) struct Units {
    pub place: Place,
    /// The words of numbers of units, and their bits.
    pub words: HashMap<Form, [Bit; 32]>,
    /// The number of the first unit of the data, the lowest word first, and the blocks of it that come before the data.
    pub first: [Form; 4],
    pub before: Form,
    /// The most tiles of a stretch.
    pub longest: usize,
    /// The first tile of the thread block's share, and the number of a stretch in it.
    pub share: Form,
    pub stretch: Form,
    /// The first tile of a stretch, and the one after its last: any.
    pub from: Form,
    pub to: Form,
    /// The block of its first unit with which a stretch begins, as the kernel computes it: the one that is known.
    pub rest: Form,
    /// The number of a stretch's first unit, counted from the first of the data.
    pub quotient: Form,
    /// The tweaks of a stretch's units, and of the blocks of its first tile.
    pub tweaks: Vec<Block>,
    pub of_first: Vec<Block>,
    /// The turns of the loop over tiles, of each kind: the first one of a stretch, others, and the last one.
    pub turns: Vec<Turn>,
}

/// The words of the sum of a number of 128 bits and one of 64, the lowest first, modulo 2^32.
fn sum(unknowns: &mut Unknowns, number: &[Form; 4], [low, high]: [&Form; 2]) -> [Form; 4] {
    let zero = Form::default();
    let (mut carry, mut words) = (zero.clone(), number.clone());
    for (word, other) in words.iter_mut().zip([low, high, &zero, &zero]) {
        *word = word.plus(1, other).plus(1, &carry);
        carry = unknowns.shifted(word, 32);
    }
    words
}

/// Where a stretch begins: any of its numbers, and what it is as a number of units.
struct Beginning {
    from: Form,
    before: Form,
    /// The words of the number of its first unit, counted from the first of the data, the lower one first.
    unit: [Form; 2],
    quotient: Form,
    rest: Form,
}

impl Beginning {
    /// The division of a block's number by the blocks of a unit.
    fn new(unknowns: &mut Unknowns, place: &Place) -> Self {
        let Place { blocks, before: [least, most], block } = *place;
        let (number, constant) = (|n: usize| n as i128, |n: usize| Form::constant(n as i128));
        // The digits of the block's number, of 12 bits. The lowest 8 bits are of the blocks before the data.
        let upper = [4095, 4095, 16].map(|most| unknowns.number(0, most));
        let [tiles, below, above] =
            [15, number(most.min(TILE - 1)), number(most / TILE)].map(|n| unknowns.number(0, n));
        let lowest = tiles.times(number(TILE)).plus(1, &below);
        let before = above.times(number(TILE)).plus(1, &below);
        let from = upper.iter().zip([1 << 4, 1 << 16, 1 << 28]).fold(tiles, |sum, (digit, by)| sum.plus(by, digit));
        let from = from.plus(-1, &above);
        from.in_word().into_iter().for_each(|fact| unknowns.assume(fact));
        let bounds = [before.plus(-1, &constant(least)), constant(most).plus(-1, &before)];
        bounds.into_iter().for_each(|fact| unknowns.assume(fact));
        let (mut quotients, mut rest) = ([Form::default(), Form::default()], Form::default());
        for digit in upper.iter().rev().chain([&lowest]) {
            let part = rest.times(1 << 12).plus(1, digit);
            let quotient = unknowns.divided(&part, number(blocks));
            rest = part.plus(-number(blocks), &quotient);
            quotients = [quotients[0].times(1 << 12).plus(1, &quotient), quotients[0].clone()];
        }
        let is_it = rest.plus(-1, &constant(block));
        [is_it.clone(), is_it.times(-1)].into_iter().for_each(|fact| unknowns.assume(fact));
        // What is above 32 bits is so without the last digit, too.
        let unit = [unknowns.integer(&quotients[0], 32), unknowns.shifted(&quotients[1], 20)];
        let [quotient, _] = quotients;
        Self { from, before, unit, quotient, rest }
    }
}

impl Units {
    /// With the turns of this entry point's loop over tiles, if there is a cut at it.
    ///
    /// # Errors
    /// In words, if there is no such launch, or tweaks have no form as sums of products within S-boxes.
    pub fn new(
        context: &mut Context<'_>,
        [keys, tweak_keys]: [&[Block]; 2],
        direction: Direction,
        place: Place,
        turns_of: Option<Entry>,
        input: &[Block],
    ) -> Result<Self, String> {
        if !place.is_there() {
            return Err("no tile begins with this block of a unit".into());
        }
        let unknowns = &mut context.unknowns;
        let first: [Form; 4] = std::array::from_fn(|_| unknowns.number(0, u32::MAX.into()));
        let Beginning { from, before, unit, quotient, rest } = Beginning::new(unknowns, &place);
        // The number of a stretch's first unit, and that number plus 2^32.
        let here = sum(unknowns, &first, unit.each_ref());
        let integers = here.each_ref().map(|word| unknowns.integer(word, 32));
        let wrapped = sum(unknowns, &integers, [&Form::default(), &Form::constant(1)]);
        let (mut words, mut tweaks) = (HashMap::new(), vec![]);
        for n in 0..TILE as i128 {
            let wraps = integers[0].plus(1, &Form::constant(n - (1 << 32)));
            let is_known = context.unknowns.decide(&Condition::NotNegative(wraps.clone()));
            let mut number = vec![];
            for word in 0..4 {
                let form = match (word, is_known) {
                    (0, _) => here[0].plus(1, &Form::constant(n)),
                    (_, Some(false)) => here[word].clone(),
                    _ => context.unknowns.one_of(&wraps, [&wrapped[word], &here[word]]),
                };
                let form = context.unknowns.congruent(&form, 32);
                let bits = words.entry(form).or_insert_with(|| std::array::from_fn(|_| context.cells.unknown()));
                number.extend(*bits);
            }
            let number: Block = std::array::from_fn(|i| number[i]);
            tweaks.push(aes::process(context.cells, &number, tweak_keys, Direction::Encrypt).map_err(no_cell)?);
        }
        let longest = place.longest();
        let bits = usize::BITS - place.most(longest - 1).leading_zeros();
        let (unit, numbers) = context.unknowns.of_bits(context.cells, bits);
        // By the number of a tile's first unit. In place of a number above the most there is the most, as where it is in an address.
        let of_tile = |most: usize, first: usize| {
            let of_unit = |after: usize| -> Block {
                let bit =
                    |bit| chosen((0..1 << bits).map(|n: usize| tweaks[n.min(most) + after][bit]).collect(), &numbers);
                std::array::from_fn(bit)
            };
            place.tweaks(first, of_unit)
        };
        let of_first = place.tweaks(place.block, |unit| tweaks[unit]);
        let mut output = |tweaks: &[Block]| {
            let of_block = |(block, tweak): (&Block, &Block)| {
                let processed = aes::process(context.cells, &aes::sum(block, tweak), keys, direction);
                processed.map(|block| aes::sum(&block, tweak)).map_err(no_cell)
            };
            input.iter().zip(tweaks).map(of_block).collect::<Result<Vec<Block>, String>>()
        };
        let begin = |rows: usize, tile: usize| {
            let [rows, tile] = [rows, tile].map(|tiles| place.block + TILE * tiles);
            Begin { unit: unit.clone(), rows, tile }
        };
        let mut turns = vec![];
        if turns_of == Some(Entry::Bytes) {
            // A turn makes the rows of its tile, but the first one of a stretch; and the last one has no tile.
            let first = Begin { unit: Form::default(), ..begin(0, 0) };
            let then = Begin { unit: Form::default(), ..begin(0, 1) };
            turns.push(Turn {
                before: Count::exactly(0),
                left: Count::from(1),
                begin: first,
                most: 0,
                tweaks: of_first.clone(),
                output: Some(output(&of_first)?),
                next: Some((then, of_first.clone())),
            });
            let most = place.most(longest.saturating_sub(2));
            let tweaks = of_tile(most, place.block);
            let end = Turn {
                before: Count::from(1),
                left: Count::exactly(0),
                begin: begin(0, 1),
                most,
                tweaks,
                output: None,
                next: None,
            };
            if longest > 1 {
                let next = of_tile(most, place.block + TILE);
                let (output, next) = (Some(output(&next)?), Some((begin(1, 2), next)));
                turns.push(Turn { left: Count::from(1), output, next, ..end.clone() });
            }
            turns.push(end);
        } else if turns_of.is_some() {
            // A turn makes the rows of the next tile.
            if longest > 1 {
                let most = place.most(longest - 2);
                let (tweaks, next) = (of_tile(most, place.block), of_tile(most, place.block + TILE));
                let (output, next) = (Some(output(&tweaks)?), Some((begin(1, 1), next)));
                turns.push(Turn {
                    before: Count::from(0),
                    left: Count::from(2),
                    begin: begin(0, 0),
                    most,
                    tweaks,
                    output,
                    next,
                });
            }
            let most = place.most(longest - 1);
            let tweaks = of_tile(most, place.block);
            let (output, begin) = (Some(output(&tweaks)?), begin(0, 0));
            turns.push(Turn {
                before: Count::from(0),
                left: Count::exactly(1),
                begin,
                most,
                tweaks,
                output,
                next: None,
            });
        }
        let unknowns = &mut context.unknowns;
        Ok(Self {
            words,
            first,
            before,
            longest,
            share: unknowns.number(0, u32::MAX.into()),
            stretch: unknowns.number(0, u32::MAX.into()),
            from,
            to: unknowns.number(1, u32::MAX.into()),
            rest,
            quotient,
            tweaks,
            of_first,
            place,
            turns,
        })
    }

    /// What a lane has in registers of where a turn begins: of its row the number of the unit, counted from the stretch's first, and that of the
    /// block in this unit; and of its first word's block the number in its unit.
    pub fn places(&self, lane: usize, begin: &Begin) -> [Form; 3] {
        let (row, word) = (begin.rows + ROW * lane, begin.tile + lane / 4);
        let [unit, block, of_word] = [row / self.place.blocks, row % self.place.blocks, word % self.place.blocks]
            .map(|n| Form::constant(n as i128));
        [begin.unit.plus(1, &unit), block, of_word]
    }

    /// Where a warp has the tweaks of a tile's blocks in shared memory: after those of the stretch's units, in rows that are a block apart.
    fn address(context: &Context<'_>, warp: usize, block: usize) -> Result<u64, String> {
        let shared = context.sizes.iter().position(|bytes| *bytes == 0).ok_or("no shared memory")?;
        let (rows, of_row) = (TILE / ROW, 16 * (ROW as u64 + 1));
        let of_warp = 16 * TILE as u64 + rows as u64 * of_row;
        let (row, at) = ((block / ROW) as u64, (block % ROW) as u64);
        Ok(context.addresses[shared] + warp as u64 * of_warp + 16 * TILE as u64 + row * of_row + 16 * at)
    }

    /// Checks that a warp has the tweaks of a tile's blocks in shared memory.
    ///
    /// # Errors
    /// In words, if it has others.
    pub fn compare(context: &Context<'_>, warp: usize, tweaks: &[Block]) -> Result<(), String> {
        for (block, tweak) in tweaks.iter().enumerate() {
            let at = Self::address(context, warp, block)?;
            for (at, byte) in (at..).zip(tweak.as_chunks::<8>().0) {
                if context.memory.byte(at)? != *byte {
                    return Err(format!("the tweak of block {block} of the next tile differs"));
                }
            }
        }
        Ok(())
    }

    /// Puts the tweaks of a tile's blocks into a warp's shared memory.
    ///
    /// # Errors
    /// If there is none.
    pub fn put(context: &mut Context<'_>, warp: usize, tweaks: &[Block]) -> Result<(), String> {
        for (block, tweak) in tweaks.iter().enumerate() {
            let at = Self::address(context, warp, block)?;
            context.memory.put(at, tweak.as_chunks().0.iter().copied());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A tile begins with a block of a unit where some tile does; its units are among the 256 of its stretch, and none is above the most.
    #[test]
    fn places_of_tiles() {
        for blocks in (1..70).chain([255, 256, 257, 260, 512, 768]) {
            for before in [[0, 0], [1, blocks - 1], [0, blocks - 1]] {
                let place = |block| Place { blocks, before, block };
                let (longest, firsts) = (place(0).longest(), before[0]..=before[1]);
                let begins = firsts.flat_map(|first| (0..blocks).map(move |tile| (TILE * tile + first) % blocks));
                let mut most = vec![None; blocks];
                for begin in begins.collect::<HashSet<_>>() {
                    for at in (0..longest).map(|tile| begin + TILE * tile) {
                        most[at % blocks] = most[at % blocks].max(Some(at / blocks));
                    }
                }
                for (block, most) in most.into_iter().enumerate() {
                    let place = place(block);
                    assert_eq!(place.is_there(), most.is_some(), "{place:?}");
                    let Some(most) = most else { continue };
                    let bound = place.most(longest - 1);
                    assert!(most <= bound && bound + (block + TILE - 1) / blocks < TILE, "{place:?}");
                }
            }
        }
    }
}
