//! What is special to XTS (IEEE 1619) on data units of a power of two of blocks, at most a tile, the first of which begins with the data:
//! the tweaks of a stretch, the neighbouring tiles that a warp takes at a time. Each of its tiles begins with a unit.
//!
//! A stretch has as many tiles as a unit has blocks, or fewer, so that its tiles have 256 units or fewer. Their tweaks are the encrypted
//! numbers from that of the stretch's first unit on. A number is written in words as 32-bit additions give them; each word is any 32 bits.
//! Where the lowest word wraps among these numbers is not known: a word above is one of two, by a condition.

use crate::proof::aes::{self, Block};
use crate::proof::anf::Bit;
use crate::proof::context::Context;
use crate::proof::form::{Condition, Form, Unknowns, chosen};
use crate::proof::kernel_cells::TILE;
use crate::proof::mode::{no_cell, times_alpha};
use aes_bitslice_core::aes::Direction;
use std::collections::HashMap;

/// Blocks of a row of a tile, as the kernel has the tweaks of a tile in shared memory.
pub(super) const ROW: usize = 8;

/// The units of a launch.
pub(super) struct Units {
    /// Blocks of a unit.
    pub blocks: usize,
    /// The words of numbers of units, and their bits.
    pub words: HashMap<Form, [Bit; 32]>,
    /// The number of the first unit of the data, the lowest word first.
    pub first: [Form; 4],
    /// The first tile of the thread block's share, and the number of a stretch in it.
    pub share: Form,
    pub stretch: Form,
    /// The first tile of a stretch, and the one after its last: any.
    pub from: Form,
    pub to: Form,
    /// The tweaks of the blocks of a stretch's first tile.
    pub of_first: Vec<Block>,
    /// Tiles from a stretch's first to any of its other tiles, and the tweaks of the blocks of that.
    pub tiles: Form,
    pub of_other: Vec<Block>,
    /// The tweaks of the blocks of a tile: any.
    pub any: Vec<Block>,
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

impl Units {
    /// # Errors
    /// In words, if units have another number of blocks, or tweaks no form as sums of products within S-boxes.
    pub fn new(context: &mut Context<'_>, keys: &[Block], blocks: usize) -> Result<Self, String> {
        if !blocks.is_power_of_two() || blocks > TILE {
            return Err("units are not a power of two of blocks, or more than a tile".into());
        }
        let (unknowns, of_tile) = (&mut context.unknowns, TILE / blocks);
        let (from, _) = unknowns.of_bits(context.cells, 32);
        let first: [Form; 4] = std::array::from_fn(|_| unknowns.number(0, u32::MAX.into()));
        // The number of a stretch's first unit, and that number plus 2^32.
        let before = unknowns.in_bits(&from).times(of_tile as i128);
        let parts = [unknowns.integer(&before, 32), unknowns.shifted(&before, 32)];
        let here = sum(unknowns, &first, parts.each_ref());
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
            tweaks.push(aes::process(context.cells, &number, keys, Direction::Encrypt).map_err(no_cell)?);
        }
        let of_units = |units: &[Block]| -> Vec<Block> {
            let of_unit =
                |unit: &Block| std::iter::successors(Some(*unit), |tweak| Some(times_alpha(tweak))).take(blocks);
            units.iter().flat_map(of_unit).collect()
        };
        let (tiles, bits) = context.unknowns.of_bits(context.cells, blocks.ilog2());
        let of_other = |unit: usize| -> Block {
            std::array::from_fn(|bit| {
                chosen(tweaks.iter().skip(unit).step_by(of_tile).map(|tweak| tweak[bit]).collect(), &bits)
            })
        };
        let other: Vec<Block> = (0..of_tile).map(of_other).collect();
        let unknowns = &mut context.unknowns;
        Ok(Self {
            words,
            blocks,
            first,
            share: unknowns.number(0, u32::MAX.into()),
            stretch: unknowns.number(0, u32::MAX.into()),
            from,
            to: unknowns.number(1, u32::MAX.into()),
            of_first: of_units(&tweaks[..of_tile]),
            tiles,
            of_other: of_units(&other),
            any: (0..TILE).map(|_| aes::unknown(context.cells)).collect(),
        })
    }

    /// Units of a tile.
    pub fn of_tile(&self) -> usize {
        TILE / self.blocks
    }

    /// Where the row of `lane` begins in the tile that is `tiles` tiles after the first of its stretch: the number of the unit, counted from
    /// the stretch's first unit; and the number of the block in that unit. A lane has both in registers.
    pub fn places(&self, lane: usize, tiles: &Form) -> [Form; 2] {
        let [unit, block] = [ROW * lane / self.blocks, ROW * lane % self.blocks].map(|n| Form::constant(n as i128));
        [unit.plus(self.of_tile() as i128, tiles), block]
    }

    /// Where a warp has the tweaks of a tile's blocks in shared memory: after those of the stretch's units, in rows that are a block apart.
    fn address(context: &Context<'_>, warp: usize, block: usize) -> Result<u64, String> {
        let shared = context.sizes.iter().position(|bytes| *bytes == 0).ok_or("no shared memory")?;
        let (rows, of_row) = (TILE / ROW, 16 * (ROW as u64 + 1));
        let of_warp = 16 * TILE as u64 + rows as u64 * of_row;
        let (row, at) = ((block / ROW) as u64, (block % ROW) as u64);
        Ok(context.addresses[shared] + warp as u64 * of_warp + 16 * TILE as u64 + row * of_row + 16 * at)
    }

    /// Checks that a warp has the tweaks of a tile's blocks in shared memory, and puts any in their place.
    ///
    /// # Errors
    /// In words, if it has others.
    pub fn forget(&self, context: &mut Context<'_>, warp: usize, tweaks: &[Block]) -> Result<(), String> {
        for (block, (tweak, any)) in tweaks.iter().zip(&self.any).enumerate() {
            let at = Self::address(context, warp, block)?;
            for (at, byte) in (at..).zip(tweak.as_chunks::<8>().0) {
                if context.memory.byte(at)? != *byte {
                    return Err(format!("the tweak of block {block} of the next tile differs"));
                }
            }
            context.memory.put(at, any.as_chunks().0.iter().copied());
        }
        Ok(())
    }

    /// What a tile must become, by its blocks.
    ///
    /// # Errors
    /// In words, if it has no form as sums of products within S-boxes.
    pub fn output(
        &self,
        context: &mut Context<'_>,
        input: &[Block],
        keys: &[Block],
        direction: Direction,
    ) -> Result<Vec<Block>, String> {
        let of_block = |(block, tweak): (&Block, &Block)| {
            let processed = aes::process(context.cells, &aes::sum(block, tweak), keys, direction);
            processed.map(|block| aes::sum(&block, tweak)).map_err(no_cell)
        };
        input.iter().zip(&self.any).map(of_block).collect()
    }
}
