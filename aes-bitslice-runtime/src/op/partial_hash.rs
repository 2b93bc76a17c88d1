//! The hash of a part of a message, and how the hashes of all parts combine by position, in any order.
//!
//! ```text
//! GHASH(A || B) = GHASH(A) · H^n + GHASH(B)          n blocks in B
//! ```

use crate::base::error::Error;
use crate::cpu::hash_key::{HashKey, ONE};
use crate::cpu::instructions::Instructions;
use aes_bitslice_core::ghash::Blocks;
use std::fmt;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The length of a hash in bytes.
pub(crate) const HASH: usize = 16;

/// The GHASH of a part of a message (SP 800-38D, section 6.4), or for AES-GCM-SIV the POLYVAL in that form. Where the first or the last
/// block is not whole, zeros are in the place of what is missing.
///
/// **It is a secret:** together with the ciphertext it reveals the hash key, with which any message under the key can
/// be forged. Do not store it, send it or log it. It is not printed, it is compared in constant time, and it is not
/// wiped.
#[derive(Clone, Copy, Default)]
pub struct PartialHash {
    /// The first byte of the part in its message, from 0.
    pub offset: u64,
    /// The length of the part in bytes.
    pub bytes: u64,
    /// GHASH of the part alone, in the bit order of SP 800-38D.
    pub hash: [u8; 16],
}

impl PartialEq for PartialHash {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.bytes) == (other.offset, other.bytes) && bool::from(self.hash.ct_eq(&other.hash))
    }
}

impl Eq for PartialHash {}

/// Does not show the hash.
impl fmt::Debug for PartialHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartialHash").field("offset", &self.offset).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl PartialHash {
    /// From a hash as a device returns it: its first bytes count, as far as they are there.
    pub(crate) fn of(offset: u64, bytes: u64, hash: &[u8]) -> Self {
        Self { offset, bytes, hash: hash.first_chunk().copied().unwrap_or_default() }
    }
}

impl HashKey {
    /// The hash of a message from its parts, the first of which begins at byte `offset`. The number of bytes shows
    /// whether a part is missing at the end.
    ///
    /// # Errors
    /// [`Error::PartsDoNotAdjoin`] if parts overlap, or one is missing between others.
    pub(crate) fn combine(&self, offset: u64, mut parts: Vec<PartialHash>) -> Result<PartialHash, Error> {
        parts.sort_by_key(|part| (part.offset, part.bytes));
        let mut whole = PartialHash { offset, ..PartialHash::default() };
        // Most parts have the same length.
        let mut power = (0, Zeroizing::new(ONE));
        for part in parts {
            let end = whole.offset.checked_add(whole.bytes);
            let bytes = whole.bytes.checked_add(part.bytes);
            let last = bytes.and_then(|bytes| offset.checked_add(bytes));
            let (Some(bytes), Some(last), true) = (bytes, last, end == Some(part.offset)) else {
                let next = end.map_or("none".into(), |end| end.to_string());
                let what = format!("one begins with byte {} where byte {next} is next", part.offset);
                return Err(Error::PartsDoNotAdjoin { what });
            };
            if whole.bytes == 0 {
                whole.hash = part.hash;
            } else {
                // Those that begin in the part: in a block that another part begins, the two add up.
                let blocks = last.div_ceil(16) - part.offset.div_ceil(16);
                if power.0 != blocks {
                    power = (blocks, self.power(blocks));
                }
                let moved = self.product(&whole.hash, &power.1);
                whole.hash = std::array::from_fn(|i| moved[i] ^ part.hash[i]);
            }
            whole.bytes = bytes;
        }
        Ok(whole)
    }
}

/// What a device computes from the hash of a message: `hash · factor + addend`.
pub struct Terms {
    pub(crate) factor: Zeroizing<[u8; 16]>,
    pub(crate) addend: Zeroizing<[u8; 16]>,
}

impl Terms {
    /// The hash itself.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
    pub(crate) fn of_hash() -> Self {
        Self { factor: Zeroizing::new(ONE), addend: Zeroizing::new([0; 16]) }
    }
}

/// Determines from the hash of a message whether it is authentic: if so, these terms are zero in all bits of the mask.
pub struct Verdict {
    pub(crate) terms: Terms,
    /// It has bits of the first four bytes; if it has none at all, nothing is determined.
    pub(crate) mask: [u8; 16],
}

impl Verdict {
    /// None: the terms are what is wanted.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
    pub(crate) fn none(terms: Terms) -> Self {
        Self { terms, mask: [0; 16] }
    }
}

/// The data that a kernel must hash on a device before its first use, in blocks that it reads in this way, the hash key, and the hash:
/// several tiles, and a last block that is not whole.
#[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
pub(crate) fn known_answer(blocks: Blocks) -> (Vec<u8>, HashKey, [u8; 16]) {
    const BYTES: u32 = (200 << 10) + 5;
    let data: Vec<u8> = (0..BYTES).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let key = std::array::from_fn(|i| (i * i + 7 * i + 1) as u8);
    let key = match blocks {
        Blocks::AsTheyAre => HashKey::from_bytes(key),
        Blocks::Reversed => HashKey::of_polyval(&key, Instructions::best()),
    };
    let hash = key.hash(&data);
    (data, key, hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;

    /// H of a key of zeros.
    fn key() -> HashKey {
        CpuKey::new(&Key::new(&[0; 16]).unwrap()).hash_key()
    }

    /// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 2: H, and the hash of one block and the
    /// lengths.
    #[test]
    fn a_published_hash() {
        let block = [0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78];
        let mut lengths = [0; 16];
        lengths[15] = 128;
        let expected = [0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc, 0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85];
        let key = key();
        assert_eq!(key.hash(&[block, lengths].concat()), expected);
        assert_eq!(key.append(&key.hash(&block), &key.hash(&lengths), 1), expected);
        assert_eq!(key.append_block(&key.hash(&block), &lengths), expected);
        assert_eq!(format!("{key:?}"), "HashKey");
    }

    #[test]
    fn parts_are_equal_in_place_length_and_hash() {
        let part = PartialHash { offset: 16, bytes: 32, hash: [7; 16] };
        assert_eq!(part, PartialHash { ..part });
        for other in [
            PartialHash { offset: 32, ..part },
            PartialHash { bytes: 33, ..part },
            PartialHash { hash: [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 6], ..part },
        ] {
            assert_ne!(part, other);
        }
        assert_eq!(format!("{part:?}"), "PartialHash { offset: 16, bytes: 32, .. }", "a hash is not shown");
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let key = key();
        let data: Vec<u8> = (0..16 * 100_u32 - 5).map(|i| ((i * i) >> 3) as u8).collect();
        let part = |from: usize, to: usize| {
            let (from, to) = (16 * from, (16 * to).min(data.len()));
            PartialHash { offset: from as u64, bytes: (to - from) as u64, hash: key.hash(&data[from..to]) }
        };
        let whole = part(0, 100);
        for cuts in [vec![0, 100], vec![0, 1, 2, 99, 100], vec![0, 0, 37, 37, 64, 100], vec![0, 33, 66, 100]] {
            let mut parts: Vec<_> = cuts.windows(2).map(|cut| part(cut[0], cut[1])).collect();
            parts.reverse();
            assert_eq!(key.combine(0, parts).unwrap(), whole, "{cuts:?}");
        }
        let far = PartialHash { offset: u64::MAX - 15, bytes: 16, hash: [0; 16] };
        for missing in [
            vec![part(0, 10), part(11, 100)],
            vec![part(0, 10), part(9, 100)],
            vec![part(1, 100)],
            vec![far],
            vec![part(0, 10), PartialHash { bytes: u64::MAX, ..part(10, 11) }],
            vec![PartialHash { bytes: 159, ..part(0, 10) }, part(10, 100)],
        ] {
            assert!(matches!(key.combine(0, missing), Err(Error::PartsDoNotAdjoin { .. })));
        }
    }

    /// The hash of a part within blocks is that of its bytes between zeros, and of two parts that adjoin it is their sum at their places.
    #[test]
    fn parts_that_end_within_blocks_are_the_whole() {
        let key = key();
        let data: Vec<u8> = (0..200_u32).map(|i| ((i * i) >> 3) as u8).collect();
        let part = |from: usize, to: usize| {
            let padded = [vec![0; from % 16], data[from..to].to_vec()].concat();
            let hash = if from == to { [0; 16] } else { key.hash(&padded) };
            PartialHash { offset: from as u64, bytes: (to - from) as u64, hash }
        };
        let ends = [0, 1, 3, 3, 15, 16, 17, 31, 33, 48, 48, 100, 113, 127, 128, 199, 200];
        let parts = || ends.windows(2).map(|ends| part(ends[0], ends[1]));
        assert_eq!(key.combine(0, parts().rev().collect()).unwrap(), part(0, 200));
        for (n, &end) in ends.iter().enumerate() {
            let two = [(0, parts().take(n).collect()), (end as u64, parts().skip(n).collect())];
            let two = two.map(|(offset, parts)| key.combine(offset, parts).unwrap());
            assert_eq!(two[1], part(end, 200), "from byte {}", end);
            assert_eq!(key.combine(0, two.to_vec()).unwrap(), part(0, 200));
        }
    }

    #[test]
    fn the_known_answer_is_of_several_tiles_and_a_last_block_that_is_not_whole() {
        let (data, ..) = known_answer(Blocks::AsTheyAre);
        assert_eq!(data.len(), (200 << 10) + 5);
        assert!((0..=255).all(|byte| data.contains(&byte)));
    }

    #[test]
    fn the_field_has_the_identity_that_its_bit_order_has() {
        let x = std::array::from_fn(|i| 16 * i as u8 + 3);
        let key = HashKey::from_bytes(x);
        let product = |x: &[u8; 16], y: &[u8; 16]| *key.product(x, y);
        assert_eq!(product(&x, &ONE), x);
        assert_eq!((*key.power(1), *key.power(0)), (x, ONE));
        assert_eq!(*key.power(5), product(&x, &product(&product(&x, &x), &product(&x, &x))));
    }

    /// H^n for numbers of blocks of more than 32 bits, by another order of products.
    #[test]
    fn parts_of_any_length_are_combined() {
        let key = HashKey::from_bytes(std::array::from_fn(|i| 16 * i as u8 + 3));
        let by_bits = |n: u64| {
            (0..64).rev().fold(ONE, |power, bit| {
                let square = *key.product(&power, &power);
                if n >> bit & 1 == 1 { *key.product(&square, key.bytes()) } else { square }
            })
        };
        let (one, two) = ([0x17; 16], [0x99; 16]);
        for blocks in [1, 2, (1 << 25) - 1, 1 << 25, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 57) + 5] {
            let moved = key.product(&one, &by_bits(blocks));
            let expected: [u8; 16] = std::array::from_fn(|i| moved[i] ^ two[i]);
            assert_eq!(key.append(&one, &two, blocks), expected, "{blocks} blocks");
            // The last block may not be whole, and parts that come first may be as long.
            for bytes in [16 * blocks, 16 * blocks - 3] {
                let first = PartialHash { offset: 32, bytes: 1 << 37, hash: one };
                let second = PartialHash { offset: 32 + (1 << 37), bytes, hash: two };
                let whole = key.combine(32, vec![second, first]).unwrap();
                assert_eq!((whole.offset, whole.bytes, whole.hash), (32, bytes + (1 << 37), expected), "{bytes} bytes");
            }
        }
    }
}
