//! The S-box built from the tower field GF(((2^2)^2)^2) in normal bases.
//!
//! After D. Canright, "A Very Compact S-Box for AES", CHES 2005. Over a field of q elements, a root r of t^2 + t + n
//! gives the normal basis (r, r^q) of the quadratic extension, in which
//!
//! - the product of (a0, a1) and (b0, b1) is (a0 b0 + f, a1 b1 + f) with f = n (a0 + a1)(b0 + b1);
//! - the inverse of (a0, a1) is (a1 / m, a0 / m) with the norm m = a0 a1 + n (a0 + a1)^2.
//!
//! At three levels, this turns inversion in GF(2^8) into layers of sums and of products of bits. As in the paper,
//! products share the sums of their operands; the changes of basis and the affine map merge with the sums next to
//! them; and where the norm contains ab + a + b, that is one gate, a OR b. Here each layer of sums is one network of
//! XORs, and all choices of ORs are tried.
//!
//! With the paper's bases, the result has 120 two-input gates, the same number as the paper's own circuit, and 125 for the inverse.

use super::Sbox;
use crate::circuit::{Circuit, Wire};
use crate::linear::xor_network::xor_network;
use aes_bitslice_core::aes::{Direction, field, sbox};
use std::collections::HashMap;

/// See the module.
pub static CANRIGHT: Sbox = Sbox {
    name: "canright",
    source: "Canright, \"A Very Compact S-Box for AES\", CHES 2005: tower field in normal bases",
    forward: || Bases::default().circuit(Direction::Encrypt),
    inverse: || Bases::default().circuit(Direction::Decrypt),
    in_other_bases: |_| Vec::new(),
};

/// Normal bases of the tower: of GF(2^2) over GF(2), of GF(2^4) over GF(2^2), of GF(2^8) over GF(2^4).
///
/// Each is a root of some t^2 + t + n, and its conjugate. (The paper also considers only roots of trace one.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bases {
    roots: [u8; 3],
}

/// The bases that the paper found to be best.
impl Default for Bases {
    fn default() -> Self {
        Self { roots: [0xbd, 0x5c, 0xff] }
    }
}

/// A sum of bits: bit `k` of the mask stands for the `k`th bit.
type Sum = u128;

impl Bases {
    /// The bases with these roots, as elements of GF(2^8) in the representation of FIPS 197; `None` if some root and
    /// its conjugate (the powers 2, 4 and 16) do not add up to 1.
    pub fn new(roots: [u8; 3]) -> Option<Self> {
        let bases = Self { roots };
        (1..=3).all(|level| bases.roots[level - 1] ^ bases.conjugate(level) == 1).then_some(bases)
    }

    /// All 128 bases.
    pub fn all() -> impl Iterator<Item = Self> {
        let roots = |q| (0..=255u8).filter(move |&r| field::pow(r, q) ^ r == 1);
        roots(2).flat_map(move |w| roots(4).flat_map(move |z| roots(16).filter_map(move |y| Self::new([w, z, y]))))
    }

    /// The conjugate of the root by which level `level`, of 2^level bits, extends the level below.
    fn conjugate(&self, level: usize) -> u8 {
        field::pow(self.roots[level - 1], 1 << (1 << (level - 1)))
    }

    /// n: the product of the root and its conjugate.
    fn norm(&self, level: usize) -> u8 {
        field::mul(self.roots[level - 1], self.conjugate(level))
    }

    /// The basis of a level over GF(2).
    fn basis(&self, level: usize) -> Vec<u8> {
        if level == 0 {
            return vec![1];
        }
        let below = self.basis(level - 1);
        let multiples = |root| below.iter().map(move |&b| field::mul(b, root));
        multiples(self.roots[level - 1]).chain(multiples(self.conjugate(level))).collect()
    }

    /// An element's bits in the basis of a level.
    fn coordinates(&self, level: usize, element: u8) -> usize {
        let basis = self.basis(level);
        let sum = |bits: usize| basis.iter().enumerate().fold(0, |e, (i, b)| e ^ (b * (bits >> i & 1) as u8));
        (0..1 << basis.len()).find(|&bits| sum(bits) == element).expect("an element of the level's field")
    }

    /// The bits of the image of an element under a map that is linear over GF(2), given the bits of the element.
    fn linear_map(&self, level: usize, map: impl Fn(u8) -> u8, bits: &[Sum]) -> Vec<Sum> {
        let columns: Vec<usize> = self.basis(level).into_iter().map(|b| self.coordinates(level, map(b))).collect();
        (0..bits.len()).map(|i| select(bits, |j| columns[j] >> i & 1 == 1)).collect()
    }

    /// The product of two elements: appends the pairs of sums to multiply, and returns its bits as sums of those products.
    fn multiply(&self, level: usize, a: &[Sum], b: &[Sum], pairs: &mut Vec<(Sum, Sum)>) -> Vec<Sum> {
        if level == 0 {
            pairs.push((a[0], b[0]));
            return vec![1 << (pairs.len() - 1)];
        }
        let ((a0, a1), (b0, b1)) = (a.split_at(a.len() / 2), b.split_at(b.len() / 2));
        let low = self.multiply(level - 1, a0, b0, pairs);
        let high = self.multiply(level - 1, a1, b1, pairs);
        let f = self.multiply(level - 1, &add(a0, a1), &add(b0, b1), pairs);
        let f = self.linear_map(level - 1, |e| field::mul(self.norm(level), e), &f);
        [add(&low, &f), add(&high, &f)].concat()
    }

    /// The inverse of an element whose bits are sums of `wires`: returns other wires, and its bits as sums of those.
    fn invert(&self, circuit: &mut Circuit, level: usize, wires: &[Wire], bits: &[Sum]) -> (Vec<Wire>, Vec<Sum>) {
        let (a0, a1) = bits.split_at(bits.len() / 2);
        if level == 1 {
            // In GF(2^2) the inverse is the square, and that is the conjugate.
            return (wires.to_vec(), [a1, a0].concat());
        }
        let mut pairs = Vec::new();
        let products = self.multiply(level - 1, a0, a1, &mut pairs);
        let scaled_square = |e| field::mul(self.norm(level), field::mul(e, e));
        let sums = self.linear_map(level - 1, scaled_square, &add(a0, a1));
        let (norm, operands) = add_norm(circuit, wires, &pairs, &products, &sums);

        let norm_bits: Vec<Sum> = (0..norm.len()).map(|i| 1 << i).collect();
        let (wires, inverse) = self.invert(circuit, level - 1, &norm, &norm_bits);

        let mut pairs = Vec::new();
        let low = self.multiply(level - 1, &inverse, a1, &mut pairs);
        let high = self.multiply(level - 1, &inverse, a0, &mut pairs);
        let factors: Vec<Sum> = pairs.iter().map(|(factor, _)| *factor).collect();
        let factors = xor_network(circuit, &wires, &factors);
        let products = factors.iter().zip(&pairs).map(|(f, (_, a))| circuit.and(*f, operands[a])).collect();
        (products, [low, high].concat())
    }

    /// The S-box or its inverse: inputs `x0` to `x7`, outputs `y0` to `y7`, least significant bit first.
    pub fn circuit(&self, direction: Direction) -> Circuit {
        let linear = |b: u8| sbox::affine(b) ^ sbox::affine(0);
        let inverse_linear = |b: u8| (0..=255).find(|&a| linear(a) == b).expect("a bijection");
        let identity = |b: u8| b;
        let (before, after): (&dyn Fn(u8) -> u8, &dyn Fn(u8) -> u8) = match direction {
            Direction::Encrypt => (&identity, &linear),
            Direction::Decrypt => (&inverse_linear, &identity),
        };
        let mut circuit = Circuit::new("canright", (0..8).map(|i| format!("x{i}")));
        let inputs: Vec<Wire> = (0..8).map(|i| circuit.input(i)).collect();
        let columns: Vec<usize> = (0..8).map(|j| self.coordinates(3, before(1 << j))).collect();
        let input_bits: Vec<Sum> = (0..8).map(|j| 1 << j).collect();
        let bits: Vec<Sum> = (0..8).map(|i| select(&input_bits, |j| columns[j] >> i & 1 == 1)).collect();
        let (wires, inverse) = self.invert(&mut circuit, 3, &inputs, &bits);
        let basis = self.basis(3);
        let rows: Vec<Sum> = (0..8).map(|i| select(&inverse, |j| after(basis[j]) >> i & 1 == 1)).collect();
        for (i, wire) in xor_network(&mut circuit, &wires, &rows).into_iter().enumerate() {
            circuit.output(format!("y{i}"), wire);
        }
        let constant = |i: usize| sbox::affine(0) >> i & 1 == 1;
        match direction {
            Direction::Encrypt => circuit.complemented(|_| false, constant),
            Direction::Decrypt => circuit.complemented(constant, |_| false),
        }
        .pruned()
    }
}

/// Element by element.
fn add(a: &[Sum], b: &[Sum]) -> Vec<Sum> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

/// The sum of the selected elements.
fn select(sums: &[Sum], selected: impl Fn(usize) -> bool) -> Sum {
    (0..sums.len()).filter(|&i| selected(i)).fold(0, |s, i| s ^ sums[i])
}

/// Adds the bits of a norm: bit `i` is the sum of the products `products[i]` of `pairs`, and of the wires `sums[i]`. Returns them, and the
/// operands of the products, keyed by the sums that they represent.
///
/// Where the sum of wires is the sum of all operands of some of the bit's products, those products become ORs instead. Of all combinations,
/// the one with the fewest gates is chosen.
fn add_norm(
    circuit: &mut Circuit,
    wires: &[Wire],
    pairs: &[(Sum, Sum)],
    products: &[Sum],
    sums: &[Sum],
) -> (Vec<Wire>, HashMap<Sum, Wire>) {
    let operand_sums: Vec<Sum> = pairs.iter().map(|(a, b)| a ^ b).collect();
    // For each bit, the sets of products that may be ORs.
    let choices: Vec<Vec<Sum>> = products
        .iter()
        .zip(sums)
        .map(|(&products, &sum)| {
            let absorbs = |ors: Sum| ors & !products == 0 && select(&operand_sums, |k| ors >> k & 1 == 1) == sum;
            (0..1 << pairs.len()).filter(|&ors| ors == 0 || absorbs(ors)).collect()
        })
        .collect();
    let attempt = |n: usize| {
        // One choice for each bit: the digits of n.
        let mut rest = n;
        let mut digit = |base: usize| (rest % base, rest /= base).0;
        let ors: Vec<Sum> = choices.iter().map(|sets| sets[digit(sets.len())]).collect();
        let sums: Vec<Sum> = sums.iter().zip(&ors).map(|(&sum, &ors)| if ors == 0 { sum } else { 0 }).collect();

        let mut circuit = circuit.clone();
        let needed: Vec<Sum> =
            pairs.iter().flat_map(|&(a, b)| [a, b]).chain(sums.iter().copied().filter(|&s| s != 0)).collect();
        let operands: HashMap<Sum, Wire> =
            needed.iter().copied().zip(xor_network(&mut circuit, wires, &needed)).collect();
        let mut terms: Vec<Wire> = Vec::new();
        let mut rows: Vec<Sum> = vec![0; products.len()];
        let mut add_term = |wire: Wire, of: &dyn Fn(usize) -> bool| {
            (0..rows.len()).filter(|&i| of(i)).for_each(|i| rows[i] |= 1 << terms.len());
            terms.push(wire);
        };
        for (k, (a, b)) in pairs.iter().enumerate() {
            let is_and = |i: usize| (products[i] & !ors[i]) >> k & 1 == 1;
            let is_or = |i: usize| ors[i] >> k & 1 == 1;
            if (0..products.len()).any(is_and) {
                add_term(circuit.and(operands[a], operands[b]), &is_and);
            }
            if (0..products.len()).any(is_or) {
                add_term(circuit.or(operands[a], operands[b]), &is_or);
            }
        }
        for (i, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum != 0) {
            add_term(operands[sum], &|row| row == i);
        }
        let norm = xor_network(&mut circuit, &terms, &rows);
        (circuit, norm, operands)
    };
    let attempts = choices.iter().map(Vec::len).product();
    let (best, norm, operands) =
        (0..attempts).map(attempt).min_by_key(|(c, ..)| c.gates().len()).expect("at least one way");
    *circuit = best;
    (norm, operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_basis_gives_the_sbox() {
        let mut count = 0;
        for bases in Bases::all() {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let circuit = bases.circuit(direction);
                let table = sbox::table(direction);
                // All 256 inputs, 128 at a time: bit `i` of the inputs `first` to `first + 127`, and of the table's entries for them.
                for first in [0, 128] {
                    let bit = |i: usize, of: &dyn Fn(usize) -> u8| {
                        (0..128).fold(0u128, |word, x| word | u128::from(of(first + x) >> i & 1) << x)
                    };
                    let inputs: Vec<u128> = (0..8).map(|i| bit(i, &|x| x as u8)).collect();
                    let outputs: Vec<u128> = (0..8).map(|i| bit(i, &|x| table[x])).collect();
                    assert_eq!(circuit.evaluate(&inputs), outputs, "{bases:x?} {direction:?}");
                }
            }
            count += 1;
        }
        assert_eq!(count, 128);
        assert!(Bases::all().any(|b| b == Bases::default()));
    }

    #[test]
    fn roots_that_make_no_basis_are_refused() {
        assert_eq!(Bases::new([0xbd, 0x5c, 0xff]), Some(Bases::default()));
        for roots in [[0xbe, 0x5c, 0xff], [0xbd, 0x5b, 0xff], [0xbd, 0x5c, 0xf0], [0, 0, 0]] {
            assert_eq!(Bases::new(roots), None);
        }
    }
}
