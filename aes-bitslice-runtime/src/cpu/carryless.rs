//! GHASH (SP 800-38D, section 6.4) and POLYVAL (RFC 8452, section 3) by multiplications of integers, for processors without instructions
//! for products without carries.
//!
//! Of both factors, only every fifth bit is kept. A sum of products of bits is then at most 13 and ends before the next bit that counts:
//! carries fall into the gaps, and a mask removes them (T. Pornin, BearSSL, "Constant-Time Crypto", GHASH for GCM). Pornin's gaps have
//! three bits, and he computes low halves of products only, the high halves from factors with their bits reversed. Here products have twice
//! the width of their factors, and a gap of three bits would be too narrow.
//!
//! No branch and no address depends on a key or on data. The time does not either, where that of a multiplication of integers is constant:
//! not on all small processors.

use crate::cpu::modes::ghash::element_of_key;
use aes_bitslice_core::ghash::Blocks;

/// Every fifth bit of a product, from the lowest on.
const EVERY_FIFTH: u128 = 0x2108_4210_8421_0842_1084_2108_4210_8421;

/// The product without carries.
#[inline(always)]
fn product(a: u64, b: u64) -> u128 {
    let classes: [u128; 5] = std::array::from_fn(|first| EVERY_FIFTH << first);
    let [of_a, of_b] = [a, b].map(|of| classes.map(|class| u128::from(of) & class));
    (0..5).fold(0, |all, to| {
        // Wrapping, though none is too large: a check would be a branch on a secret.
        let sum = (0..5).fold(0, |sum, from| sum ^ of_a[from].wrapping_mul(of_b[(5 + to - from) % 5]));
        all | sum & classes[to]
    })
}

/// The product of two elements in the form of POLYVAL, divided by x^128: A. Karatsuba's method, then P. L. Montgomery's reduction by
/// x^128 + x^127 + x^126 + x^121 + 1.
#[inline(always)]
fn dot(a: u128, b: u128) -> u128 {
    let [a, b] = [a, b].map(|of| [of as u64, (of >> 64) as u64]);
    let (low, high) = (product(a[0], b[0]), product(a[1], b[1]));
    let middle = product(a[0] ^ a[1], b[0] ^ b[1]) ^ low ^ high;
    let (low, high) = (low ^ middle << 64, high ^ middle >> 64);
    let multiple = low ^ low << 127 ^ low << 126 ^ low << 121;
    high ^ multiple ^ multiple >> 1 ^ multiple >> 2 ^ multiple >> 7
}

/// The product of two elements of GHASH's field, as blocks.
pub(super) fn multiply(a: &[u8; 16], b: &[u8; 16]) -> [u8; 16] {
    dot(element_of_key(b), u128::from_be_bytes(*a)).to_be_bytes()
}

/// Continues a hash with bytes; a last block that is not whole is padded with zeros.
pub(super) fn hash(key: &[u8; 16], blocks: Blocks, state: &mut [u8; 16], bytes: &[u8]) {
    let key = element_of_key(key);
    let (whole, rest) = bytes.as_chunks();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let last = (!rest.is_empty()).then_some(&last);
    let hash = whole
        .iter()
        .chain(last)
        .fold(u128::from_be_bytes(*state), |hash, block| dot(key, hash ^ u128::from_be_bytes(blocks.block(*block))));
    *state = hash.to_be_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::ghash::Element;

    /// Numbers without a pattern.
    fn noise() -> impl Iterator<Item = u128> {
        (1..).map(|i: u128| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(i as u32))
    }

    /// With all bits set, every sum is as large as it can be. Miri, which takes milliseconds for a product, has fewer: they go through the
    /// same code.
    fn factors() -> Vec<u128> {
        let (step, noises) = if cfg!(miri) { (16, 4) } else { (1, 200) };
        let bits = (0..128).step_by(step).map(|i| 1 << i);
        bits.chain([0, u128::MAX, u128::MAX << 1, u128::MAX >> 1, u128::MAX / 15]).chain(noise().take(noises)).collect()
    }

    #[test]
    fn products_are_as_bit_by_bit() {
        for (a, b) in factors().into_iter().flat_map(|a| factors().into_iter().map(move |b| (a as u64, b as u64))) {
            let bits = (0..64).filter(|i| a >> i & 1 == 1);
            assert_eq!(product(a, b), bits.fold(0, |sum, i| sum ^ u128::from(b) << i), "{a:x} {b:x}");
        }
    }

    #[test]
    fn blocks_are_multiplied_as_the_field_says() {
        for (a, b) in factors().into_iter().zip(factors().into_iter().rev()).chain([(u128::MAX, u128::MAX)]) {
            let [a, b] = [a, b].map(u128::to_be_bytes);
            let expected = (Element::from_block(a) * Element::from_block(b)).to_block();
            assert_eq!(multiply(&a, &b), expected, "{a:x?} {b:x?}");
        }
    }
}
