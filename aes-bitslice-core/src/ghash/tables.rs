//! A kernel's tables for a hash key H.
//!
//! | words | what |
//! |---|---|
//! | [`Shape::matrix_words`] | the products with (H^8)^(powers - 1), ..., H^8, 1, then H^(units · blocks of a tile); or as below |
//! | 4 × rows | for row 8 s + n, H^(8 powers (rows / 8 - 1 - s) + 8 - n) |
//! | 4 × units | for the unit whose last tile is the u-th from the end, H^(u · blocks of a tile) |
//!
//! Elements are words of coefficients, the coefficient of x^0 lowest. The byte order of a block affects the tables only: where bytes are
//! reversed (POLYVAL), the columns of the matrices for blocks are reversed too, but not those of the last matrix, which is for sums.
//! [`Arrangement::Element`] has no matrices: the last of these elements comes first, then four words that are all ones if the bytes of
//! blocks are reversed, else zeros.

use super::blocks::Blocks;
use super::field::{Element, power};
use super::shape::{Arrangement, Shape};
use std::ops::Mul;
use zeroize::{Zeroize, Zeroizing};

/// 32-bit words of a matrix.
const MATRIX: usize = 512;

/// An element of GF(2^128) of which tables can be made: [`Element`], or in a proof one with formal bits.
pub trait TableElement: Copy + Mul<Output = Self> + Zeroize {
    /// A word of 32 bits.
    type Word: Copy + From<u32> + Zeroize;
    /// The multiplicative identity.
    const ONE: Self;

    /// The coefficients, 32 per word, the coefficient of x^0 lowest.
    fn words(self) -> [Self::Word; 4];

    /// The matrix of multiplication by this element, as a map from blocks in a byte order to blocks as they are: bit `k % 32` of word
    /// `k / 32` of row `j` is set if bit `k` of a block in memory order (bit k % 8 of byte k / 8) contributes to bit `j` of the product.
    fn matrix(self, blocks: Blocks) -> [[Self::Word; 4]; 128];
}

impl TableElement for Element {
    type Word = u32;
    const ONE: Self = Self::ONE;

    fn words(self) -> [u32; 4] {
        self.words()
    }

    fn matrix(self, blocks: Blocks) -> [[u32; 4]; 128] {
        let mut rows = self.matrix();
        let matrix = rows.map(|row| {
            let row = if blocks == Blocks::Reversed { row.swap_bytes() } else { row };
            std::array::from_fn(|q| (row >> (32 * q)) as u32)
        });
        rows.zeroize();
        matrix
    }
}

/// The tables for the hash key `key` and a kernel of this shape that runs with at most `units` thread blocks and reads its blocks in this
/// byte order.
pub fn tables<E: TableElement>(blocks: Blocks, key: E, shape: &Shape, units: u32) -> Zeroizing<Vec<E::Word>> {
    let Shape { arrangement, powers, rows } = *shape;
    let tile_blocks = u64::from(shape.tile_blocks());
    // Allocated in one piece: growing would leave copies behind.
    let mut words = Zeroizing::new(Vec::with_capacity(shape.table_words(units)));
    let mut tile = power(E::ONE, key, tile_blocks);
    let mut step = power(E::ONE, tile, units.into());
    match arrangement {
        Arrangement::Wgmma | Arrangement::Mma => {
            put_matrices(&mut words, shape, power(E::ONE, key, 8), step, blocks);
        }
        Arrangement::Element => {
            words.extend(step.words());
            words.extend([E::Word::from(if blocks == Blocks::Reversed { u32::MAX } else { 0 }); 4]);
        }
    }
    let segments = rows / 8;
    let mut segment = power(E::ONE, key, 8 * u64::from(powers));
    let mut first = E::ONE;
    let at = words.len();
    words.resize(at + 4 * rows as usize, 0.into());
    for s in (0..segments as usize).rev() {
        let mut power = first;
        for n in (0..8).rev() {
            power = power * key;
            put(&mut words, at / 4 + 8 * s + n, power);
        }
        power.zeroize();
        first = first * segment;
    }
    let mut power = E::ONE;
    for _ in 0..units {
        words.extend(power.words());
        power = power * tile;
    }
    [&mut tile, &mut step, &mut segment, &mut first, &mut power].into_iter().for_each(Zeroize::zeroize);
    words
}

/// The tables for GCM of many messages in one launch, for a kernel of this shape, where `1 << wide` groups of two rows share a message:
///
/// | words | what |
/// |---|---|
/// | [`Shape::matrix_words`] | with G = 1 << `wide`: the products with H^((powers - 1) G), ..., H^G, 1, then H^(2 powers G) |
/// | 4 × G | for the second row of group g, H^(G - g + 1) |
/// | 4 × G | for its first row, H^(powers G + G - g + 1) |
/// | 4 | H, for the block of lengths |
pub fn batch_tables<E: TableElement>(key: E, shape: &Shape, wide: u32) -> Zeroizing<Vec<E::Word>> {
    let groups = 1 << wide;
    let mut words = Zeroizing::new(Vec::with_capacity(batch_words(shape, wide)));
    let mut next = power(E::ONE, key, groups as u64);
    let mut row = power(E::ONE, next, shape.powers.into());
    let mut step = row * row;
    put_matrices(&mut words, shape, next, step, Blocks::AsTheyAre);
    let at = words.len() / 4;
    words.resize(4 * (at + 2 * groups + 1), 0.into());
    let mut weight = key;
    put(&mut words, at + 2 * groups, weight);
    for group in (0..groups).rev() {
        weight = weight * key;
        put(&mut words, at + group, weight);
        put(&mut words, at + groups + group, weight * row);
    }
    [&mut next, &mut row, &mut step, &mut weight].into_iter().for_each(Zeroize::zeroize);
    words
}

/// The number of words of [`batch_tables`].
pub fn batch_words(shape: &Shape, wide: u32) -> usize {
    shape.matrix_words() + 4 * ((2 << wide) + 1)
}

/// Appends the matrices: of the powers of `next`, and of `step`.
fn put_matrices<E: TableElement>(words: &mut Vec<E::Word>, shape: &Shape, mut next: E, step: E, blocks: Blocks) {
    words.resize(shape.matrix_words(), 0.into());
    let mut power = E::ONE;
    for t in (0..shape.powers as usize).rev() {
        put_matrix(words, shape.arrangement, t, power, blocks);
        power = power * next;
    }
    put_matrix(words, shape.arrangement, shape.powers as usize, step, Blocks::AsTheyAre);
    power.zeroize();
    next.zeroize();
}

fn put<E: TableElement>(words: &mut [E::Word], element: usize, value: E) {
    words[4 * element..][..4].copy_from_slice(&value.words());
}

/// Writes the matrix of multiplication by `element`, for blocks in this byte order, to where the kernel expects the matrix for block `t` of
/// a row.
fn put_matrix<E: TableElement>(words: &mut [E::Word], arrangement: Arrangement, t: usize, element: E, blocks: Blocks) {
    let mut rows = element.matrix(blocks);
    for (j, row) in rows.iter().enumerate() {
        let (first, step) = place(arrangement, t, j);
        for (q, word) in row.iter().enumerate() {
            words[first + q * step] = *word;
        }
    }
    rows.zeroize();
}

/// The position of the words for output bit `j` in the matrix for block `t` of a row: the first word, and the step to the next.
fn place(arrangement: Arrangement, t: usize, j: usize) -> (usize, usize) {
    match arrangement {
        // Core matrices of 8 columns of 16 bytes. Thread (g, q) of a warp has the columns 8 i + 2 q and 8 i + 2 q + 1 of a row: they are
        // the bits of word q, so that i < 8 are its lower half.
        Arrangement::Wgmma => {
            let (word, half, i, z) = (j / 32, j / 16 % 2, j % 16 / 2, j % 2);
            let column = 8 * (i + 8 * half) + 2 * word + z;
            (MATRIX * t + 4 * column, 1)
        }
        // For product m of eight, lane 4 g + q of a warp has word q of rows g and g + 8, for an even t and for the next one: 16
        // neighbouring output bits in all.
        Arrangement::Mma => {
            let (g, m, h) = (j / 16, j % 16 / 2, j % 2);
            (2 * MATRIX * (t / 2) + 128 * m + 16 * g + 2 * (t % 2) + h, 4)
        }
        Arrangement::Element => unreachable!("no matrix"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 4] = [
        Shape { arrangement: Arrangement::Wgmma, powers: 16, rows: 64 },
        Shape { arrangement: Arrangement::Mma, powers: 16, rows: 64 },
        Shape { arrangement: Arrangement::Mma, powers: 2, rows: 8 },
        Shape { arrangement: Arrangement::Element, powers: 1, rows: 256 },
    ];

    fn key() -> Element {
        Element::from_block(std::array::from_fn(|i| (37 * i + 11) as u8))
    }

    fn word_at(arrangement: Arrangement, t: usize, j: usize, q: usize) -> usize {
        let (first, step) = place(arrangement, t, j);
        first + q * step
    }

    /// The computation of a kernel, word by word, using the tables alone.
    fn by_tables(words: &[u32], shape: &Shape, units: u32, blocks: &[u128]) -> Element {
        let element = |at: usize| {
            let bits = (0..4).fold(0, |bits, i| bits | u128::from(words[at + i]) << (32 * i));
            Element::from_block(bits.to_le_bytes().map(u8::reverse_bits))
        };
        let times = |t: usize, x: u128| match shape.arrangement {
            Arrangement::Element if t == 0 && words[4] == 0 => x,
            Arrangement::Element if t == 0 => x.swap_bytes(),
            Arrangement::Element => u128::from_le_bytes((element(0) * Element::from_block(x.to_le_bytes())).to_block()),
            arrangement => (0..128).fold(0, |y, j| {
                let ones: u32 =
                    (0..4).map(|q| (words[word_at(arrangement, t, j, q)] & (x >> (32 * q)) as u32).count_ones()).sum();
                y | u128::from(ones % 2) << j
            }),
        };
        let (powers, rows, tile) = (shape.powers as usize, shape.rows as usize, shape.tile_blocks() as usize);
        let mut sum = Element::default();
        for u in 0..units as usize {
            for r in 0..rows {
                let mut y = 0;
                for n in (u..blocks.len().div_ceil(tile)).step_by(units as usize).collect::<Vec<_>>().into_iter().rev()
                {
                    y = times(powers, y);
                    for t in 0..powers {
                        // Counted from the end, where the end is the position after the last block.
                        let from_end = (n + 1) * tile - (r / 8 * 8 * powers + 8 * t + r % 8);
                        let x = blocks.len().checked_sub(from_end).map_or(0, |at| blocks[at]);
                        y ^= times(t, x);
                    }
                }
                let row = element(shape.matrix_words() + 4 * r);
                let unit = element(shape.matrix_words() + 4 * (rows + u));
                sum = sum + Element::from_block(y.to_le_bytes()) * row * unit;
            }
        }
        sum
    }

    #[test]
    fn tables_give_the_hash() {
        for shape in SHAPES {
            shape.check().unwrap();
            for (units, blocks) in [(1, 3), (2, 5 * shape.tile_blocks() / 2), (3, 1)] {
                let data: Vec<u8> = (0..16 * blocks).map(|i| ((i * i) >> 3) as u8).collect();
                let in_memory: Vec<u128> = data.as_chunks().0.iter().map(|block| u128::from_le_bytes(*block)).collect();
                for blocks in Blocks::ALL {
                    let words = tables(blocks, key(), &shape, units);
                    assert_eq!(words.len(), shape.table_words(units));
                    let hash = by_tables(&words, &shape, units, &in_memory);
                    assert!(hash == blocks.hash(key(), &data), "{shape:?}, {units} units, {blocks:?}");
                }
            }
        }
    }

    #[test]
    fn shapes_without_tables_are_refused() {
        for (arrangement, powers, rows) in [
            (Arrangement::Wgmma, 15, 64),
            (Arrangement::Mma, 0, 64),
            (Arrangement::Element, 2, 8),
            (Arrangement::Wgmma, 16, 60),
        ] {
            assert!(Shape { arrangement, powers, rows }.check().is_err());
        }
    }

    #[test]
    fn no_word_of_a_matrix_is_written_twice() {
        for shape in SHAPES.into_iter().filter(|shape| shape.arrangement != Arrangement::Element) {
            let mut places: Vec<usize> = (0..=shape.powers as usize)
                .flat_map(|t| (0..128).flat_map(move |j| (0..4).map(move |q| word_at(shape.arrangement, t, j, q))))
                .collect();
            places.sort_unstable();
            let words = places.len();
            places.dedup();
            assert_eq!((places.len(), words), (words, MATRIX * (shape.powers as usize + 1)));
        }
    }
}
