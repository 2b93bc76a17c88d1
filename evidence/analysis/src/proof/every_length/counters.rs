//! What is special to counters: their words, which of their additions carry, and the key stream of a tile in a form that warps compute from
//! tables.
//!
//! Numbers are written in unknowns in which all that the kernel computes is affine. With `k` the counter's lowest 8 bits and `c` the 24 above
//! them, a tile is `tile = v - c + 2^24 h`: of its counters' lowest words, `v` is the upper 24 bits, and `h` is what carries into the next word.
//! Where a carry matters there are two [cases](Carries), which are proved one by one.

use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::Context;
use crate::proof::every_length::data::Tiles;
use crate::proof::form::{Form, chosen};
use crate::proof::mode::no_cell;
use aes_bitslice_core::mode::Mode;

/// Which additions to the counter carry, for the first tile of a run. A tile's number adds at most 256 to the second word, so that a word carries
/// once at most; the third word carries only if the second does, and what the fourth carries is lost. These are all cases.
#[derive(Clone, Copy, Debug)]
pub struct Carries {
    /// Whether the counter's 24 bits above its lowest 8, plus the tile's number, exceed 24 bits by the tile's lowest 24 bits alone.
    pub of_tile: bool,
    /// Words above the lowest that carry: none, the second, or the second and the third.
    pub words: u32,
}

impl Carries {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..6).map(|n| Self { of_tile: n % 2 == 1, words: n / 2 })
    }
}

/// The counter of a launch, and its tiles.
pub(super) struct Counters {
    /// The counter's words, the lowest first.
    pub words: Vec<Form>,
    pub tiles: Tiles,
    /// The key stream of a tile, by its blocks.
    pub stream: Vec<Block>,
}

impl Counters {
    pub fn new(context: &mut Context<'_>, mode: Mode, keys: &[Block], carries: Carries) -> Result<Self, String> {
        let [k, c, first, above] =
            [255, (1 << 24) - 1, (1 << 24) - 1, 256].map(|most: i128| context.unknowns.number(0, most));
        let from = first.plus(-1, &c).plus(1 << 24, &above);
        from.in_word().into_iter().for_each(|fact| context.unknowns.assume(fact));
        let borrows = c.plus(-1, &first).plus(-1, &Form::constant(1));
        context.unknowns.assume(if carries.of_tile { borrows } else { first.plus(-1, &c) });
        // The counter's words above the lowest, from those of the run's counters, in which what carries is added.
        let upper = [0, 1, 2].map(|_| context.unknowns.of_bits(context.cells, 32));
        let mut words = vec![c.times(256).plus(1, &k)];
        let mut carry = above.clone();
        for (n, (word, _)) in upper.iter().enumerate() {
            let carries = (n as u32) < carries.words;
            let word = if mode == Mode::CtrLe32 {
                word.clone()
            } else {
                word.plus(-1, &carry).plus(1 << 32, &Form::constant(carries.into()))
            };
            carry = Form::constant(carries.into());
            // The highest word wraps.
            if n < 2 {
                word.in_word().into_iter().for_each(|fact| context.unknowns.assume(fact));
            }
            words.push(word);
        }
        let upper = upper.map(|(_, numbers)| std::array::from_fn(|i| Bit::of_choice(numbers[i])));
        let parts = parts(context.cells, mode, keys, &upper)?;
        let next_run = Form::constant(1).plus(1, &above).times(1 << 24).plus(-1, &c);
        let (low, bits) = context.unknowns.of_bits(context.cells, 24);
        let tile = low.plus(-1, &c).plus(1 << 24, &above);
        let change: Block = std::array::from_fn(|bit| {
            (1..4).fold(Bit::ZERO, |sum, n| {
                sum ^ chosen(parts[n].iter().map(|part| part[bit]).collect(), &bits[8 * (n - 1)..8 * n])
            })
        });
        let of_part = |part| aes::encrypt_from(context.cells, &aes::sum(part, &change), keys, 3).map_err(no_cell);
        let stream = parts[0].iter().map(of_part).collect::<Result<_, _>>()?;
        Ok(Self { words, tiles: Tiles { skipped: k, from, next_run: Some(next_run), tile }, stream })
    }
}

/// The contents of counter blocks whose lowest words have these bytes, the lowest first, and whose others are `upper`.
fn counter(mode: Mode, bytes: [[Bit; 8]; 4], upper: &[[Bit; 32]; 3]) -> Block {
    let mut all = [[Bit::ZERO; 8]; 16];
    let words = upper.iter().map(|word| std::array::from_fn(|i| std::array::from_fn(|bit| word[8 * i + bit])));
    for (n, word) in std::iter::once(bytes).chain(words).enumerate() {
        for (i, byte) in word.into_iter().enumerate() {
            let at = 4 * n + i;
            // The counter is a big-endian number, or, in AES-GCM-SIV, its words are in the order of memory.
            all[if mode == Mode::CtrLe32 { at } else { 15 - at }] = byte;
        }
    }
    std::array::from_fn(|bit| all[bit / 8][bit % 8])
}

fn byte(number: usize) -> [Bit; 8] {
    std::array::from_fn(|i| Bit::constant(number >> i & 1 == 1))
}

/// The states after two rounds of counters, as a sum of a part for each of the four lowest bytes: for its values, one after another. The
/// part of the lowest one includes what does not depend on them.
///
/// A byte of the counter reaches one column in the first round, and each of them another one. That the state is such a sum is checked:
/// what a byte changes does not depend on the others.
fn parts(cells: &mut Cells, mode: Mode, keys: &[Block], upper: &[[Bit; 32]; 3]) -> Result<[Vec<Block>; 4], String> {
    let others: [[Bit; 8]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| cells.unknown()));
    let mut of = |n: usize, value: usize, around: [[Bit; 8]; 4]| {
        let mut bytes = around;
        bytes[n] = byte(value);
        let state = aes::sum(&counter(mode, bytes, upper), &keys[0]);
        (1..3).try_fold(state, |state, round| aes::middle_round(cells, &state, &keys[round])).map_err(no_cell)
    };
    let mut all = [const { vec![] }; 4];
    for (n, part) in all.iter_mut().enumerate() {
        let zeros = of(n, 0, [byte(0); 4])?;
        let unknown = of(n, 0, others)?;
        for value in 0..256 {
            let found = of(n, value, [byte(0); 4])?;
            let change = aes::sum(&found, &zeros);
            if change != aes::sum(&of(n, value, others)?, &unknown) {
                return Err("the first two rounds of a counter are no sum of its bytes' parts".into());
            }
            part.push(if n == 0 { found } else { change });
        }
    }
    Ok(all)
}
