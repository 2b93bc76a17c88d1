//! GF(2^128) and GHASH as SP 800-38D defines them, on formal bits. Elements are also what the runtime's function makes tables of.

use crate::proof::aes::Block;
use crate::proof::anf::Bit;
use crate::proof::memory::Byte;
use aes_bitslice_core::ghash::{Blocks, TableElement};
use std::ops::{Add, Mul};
use zeroize::{DefaultIsZeroes, Zeroize};

/// A word of 32 formal bits; bit 0 is the least significant.
#[derive(Clone, Copy)]
pub struct Word([Bit; 32]);

impl Word {
    /// Its bytes, the least significant first.
    pub fn bytes(&self) -> &[Byte] {
        self.0.as_chunks().0
    }
}

impl From<u32> for Word {
    fn from(number: u32) -> Self {
        Self(std::array::from_fn(|i| Bit::constant(number >> i & 1 == 1)))
    }
}

impl Default for Word {
    fn default() -> Self {
        0.into()
    }
}

impl DefaultIsZeroes for Word {}

/// An element of GF(2^128): bit `i` is the coefficient of x^i.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Element([Bit; 128]);

/// The bit of a block that is the coefficient of x^i (SP 800-38D, section 6.3: the first bit of a byte is its most significant one).
fn place(i: usize) -> usize {
    i ^ 7
}

impl Element {
    /// The element that a block represents.
    pub fn from_block(block: &Block) -> Self {
        Self(std::array::from_fn(|i| block[place(i)]))
    }

    /// The block that represents the element.
    pub fn to_block(self) -> Block {
        std::array::from_fn(|i| self.0[place(i)])
    }

    /// Its product with x, modulo x^128 + x^7 + x^2 + x + 1.
    fn times_x(self) -> Self {
        let top = self.0[127];
        Self(std::array::from_fn(|i| match i {
            0 => top,
            1 | 2 | 7 => self.0[i - 1] ^ top,
            _ => self.0[i - 1],
        }))
    }
}

/// The product of polynomials of as many coefficients, a power of 2, by three products of halves (Karatsuba).
fn product(a: &[Bit], b: &[Bit]) -> Vec<Bit> {
    if let ([a], [b]) = (a, b) {
        return vec![a.times(*b), Bit::ZERO];
    }
    let half = a.len() / 2;
    let halves_together = |of: &[Bit]| -> Vec<Bit> { (0..half).map(|i| of[i] ^ of[half + i]).collect() };
    let (low, high) = (product(&a[..half], &b[..half]), product(&a[half..], &b[half..]));
    let middle = product(&halves_together(a), &halves_together(b));
    let mut result = [&low[..], &high].concat();
    for i in 0..2 * half {
        result[half + i] ^= middle[i] ^ low[i] ^ high[i];
    }
    result
}

impl Mul for Element {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let mut of_powers = product(&self.0, &other.0);
        // x^128 = x^7 + x^2 + x + 1, from the highest power down.
        for i in (128..256).rev() {
            for down in [128, 127, 126, 121] {
                let bit = of_powers[i];
                of_powers[i - down] ^= bit;
            }
        }
        Self(std::array::from_fn(|i| of_powers[i]))
    }
}

impl Add for Element {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
}

impl Zeroize for Element {
    fn zeroize(&mut self) {
        self.0 = [Bit::ZERO; 128];
    }
}

impl TableElement for Element {
    type Word = Word;
    const ONE: Self = {
        let mut one = [Bit::ZERO; 128];
        one[0] = Bit::ONE;
        Self(one)
    };

    fn words(self) -> [Word; 4] {
        std::array::from_fn(|i| Word(std::array::from_fn(|bit| self.0[32 * i + bit])))
    }

    fn matrix(self, blocks: Blocks) -> [[Word; 4]; 128] {
        // Column `i`, by coefficients: the product with x^i.
        let columns: Vec<Self> = std::iter::successors(Some(self), |column| Some(column.times_x())).take(128).collect();
        std::array::from_fn(|row| {
            std::array::from_fn(|word| {
                Word(std::array::from_fn(|bit| {
                    let at = 32 * word + bit;
                    let byte = if blocks == Blocks::Reversed { 15 - at / 8 } else { at / 8 };
                    columns[place(8 * byte + at % 8)].0[place(row)]
                }))
            })
        })
    }
}

/// Blocks of bytes, the last one padded with zeros, in this byte order.
pub fn blocks_of(bytes: &[Byte], order: Blocks) -> Vec<Block> {
    let block = |bytes: &[Byte]| -> Block {
        let mut block = [Bit::ZERO; 128];
        for (i, byte) in bytes.iter().enumerate() {
            let at = if order == Blocks::Reversed { 15 - i } else { i };
            block[8 * at..][..8].copy_from_slice(byte);
        }
        block
    };
    bytes.chunks(16).map(block).collect()
}

/// GHASH (SP 800-38D, section 6.4).
pub fn ghash(key: Element, blocks: &[Block]) -> Element {
    blocks.iter().fold(Element([Bit::ZERO; 128]), |hash, block| (hash + Element::from_block(block)) * key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::aes;
    use crate::proof::anf::Cells;

    /// The product of section 6.3, algorithm 1, for all elements: V runs through the products with powers of x.
    #[test]
    fn the_product_is_as_defined() {
        let mut cells = Cells::new();
        let [a, b] = std::array::from_fn(|_| Element::from_block(&aes::unknown(&mut cells)));
        let (mut z, mut v) = (Element([Bit::ZERO; 128]), b);
        for bit in a.0 {
            z = z + Element(v.0.map(|coefficient| coefficient.times(bit)));
            v = v.times_x();
        }
        assert_eq!(a * b, z);
        assert_eq!(a * Element::ONE, a);
        assert_ne!(a * b, a * a);
        // Rows of a matrix are sums of the same products.
        for blocks in Blocks::ALL {
            let block = aes::unknown(&mut cells);
            let by_rows: Block = a.matrix(blocks).map(|row| {
                let bits = row.iter().flat_map(|word| word.0);
                bits.zip(block).fold(Bit::ZERO, |sum, (entry, bit)| sum ^ entry.times(bit))
            });
            let mut in_order = block;
            if blocks == Blocks::Reversed {
                in_order.as_chunks_mut::<8>().0.reverse();
            }
            assert_eq!(by_rows, (a * Element::from_block(&in_order)).to_block());
        }
    }

    /// What launches for parts of a message add up to: each hash is multiplied by H once for each block after the part. With the hash of the
    /// additional data, the block of lengths and the mask in the addend, this is GCM's tag (section 7.1).
    #[test]
    fn parts_make_the_tag() {
        let mut cells = Cells::new();
        let mut blocks = |count| -> Vec<Block> { (0..count).map(|_| aes::unknown(&mut cells)).collect() };
        let (key, mask) = (Element::from_block(&blocks(1)[0]), Element::from_block(&blocks(1)[0]));
        let (aad, first, second, lengths) = (blocks(2), blocks(3), blocks(2), blocks(1));
        let tag = ghash(key, &[&aad[..], &first, &second, &lengths].concat()) + mask;
        let factor = key;
        let addend = ghash(key, &aad) * power(key, 6) + Element::from_block(&lengths[0]) * key + mask;
        assert_eq!(ghash(key, &[&first[..], &second].concat()) * factor + addend, tag);
        assert_eq!(ghash(key, &first) * power(key, 3) + (ghash(key, &second) * factor + addend), tag);
    }

    fn power(key: Element, count: usize) -> Element {
        (0..count).fold(Element::ONE, |power, _| power * key)
    }
}
