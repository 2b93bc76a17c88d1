//! Sums and products of integers with unknown bits. A bit of the result is the sum of the bits in its column and of the carry. What a carry
//! is, is not followed: where one can be, the bit is an unknown one of its own. So a result holds for all carries, and those that occur
//! are among them.

use crate::proof::anf::{Bit, Cells};
use crate::proof::value::Value;

/// The lowest 64 bits of a sum, of which each column is given as the sum over GF(2) of its bits, and how many are not 0.
fn total(cells: &mut Cells, column: impl Fn(usize) -> (Bit, usize)) -> [Bit; 64] {
    // The most that is carried into a column.
    let mut carry = 0;
    std::array::from_fn(|i| {
        let (sum, ones) = column(i);
        let bit = if carry > 0 { cells.unknown() } else { sum };
        carry = (carry + ones) / 2;
        bit
    })
}

fn column(bits: impl Iterator<Item = Bit>) -> (Bit, usize) {
    bits.filter(|bit| *bit != Bit::ZERO).fold((Bit::ZERO, 0), |(sum, ones), bit| (sum ^ bit, ones + 1))
}

/// The sum of two numbers modulo 2^64.
pub(crate) fn sum(cells: &mut Cells, a: &Value, b: &Value) -> Value {
    let (a, b) = (a.bits64(), b.bits64());
    Value::of_bits64(total(cells, |i| column([a[i], b[i]].into_iter())))
}

/// The product of two numbers modulo 2^64.
pub(crate) fn product(cells: &mut Cells, a: &Value, b: &Value) -> Value {
    let (a, b) = (a.bits64(), b.bits64());
    Value::of_bits64(total(cells, |i| column((0..=i).map(|j| a[j].times(b[i - j])))))
}

/// A count with this lowest bit, which is at most `most`, as a word: its other bits are not followed.
pub(crate) fn word_of_count(cells: &mut Cells, lowest: Bit, most: u32) -> Value {
    let bits = (u32::BITS - most.leading_zeros()) as usize;
    let bit = |i| if i >= bits { Bit::ZERO } else { cells.unknown() };
    let mut word: [Bit; 32] = std::array::from_fn(bit);
    word[0] = lowest;
    Value::of_bits(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits that are followed are the result's, for all numbers whose ones are among those of a mask; and none is followed that is not.
    #[test]
    fn bits_that_are_followed_have_no_carry() {
        let mut cells = Cells::new();
        let subsets = |mask: u64| (0..128).filter(move |number| number & !mask == 0);
        for (mask, other) in [(0b10_0001, 0b1_0001), (0b11, 0b1010), (0b111_1111, 0b100), (0b1011, 0b1001)] {
            let [a, b] = [mask, other].map(|mask| -> [Bit; 64] {
                std::array::from_fn(|i| if mask >> i & 1 == 1 { cells.unknown() } else { Bit::ZERO })
            });
            let values = [a, b].map(Value::of_bits64);
            let found = product(&mut cells, &values[0], &values[1]).bits64();
            let of_sum = sum(&mut cells, &values[0], &values[1]).bits64();
            for i in 0..12 {
                let term = |x: u64, y: u64, j: usize| x >> j & y >> (i - j) & 1;
                let parity = |x, y| (0..=i).map(|j| term(x, y, j)).sum::<u64>() & 1;
                let no_carry = subsets(mask).all(|x| subsets(other).all(|y| (x * y) >> i & 1 == parity(x, y)));
                let is_followed = found[i] == column((0..=i).map(|j| a[j].times(b[i - j]))).0;
                assert!(no_carry || !is_followed, "bit {i} of a product of {mask:b} and {other:b}");
                let none_in_sum = subsets(mask).all(|x| subsets(other).all(|y| (x + y) >> i & 1 == (x ^ y) >> i & 1));
                assert_eq!(of_sum[i] == a[i] ^ b[i], none_in_sum, "bit {i} of a sum of {mask:b} and {other:b}");
            }
        }
        // With holes, as the hash kernels multiply: every fourth bit is followed.
        let holes: [Bit; 64] = std::array::from_fn(|i| if i % 4 == 0 && i < 32 { cells.unknown() } else { Bit::ZERO });
        let squared = product(&mut cells, &Value::of_bits64(holes), &Value::of_bits64(holes)).bits64();
        for i in (0..60).step_by(4) {
            assert_eq!(squared[i], column((0..=i).map(|j| holes[j].times(holes[i - j]))).0);
        }
        let count = word_of_count(&mut cells, holes[0], 9).bits();
        assert_eq!((count[0], count[4]), (holes[0], Bit::ZERO));
        assert_ne!(count[3], Bit::ZERO);
    }
}
