//! The hash of a part of a message, and how the hashes of all parts combine by position, in any order.
//!
//! ```text
//! GHASH(A || B) = GHASH(A) · H^n + GHASH(B)          n blocks in B
//! ```
//!
//! POLYVAL (RFC 8452) is GHASH of blocks with their bytes reversed (`aes_bitslice_core::ghash::Blocks`), and is treated here as a hash of
//! such blocks.

use crate::base::error::Error;
use crate::op::cpu_cipher::{CpuCipher, encrypt_block};
use aes_bitslice_core::ghash::Blocks;
use cipher::consts::U16;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use polyval::Polyval;
use std::fmt;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The length of a hash in bytes.
pub(crate) const HASH: usize = 16;

/// The GHASH of a part of a message (SP 800-38D, section 6.4), or for AES-GCM-SIV the POLYVAL in that form. A last block that is not whole
/// is padded with zeros.
///
/// **It is a secret:** together with the ciphertext it reveals the hash key, with which any message under the key can
/// be forged. Do not store it, send it or log it. It is not printed, it is compared in constant time, and it is not
/// wiped.
#[derive(Clone, Copy, Default)]
pub struct PartialHash {
    /// The first byte of the part in its message, from 0: a multiple of 16.
    pub offset: u64,
    /// The length of the part in bytes.
    pub bytes: u64,
    /// GHASH of the part alone, in the bit order of SP 800-38D.
    pub hash: [u8; 16],
}

/// The hash key, H: the encryption of a block of zeros (SP 800-38D, section 7.1), or for POLYVAL the equivalent key of GHASH. It stays in
/// place when the value moves, is wiped with the last clone, and is never printed.
#[derive(Clone)]
pub struct HashKey(Arc<Of>);

struct Of {
    key: Zeroizing<[u8; 16]>,
    /// The POLYVAL key that `key` represents.
    polyval: Option<Zeroizing<[u8; 16]>>,
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

impl HashKey {
    pub(crate) fn new(cipher: &impl CpuCipher) -> Self {
        let mut key = Zeroizing::new([0; 16]);
        encrypt_block(cipher, &mut key);
        Self(Arc::new(Of { key, polyval: None }))
    }

    /// A POLYVAL key.
    pub(crate) fn of_polyval(key: &[u8; 16]) -> Self {
        let of = Of { key: Zeroizing::new(Blocks::Reversed.key(*key).to_block()), polyval: Some(Zeroizing::new(*key)) };
        Self(Arc::new(of))
    }

    /// How it reads blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        if self.0.polyval.is_some() { Blocks::Reversed } else { Blocks::AsTheyAre }
    }

    /// The key with this H.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Arc::new(Of { key: Zeroizing::new(bytes), polyval: None }))
    }

    /// H itself, for values derived from it: never keep it in memory that is not wiped.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0.key
    }

    /// A hasher without input so far, for blocks as they are.
    pub(crate) fn hasher(&self) -> GHash {
        GHash::new((&*self.0.key).into())
    }

    /// The hash of bytes, the last block padded with zeros.
    pub(crate) fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        fn of(mut hasher: impl UniversalHash<BlockSize = U16>, bytes: &[u8]) -> [u8; 16] {
            hasher.update_padded(bytes);
            hasher.finalize().into()
        }
        match &self.0.polyval {
            _ if bytes.is_empty() => [0; 16],
            None => of(self.hasher(), bytes),
            Some(key) => Blocks::Reversed.block(of(Polyval::new((&**key).into()), bytes)),
        }
    }

    /// The hash of a message from its parts, the first of which begins at byte `offset`. The number of bytes shows
    /// whether a part is missing at the end.
    ///
    /// # Errors
    /// [`Error::PartsDoNotAdjoin`] if parts overlap, one is missing between others, or one that does not end with a
    /// whole block is not the last.
    pub(crate) fn combine(&self, offset: u64, mut parts: Vec<PartialHash>) -> Result<PartialHash, Error> {
        parts.sort_by_key(|part| (part.offset, part.bytes));
        let mut whole = PartialHash { offset, ..PartialHash::default() };
        // Most parts have the same length.
        let mut power = (0, Zeroizing::new(ONE));
        for part in parts {
            let end = whole.offset.checked_add(whole.bytes);
            let bytes = whole.bytes.checked_add(part.bytes);
            let ends_whole = part.bytes == 0 || whole.bytes.is_multiple_of(16);
            let (Some(bytes), true, true) = (bytes, end == Some(part.offset), ends_whole) else {
                let next = end.map_or("none".into(), |end| end.to_string());
                let what = format!("one begins with byte {} where byte {next} is next", part.offset);
                return Err(Error::PartsDoNotAdjoin { what });
            };
            if whole.bytes == 0 {
                whole.hash = part.hash;
            } else {
                let blocks = part.bytes.div_ceil(16);
                if power.0 != blocks {
                    power = (blocks, self.power(blocks));
                }
                let moved = product(&whole.hash, &power.1);
                whole.hash = std::array::from_fn(|i| moved[i] ^ part.hash[i]);
            }
            whole.bytes = bytes;
        }
        Ok(whole)
    }

    /// H^n.
    fn power(&self, n: u64) -> Zeroizing<[u8; 16]> {
        if n == 0 { Zeroizing::new(ONE) } else { power(&self.0.key, n) }
    }

    /// The hash of two concatenated messages, the second of which has `blocks` blocks of 16 bytes.
    pub(crate) fn append(&self, first: &[u8; 16], second: &[u8; 16], blocks: u64) -> [u8; 16] {
        let moved = product(first, &self.power(blocks));
        std::array::from_fn(|i| moved[i] ^ second[i])
    }

    /// The hash of a message of whole blocks with this hash, followed by one more block.
    pub(crate) fn append_block(&self, hash: &[u8; 16], block: &[u8; 16]) -> [u8; 16] {
        let sum = Zeroizing::new(std::array::from_fn(|i| hash[i] ^ block[i]));
        *product(&sum, &self.0.key)
    }
}

/// Determines from the hash of a message whether it is authentic: if so, `hash · factor + addend` is zero in all bits
/// of the mask.
pub struct Verdict {
    pub(crate) factor: Zeroizing<[u8; 16]>,
    pub(crate) addend: Zeroizing<[u8; 16]>,
    pub(crate) mask: [u8; 16],
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey")
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
        Blocks::Reversed => HashKey::of_polyval(&key),
    };
    let hash = key.hash(&data);
    (data, key, hash)
}

/// The element 1 of GHASH's field.
pub(crate) const ONE: [u8; 16] = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// x^n by squaring, for n of at least 1. The time depends only on n, which is a length.
fn power(x: &[u8; 16], mut n: u64) -> Zeroizing<[u8; 16]> {
    let (mut result, mut square) = (None::<Zeroizing<[u8; 16]>>, Zeroizing::new(*x));
    loop {
        if n & 1 == 1 {
            result = Some(result.map_or_else(|| square.clone(), |result| product(&result, &square)));
        }
        n >>= 1;
        if n == 0 {
            return result.expect("n is at least 1");
        }
        square = product(&square, &square);
    }
}

/// The product of two elements of GHASH's field.
fn product(x: &[u8; 16], y: &[u8; 16]) -> Zeroizing<[u8; 16]> {
    let mut hash = GHash::new(y.into());
    hash.update(&[(*x).into()]);
    Zeroizing::new(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::op::cpu_key::CpuKey;

    /// H of a key of zeros.
    fn key() -> HashKey {
        HashKey::new(&CpuKey::new(&Key::new(&[0; 16]).unwrap()))
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
        let ragged = PartialHash { bytes: 159, ..part(0, 10) };
        for missing in [
            vec![part(0, 10), part(11, 100)],
            vec![part(0, 10), part(9, 100)],
            vec![part(1, 100)],
            vec![far],
            vec![part(0, 10), PartialHash { bytes: u64::MAX, ..part(10, 11) }],
            vec![ragged, PartialHash { offset: 159, ..part(10, 100) }],
        ] {
            assert!(matches!(key.combine(0, missing), Err(Error::PartsDoNotAdjoin { .. })));
        }
    }

    #[test]
    fn the_field_has_the_identity_that_its_bit_order_has() {
        let x = std::array::from_fn(|i| 16 * i as u8 + 3);
        assert_eq!(*product(&x, &ONE), x);
        assert_eq!(*power(&x, 1), x);
        assert_eq!(*HashKey::from_bytes(x).power(0), ONE);
        assert_eq!(*power(&x, 5), *product(&x, &product(&product(&x, &x), &product(&x, &x))));
    }

    /// H^n for numbers of blocks of more than 32 bits, by another order of products.
    #[test]
    fn parts_of_any_length_are_combined() {
        let key = HashKey::from_bytes(std::array::from_fn(|i| 16 * i as u8 + 3));
        let by_bits = |n: u64| {
            (0..64).rev().fold(ONE, |power, bit| {
                let square = *product(&power, &power);
                if n >> bit & 1 == 1 { *product(&square, key.bytes()) } else { square }
            })
        };
        let (one, two) = ([0x17; 16], [0x99; 16]);
        for blocks in [1, 2, (1 << 25) - 1, 1 << 25, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 57) + 5] {
            let moved = product(&one, &by_bits(blocks));
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
