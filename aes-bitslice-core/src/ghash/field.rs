//! GF(2^128) modulo x^128 + x^7 + x^2 + x + 1, and GHASH by its definition (SP 800-38D, sections 6.3 and 6.4).

use std::ops::{Add, Mul};
use zeroize::Zeroize;

/// An element of the field: bit `i` is the coefficient of x^i.
///
/// In a block, the coefficient of x^i is bit 7 - i % 8 of byte i / 8.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Element(u128);

impl Element {
    /// The multiplicative identity.
    pub const ONE: Self = Self(1);

    /// The element that a block represents.
    pub fn from_block(block: [u8; 16]) -> Self {
        Self(reversed_bytes(u128::from_le_bytes(block)))
    }

    /// The block that represents the element.
    pub fn to_block(self) -> [u8; 16] {
        reversed_bytes(self.0).to_le_bytes()
    }

    /// The coefficients, 32 per word, the coefficient of x^0 lowest.
    pub fn words(self) -> [u32; 4] {
        std::array::from_fn(|i| (self.0 >> (32 * i)) as u32)
    }

    /// This element to the power `n`, which is not secret.
    pub fn pow(self, n: u64) -> Self {
        power(Self::ONE, self, n)
    }

    /// The matrix of multiplication by this element, as a map of blocks: `rows[j]` has bit `k` set if bit `k` of a block in memory order
    /// (bit k % 8 of byte k / 8) contributes to bit `j` of the product.
    pub(super) fn matrix(self) -> [u128; 128] {
        // Row j by coefficients: bit i is the coefficient of x^j in x^i times this element. The last row is read off the products. Row j
        // gives row j - 1, because x times (x^i times this) is x^(i + 1) times this.
        let mut product = self;
        let last = (0..128).fold(0, |row, i| {
            let bit = product.0 >> 127;
            product = product.times_x();
            row | bit << i
        });
        let mut rows = [0; 128];
        let mut row = last;
        for j in (0..128_usize).rev() {
            // The bits of a byte are reversed in memory, in both input and output.
            rows[j ^ 7] = reversed_bytes(row);
            let beyond = row ^ row >> 1 ^ row >> 2 ^ row >> 7; // its lowest bit: the coefficient of x^j in x^128 times this
            row = row >> 1 | beyond << 127;
            if matches!(j, 0 | 1 | 2 | 7) {
                row ^= last;
            }
        }
        rows
    }

    pub(super) fn times_x(self) -> Self {
        Self(self.0 << 1 ^ 0x87 & 0_u128.wrapping_sub(self.0 >> 127))
    }
}

impl Add for Element {
    type Output = Self;
    #[expect(clippy::suspicious_arithmetic_impl, reason = "coefficients are bits, and do not carry")]
    fn add(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl Mul for Element {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let halves = |x: u128| (x as u64, (x >> 64) as u64);
        let ((x0, x1), (y0, y1)) = (halves(self.0), halves(other.0));
        let (low, high) = (carryless(x0, y0), carryless(x1, y1));
        let middle = carryless(x0 ^ x1, y0 ^ y1) ^ low ^ high;
        let (low, high) = (low ^ middle << 64, high ^ middle >> 64);
        // x^128 = x^7 + x^2 + x + 1: bits that the shifts push out at the top are first folded into the bottom of the upper half.
        let high = high ^ high >> 127 ^ high >> 126 ^ high >> 121;
        Self(low ^ high ^ high << 1 ^ high << 2 ^ high << 7)
    }
}

/// An element to the power `n`, which is not secret, where `one` is the multiplicative identity.
pub(super) fn power<E: Copy + Mul<Output = E>>(one: E, element: E, mut n: u64) -> E {
    let (mut result, mut square) = (one, element);
    while n > 0 {
        if n & 1 == 1 {
            result = result * square;
        }
        square = square * square;
        n >>= 1;
    }
    result
}

/// The product as polynomials over GF(2).
fn carryless(x: u64, y: u64) -> u128 {
    let upper = lower_half(x.reverse_bits(), y.reverse_bits()).reverse_bits() >> 1;
    u128::from(upper) << 64 | u128::from(lower_half(x, y))
}

/// The lower half of the product, by multiplication of integers with holes: one of every four bits is kept. At most sixteen products meet
/// in a bit, and only those in the highest bit, sixteen, carry further than three bits: out of the word. (Thomas Pornin, BearSSL,
/// src/hash/ghash_ctmul64.c.)
fn lower_half(x: u64, y: u64) -> u64 {
    const HOLES: u64 = 0x1111_1111_1111_1111;
    let parts = |word: u64| std::array::from_fn::<u64, 4, _>(|i| word & HOLES << i);
    let (x, y) = (parts(x), parts(y));
    (0..4).fold(0, |product, i: usize| {
        let sum = (0..4).fold(0, |sum, j| sum ^ x[j].wrapping_mul(y[(4 + i - j) % 4]));
        product | sum & HOLES << i
    })
}

/// Reverses the bits of each byte.
fn reversed_bytes(x: u128) -> u128 {
    const STEPS: [(u32, u128); 3] = [(1, u128::MAX / 3), (2, u128::MAX / 5), (4, u128::MAX / 17)];
    STEPS.into_iter().fold(x, |x, (by, mask)| x >> by & mask | (x & mask) << by)
}

impl Zeroize for Element {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// GHASH of data under the hash key `key`; a partial last block is padded with zeros.
pub fn ghash(key: Element, data: &[u8]) -> Element {
    data.chunks(16).fold(Element::default(), |hash, bytes| {
        let mut block = [0; 16];
        block[..bytes.len()].copy_from_slice(bytes);
        (hash + Element::from_block(block)) * key
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(hex: &str) -> [u8; 16] {
        u128::from_str_radix(hex, 16).unwrap().to_be_bytes()
    }

    /// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 2 and 4; case 4 has a partial last block.
    #[test]
    fn published_hashes() {
        let key = Element::from_block(block("66e94bd4ef8a2c3b884cfa59ca342b2e"));
        let data = [block("0388dace60b6a392f328c2b971b2fe78"), block("80")].concat();
        assert_eq!(ghash(key, &data).to_block(), block("f38cbb1ad69223dcc3457ae5b6b0f885"));

        let key = Element::from_block(block("b83b533708bf535d0aa6e52980d53b78"));
        let hex = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
        let text: Vec<u8> =
            (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect();
        let associated = [block("feedfacedeadbeeffeedfacedeadbeef").to_vec(), vec![0xab, 0xad, 0xda, 0xd2]].concat();
        let parts = [ghash(key, &associated), ghash(key, &text), ghash(key, &block("a000000000000001e0"))];
        let whole = parts[0] * key.pow(5) + parts[1] * key + parts[2];
        assert_eq!(whole.to_block(), block("698e57f70e6ecc7fd9463b7260a9ae5f"));
    }

    #[test]
    fn a_field() {
        let (x, y, z) = (Element(0x1234 << 100 | 0xfedc), Element(0x5555 << 77 | 3), Element(u128::MAX / 7));
        assert!(x * Element::ONE == x && x * y == y * x && (x * y) * z == x * (y * z) && x * (y + z) == x * y + x * z);
        assert!(x.pow(0) == Element::ONE && x.pow(5) == x * x * x * x * x);
        // The multiplicative group has order 2^128 - 1.
        assert!((x.pow(u64::MAX) * x).pow(1 << 32).pow(1 << 32) == x);
        assert!(Element::from_block(x.to_block()) == x);
    }

    #[test]
    fn a_matrix_is_a_product() {
        for key in [Element::ONE, Element(2), Element(u128::MAX / 3), Element(0xabc << 116 | 0x1357)] {
            let rows = key.matrix();
            for x in [Element::ONE, Element(1 << 127), Element(u128::MAX / 11)] {
                let bits = u128::from_le_bytes(x.to_block());
                let product = (0..128).fold(0, |word, j| word | u128::from((rows[j] & bits).count_ones() % 2) << j);
                assert!(product == u128::from_le_bytes((key * x).to_block()));
            }
        }
    }
}
