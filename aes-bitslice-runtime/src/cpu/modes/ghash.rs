//! GHASH (SP 800-38D, section 6.4) and POLYVAL (RFC 8452, section 3), with products of many blocks that are reduced once.
//!
//! Elements are in the form of POLYVAL: bit i of the number that the bytes are, the lowest first, is the coefficient of x^i, and the
//! product of two is divided by x^128, which the reduction does (P. L. Montgomery's method; S. Gueron, "A New Interpretation for the
//! GHASH Authenticator of AES-GCM", 2023). A block of GHASH with its bytes reversed is such an element, once H is multiplied by x.

use crate::cpu::lanes::Lanes;
use crate::cpu::modes::{FEW, MOST_BLOCKS, WIDE, load};
use aes_bitslice_core::ghash::Blocks;
use zeroize::Zeroize;

/// The number of powers of H: for the blocks hashed at a time and a last one, and whole vectors of them.
const POWERS: usize = (WIDE + 1) * MOST_BLOCKS;

/// Powers of H, of which a kernel uses as many as it hashes blocks at a time. The highest is first, and zeros follow, which vectors that
/// begin with low powers end with.
#[repr(align(64))]
pub(crate) struct Powers([u8; 16 * (POWERS + MOST_BLOCKS)]);

impl Default for Powers {
    fn default() -> Self {
        Self([0; _])
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Powers {
    /// The powers from H^n on.
    #[inline(always)]
    fn from(&self, n: usize) -> &[u8] {
        &self.0[16 * (POWERS - n)..]
    }
}

/// A sum of products that are not reduced, in each lane.
#[derive(Clone, Copy)]
pub(super) struct Sum<L: Lanes> {
    l: L,
    pub(super) low: L::Vector,
    pub(super) middle: L::Vector,
    pub(super) high: L::Vector,
}

impl<L: Lanes> Sum<L> {
    #[inline(always)]
    pub(super) fn new(l: L) -> Self {
        Self { l, low: l.zero(), middle: l.zero(), high: l.zero() }
    }

    /// Adds products of pairs of elements.
    #[inline(always)]
    pub(super) fn add(&mut self, a: L::Vector, b: L::Vector) {
        let (l, [low, high]) = (self.l, self.add_middle(a, b));
        self.low = l.xor(self.low, low);
        self.high = l.xor(self.high, high);
    }

    /// Adds products of pairs of elements to the middle, and returns those of the low and of the high halves.
    #[inline(always)]
    fn add_middle(&mut self, a: L::Vector, b: L::Vector) -> [L::Vector; 2] {
        let l = self.l;
        let outer = [l.multiply_low(a, b), l.multiply_high(a, b)];
        self.middle = l.xor3(self.middle, l.multiply_low_high(a, b), l.multiply_high_low(a, b));
        outer
    }

    /// Adds two products of low and of high halves.
    #[inline(always)]
    pub(super) fn add_outer(&mut self, a: [L::Vector; 2], b: [L::Vector; 2]) {
        let l = self.l;
        self.low = l.xor3(self.low, a[0], b[0]);
        self.high = l.xor3(self.high, a[1], b[1]);
    }

    /// The element in each lane. The polynomial is x^128 + x^127 + x^126 + x^121 + 1: twice, the low half is added to what is above it,
    /// times this, and drops out.
    #[inline(always)]
    pub(super) fn reduced(self) -> L::Vector {
        let l = self.l;
        let polynomial = l.broadcast(&(0xc2_u128 << 56).to_le_bytes());
        let mut low = l.xor(self.low, l.low_to_high(self.middle));
        let high = l.xor(self.high, l.high_to_low(self.middle));
        for _ in 0..2 {
            low = l.xor(l.swap_halves(low), l.multiply_low(low, polynomial));
        }
        l.xor(low, high)
    }
}

/// The element of H.
#[inline(always)]
pub(crate) fn element_of_key(key: &[u8; 16]) -> u128 {
    let number = u128::from_be_bytes(*key);
    let carry = number >> 127;
    (number << 1) ^ (carry | carry << 127 | carry << 126 | carry << 121)
}

/// The products of elements.
#[inline(always)]
fn product<L: Lanes>(l: L, a: L::Vector, b: L::Vector) -> L::Vector {
    let mut sum = Sum::new(l);
    sum.add(a, b);
    sum.reduced()
}

/// Computes the powers of a key of GHASH.
#[inline(always)]
pub(crate) fn powers<L: Lanes>(l: L, key: &[u8; 16], powers: &mut Powers) {
    let at = |n: usize| 16 * (POWERS - n);
    let one = l.one();
    let h = one.number(element_of_key(key));
    let mut power = h;
    for n in 1..=L::BLOCKS {
        one.store(power, &mut powers.0[at(n)..]);
        power = product(one, power, h);
    }
    let mut several = l.load(powers.from(L::BLOCKS));
    let step = l.broadcast(powers.from(L::BLOCKS).first_chunk().expect("a power"));
    for i in 2..=WIDE + 1 {
        several = product(l, several, step);
        l.store(several, &mut powers.0[at(i * L::BLOCKS)..]);
    }
}

/// The product of two elements of GHASH's field, as blocks.
#[inline(always)]
pub(crate) fn multiply<L: Lanes>(l: L, a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
    let l = l.one();
    let (a, b) = (l.reverse(l.broadcast(a)), l.number(element_of_key(b)));
    l.first_of(l.reverse(product(l, a, b)))
}

/// The hash of a message so far.
#[derive(Clone, Copy)]
pub(super) struct Hash<'p, L: Lanes> {
    pub(super) l: L,
    pub(super) powers: &'p Powers,
    pub(super) blocks: Blocks,
    /// In the first lane.
    state: L::Vector,
}

impl<'p, L: Lanes> Hash<'p, L> {
    /// Continues a hash, a block in the first lane.
    #[inline(always)]
    pub(super) fn new(l: L, powers: &'p Powers, blocks: Blocks, hash: L::Vector) -> Self {
        Self { l, powers, blocks, state: l.reverse(hash) }
    }

    /// The hash as a block, in the first lane.
    #[inline(always)]
    pub(super) fn block(self) -> L::Vector {
        self.l.reverse(self.state)
    }

    /// The element of each block.
    #[inline(always)]
    pub(super) fn elements(&self, blocks: L::Vector) -> L::Vector {
        if self.blocks == Blocks::AsTheyAre { self.l.reverse(blocks) } else { blocks }
    }

    /// Adds vector `i` of `blocks` blocks to the sum of their products.
    #[inline(always)]
    pub(super) fn add(&self, sum: &mut Sum<L>, i: usize, blocks: usize, vector: L::Vector) {
        let mut elements = self.elements(vector);
        if i == 0 {
            elements = self.l.xor(elements, self.state);
        }
        sum.add(elements, self.l.load(&self.powers.from(blocks)[i * L::BYTES..]));
    }

    /// Adds vector `i` of `blocks` blocks to the middle of the sum of their products, and returns the others.
    #[inline(always)]
    pub(super) fn add_middle(&self, sum: &mut Sum<L>, i: usize, blocks: usize, vector: L::Vector) -> [L::Vector; 2] {
        let mut elements = self.elements(vector);
        if i == 0 {
            elements = self.l.xor(elements, self.state);
        }
        sum.add_middle(elements, self.l.load(&self.powers.from(blocks)[i * L::BYTES..]))
    }

    /// Takes the sum of the products of the next blocks.
    #[inline(always)]
    pub(super) fn take(&mut self, sum: Sum<L>) {
        self.state = self.l.sum(sum.reduced());
    }

    /// Hashes vectors, of which `blocks` blocks count and the others are zero, and a last block after them, as a number.
    #[inline(always)]
    pub(super) fn vectors<const M: usize>(&mut self, vectors: &[L::Vector; M], blocks: usize, last: Option<u128>) {
        let (l, mut sum) = (self.l, Sum::new(self.l));
        let all = blocks + usize::from(last.is_some());
        if let Some(last) = last {
            let last = l.number(last);
            let last = if blocks == 0 { l.xor(last, self.state) } else { last };
            // What follows H is zeros.
            sum.add(last, l.load(self.powers.from(1)));
        }
        for (i, vector) in vectors.iter().enumerate() {
            if i * L::BLOCKS < blocks {
                self.add(&mut sum, i, all, *vector);
            }
        }
        self.take(sum);
    }

    /// Hashes data of `M` vectors if it is `WHOLE`, otherwise of at most as many.
    #[inline(always)]
    pub(super) fn step<const M: usize, const WHOLE: bool>(&mut self, bytes: &[u8]) {
        let vectors = load::<L, M, WHOLE>(self.l, bytes);
        self.vectors(&vectors, bytes.len().div_ceil(16), None);
    }

    /// Hashes bytes; a last block that is not whole is padded with zeros.
    #[inline(always)]
    pub(super) fn all(mut self, mut bytes: &[u8]) -> Self {
        while let Some((group, rest)) = bytes.split_at_checked(WIDE * L::BYTES) {
            self.step::<WIDE, true>(group);
            bytes = rest;
        }
        match bytes.len() {
            0 => {}
            few if few <= L::BYTES => self.step::<1, false>(bytes),
            few if few <= FEW * L::BYTES => self.step::<FEW, false>(bytes),
            _ => self.step::<WIDE, false>(bytes),
        }
        self
    }
}

/// Continues a hash with bytes; a last block that is not whole is padded with zeros.
#[inline(always)]
pub(crate) fn hash<L: Lanes>(l: L, powers: &Powers, blocks: Blocks, state: &mut [u8; 16], bytes: &[u8]) {
    let before = l.first(state);
    let hash = match blocks {
        Blocks::AsTheyAre => Hash::new(l, powers, Blocks::AsTheyAre, before).all(bytes),
        Blocks::Reversed => Hash::new(l, powers, Blocks::Reversed, before).all(bytes),
    };
    *state = l.first_of(hash.block());
}
