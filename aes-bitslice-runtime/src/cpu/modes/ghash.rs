//! GHASH (SP 800-38D, section 6.4) and POLYVAL (RFC 8452, section 3), with products of many blocks that are reduced once.
//!
//! Elements are in the form of POLYVAL: bit i of the number that the bytes are, the lowest first, is the coefficient of x^i, and the
//! product of two is divided by x^128, which the reduction does (P. L. Montgomery's method; S. Gueron, "A New Interpretation for the
//! GHASH Authenticator of AES-GCM", 2023). A block of GHASH with its bytes reversed is such an element, once H is multiplied by x.

use crate::cpu::lanes::Lanes;
use crate::cpu::modes::{FEW, MOST_BLOCKS, WIDE, load};
use aes_bitslice_core::ghash::Blocks;
use zeroize::optimization_barrier;

/// The number of powers of H: for the blocks hashed at a time and a last one, and whole vectors of them.
const POWERS: usize = (WIDE + 1) * MOST_BLOCKS;

/// A factor b of products, as b / x^64 and b: the two halves of an element are multiplied by these, and the sum of both products has one
/// half less to be reduced.
type Factor<V> = [V; 2];

/// Powers of H as factors, of which a kernel uses as many as it hashes blocks at a time. The highest is first, and zeros follow, which
/// vectors that begin with low powers end with.
#[repr(align(64))]
pub(crate) struct Powers(Factor<[u8; 16 * (POWERS + MOST_BLOCKS)]>);

impl Default for Powers {
    fn default() -> Self {
        Self([[0; _]; 2])
    }
}

impl Drop for Powers {
    fn drop(&mut self) {
        self.0 = [[0; _]; 2];
        optimization_barrier(self);
    }
}

impl Powers {
    /// The powers from H^n on, as many as a vector has.
    #[inline(always)]
    fn from<L: Lanes>(&self, l: L, n: usize) -> Factor<L::Vector> {
        let ([divided, powers], at) = (&self.0, 16 * (POWERS - n));
        [l.load(&divided[at..]), l.load(&powers[at..])]
    }

    /// Puts powers from H^n on in their places.
    #[inline(always)]
    fn put<L: Lanes>(&mut self, l: L, n: usize, elements: L::Vector) {
        for (place, vector) in self.0.iter_mut().zip(factor(l, elements)) {
            l.store(vector, &mut place[16 * (POWERS - n)..]);
        }
    }
}

/// A sum of products that are not reduced, in each lane: low + high x^64.
#[derive(Clone, Copy)]
pub(super) struct Sum<L: Lanes> {
    l: L,
    pub(super) low: L::Vector,
    pub(super) high: L::Vector,
}

impl<L: Lanes> Sum<L> {
    #[inline(always)]
    pub(super) fn new(l: L) -> Self {
        Self { l, low: l.zero(), high: l.zero() }
    }

    /// Adds products of elements.
    #[inline(always)]
    pub(super) fn add(&mut self, a: L::Vector, [of_low, of_high]: Factor<L::Vector>) {
        let l = self.l;
        self.low = l.xor3(self.low, l.multiply_low(a, of_low), l.multiply_high_low(a, of_high));
        self.high = l.xor3(self.high, l.multiply_low_high(a, of_low), l.multiply_high(a, of_high));
    }

    /// The element in each lane.
    #[inline(always)]
    pub(super) fn reduced(self) -> L::Vector {
        self.l.xor(self.high, divided(self.l, self.low))
    }
}

/// Elements divided by x^64. The polynomial is x^128 + x^127 + x^126 + x^121 + 1: the low half times this is added, and drops out.
#[inline(always)]
fn divided<L: Lanes>(l: L, elements: L::Vector) -> L::Vector {
    let polynomial = l.broadcast(&(0xc2_u128 << 56).to_le_bytes());
    l.xor(l.swap_halves(elements), l.multiply_low(elements, polynomial))
}

/// The element of H.
#[inline(always)]
pub(crate) fn element_of_key(key: &[u8; 16]) -> u128 {
    let number = u128::from_be_bytes(*key);
    let carry = number >> 127;
    (number << 1) ^ (carry | carry << 127 | carry << 126 | carry << 121)
}

/// Elements as factors.
#[inline(always)]
fn factor<L: Lanes>(l: L, elements: L::Vector) -> Factor<L::Vector> {
    [divided(l, elements), elements]
}

/// The products of elements.
#[inline(always)]
fn product<L: Lanes>(l: L, a: L::Vector, b: Factor<L::Vector>) -> L::Vector {
    let mut sum = Sum::new(l);
    sum.add(a, b);
    sum.reduced()
}

/// Computes the powers of a key of GHASH.
#[inline(always)]
pub(crate) fn powers<L: Lanes>(l: L, key: &[u8; 16], powers: &mut Powers) {
    powers_of(l, element_of_key(key), WIDE * L::BLOCKS + 1, powers);
}

/// Computes the powers of an element up to `most`, and as many more as fill a vector.
#[inline(always)]
pub(super) fn powers_of<L: Lanes>(l: L, element: u128, most: usize, powers: &mut Powers) {
    let one = l.one();
    let mut power = one.number(element);
    let h = factor(one, power);
    for n in 1..=L::BLOCKS {
        powers.put(one, n, power);
        power = product(one, power, h);
    }
    let [_, mut several] = powers.from(l, L::BLOCKS);
    let step = factor(l, l.broadcast(&one.first_of(powers.from(one, L::BLOCKS)[1])));
    for i in 2..=most.div_ceil(L::BLOCKS) {
        several = product(l, several, step);
        powers.put(l, i * L::BLOCKS, several);
    }
}

/// The product of two elements of GHASH's field, as blocks.
#[inline(always)]
pub(crate) fn multiply<L: Lanes>(l: L, a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
    let l = l.one();
    let (a, b) = (l.reverse(l.broadcast(a)), l.number(element_of_key(b)));
    l.first_of(l.reverse(product(l, a, factor(l, b))))
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

    /// The hash as an element, in the first lane.
    #[inline(always)]
    pub(super) fn element(self) -> L::Vector {
        self.state
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
        sum.add(elements, self.powers.from(self.l, blocks - i * L::BLOCKS));
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
            sum.add(last, self.powers.from(l, 1));
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
