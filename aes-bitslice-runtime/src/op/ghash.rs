//! GHASH, the hash of Galois/counter mode (SP 800-38D, section 6.4), under the hash key that GCM derives from the cipher's key.
//!
//! It only reads. What comes of a part of a message is a [`PartialHash`]; those of all parts, in whatever order they were made, combine by
//! their positions to the hash of the whole:
//!
//! ```text
//! GHASH(A || B) = GHASH(A) · H^n + GHASH(B)          n blocks in B
//! ```
//!
//! On the CPU it is the `ghash` crate's, with carry-less multiplication where the processor has it; there are no kernels yet.

use crate::base::error::Error;
use crate::op::buffers::{Access, Buffers};
use crate::op::operation::{Block, CpuCipher, Operation, Steps, whole_blocks};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::Mode;
use cipher::inout::InOutBuf;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use zeroize::Zeroizing;

/// GHASH of whole blocks of 16 bytes, which lie at a place in their message.
///
/// The hash key is H = the cipher of a block of zeros. GHASH alone is no MAC: GCM adds an encrypted counter block to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ghash {
    /// The block of the message that the data begins with.
    block: u64,
}

/// The hash of a part of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PartialHash {
    /// The first block of the part in its message, from 0.
    pub block: u64,
    /// Blocks of 16 bytes.
    pub blocks: u64,
    /// GHASH of the part alone, in the bit order of SP 800-38D.
    pub hash: [u8; 16],
}

impl Ghash {
    /// Of a message from its beginning.
    pub fn new() -> Self {
        Self::default()
    }

    /// Of a part of a message that begins with block number `block`, counted from 0.
    pub fn from_block(block: u64) -> Self {
        Self { block }
    }
}

impl Operation for Ghash {
    const NAME: &'static str = "GHASH";
    const ACCESS: Access = Access::Reads;
}

impl Steps for Ghash {
    type Output = PartialHash;

    fn mode(&self) -> Option<Mode> {
        None
    }

    fn check(&self, bytes: u64) -> Result<(), Error> {
        whole_blocks(bytes)?;
        match self.block.checked_add(bytes / 16) {
            Some(_) => Ok(()),
            None => Err(Error::PartsDoNotAdjoin { what: format!("no message has a block {}", u64::MAX) }),
        }
    }

    fn after(&self, bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { block: self.block + bytes / 16 }
    }

    fn on_cpu(&self, cipher: &impl CpuCipher, data: Buffers<'_>) -> PartialHash {
        let (blocks, _) = Block::slice_as_chunks(data.input());
        let mut hash = GHash::new((&*hash_key(cipher)).into());
        hash.update(blocks);
        PartialHash { block: self.block, blocks: blocks.len() as u64, hash: hash.finalize().into() }
    }

    /// The parts have to begin where this does. That one is missing at the end, the number of blocks tells.
    fn combine(&self, cipher: &impl CpuCipher, mut outputs: Vec<PartialHash>) -> Result<PartialHash, Error> {
        outputs.sort_by_key(|part| (part.block, part.blocks));
        let key = hash_key(cipher);
        let mut whole = PartialHash { block: self.block, ..PartialHash::default() };
        // Most parts are equally long.
        let mut power = (0, Zeroizing::new(ONE));
        for part in outputs {
            let end = whole.block.checked_add(whole.blocks);
            let blocks = whole.blocks.checked_add(part.blocks);
            let (Some(blocks), true) = (blocks, end == Some(part.block)) else {
                let what = format!("a part begins with block {} where block {end:?} is next", part.block);
                return Err(Error::PartsDoNotAdjoin { what });
            };
            if power.0 != part.blocks {
                power = (part.blocks, self::power(&key, part.blocks));
            }
            let moved = product(&whole.hash, &power.1);
            whole.hash = std::array::from_fn(|i| moved[i] ^ part.hash[i]);
            whole.blocks = blocks;
        }
        Ok(whole)
    }
}

/// The element 1 of GHASH's field.
const ONE: [u8; 16] = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// The key that GCM derives: the cipher of a block of zeros (SP 800-38D, section 7.1).
fn hash_key(cipher: &impl CpuCipher) -> Zeroizing<[u8; 16]> {
    let mut key = Zeroizing::new([0; 16]);
    let block: &mut Block = (&mut *key).into();
    cipher.process(Direction::Encrypt, InOutBuf::from(std::slice::from_mut(block)));
    key
}

/// x^n, by squaring.
fn power(x: &[u8; 16], mut n: u64) -> Zeroizing<[u8; 16]> {
    let (mut result, mut square) = (Zeroizing::new(ONE), Zeroizing::new(*x));
    while n > 0 {
        if n & 1 == 1 {
            result = product(&result, &square);
        }
        square = product(&square, &square);
        n >>= 1;
    }
    result
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
    use crate::backend::cpu::key::CpuKey;
    use crate::base::key::Key;

    fn cipher() -> CpuKey {
        CpuKey::new(&Key::new(&[0; 16]).unwrap())
    }

    /// McGrew and Viega, "The Galois/Counter Mode of Operation", test case 2: H, and the hash of one block and the lengths.
    #[test]
    fn a_published_hash() {
        let block = [0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78];
        let mut lengths = [0; 16];
        lengths[15] = 128;
        let data = [block, lengths].concat();
        let hash = Ghash::new().on_cpu(&cipher(), Buffers::Read(&data));
        let expected = [0xf3, 0x8c, 0xbb, 0x1a, 0xd6, 0x92, 0x23, 0xdc, 0xc3, 0x45, 0x7a, 0xe5, 0xb6, 0xb0, 0xf8, 0x85];
        assert_eq!(hash, PartialHash { block: 0, blocks: 2, hash: expected });
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let cipher = cipher();
        let data: Vec<u8> = (0..16 * 100_u32).map(|i| ((i * i) >> 3) as u8).collect();
        let whole = Ghash::new().on_cpu(&cipher, Buffers::Read(&data));
        let part = |from: usize, to: usize| {
            Ghash::from_block(from as u64).on_cpu(&cipher, Buffers::Read(&data[16 * from..16 * to]))
        };
        for cuts in [vec![0, 100], vec![0, 1, 2, 99, 100], vec![0, 0, 37, 37, 64, 100], vec![0, 33, 66, 100, 100]] {
            let mut parts: Vec<_> = cuts.windows(2).map(|cut| part(cut[0], cut[1])).collect();
            parts.reverse();
            assert_eq!(Ghash::new().combine(&cipher, parts).unwrap(), whole, "{cuts:?}");
        }
        let far = PartialHash { block: u64::MAX, blocks: 1, hash: [0; 16] };
        for missing in [
            vec![part(0, 10), part(11, 100)],
            vec![part(0, 10), part(9, 100)],
            vec![part(1, 100)],
            vec![far],
            vec![part(0, 10), PartialHash { blocks: u64::MAX, ..part(10, 11) }],
        ] {
            assert!(matches!(Ghash::new().combine(&cipher, missing), Err(Error::PartsDoNotAdjoin { .. })));
        }
    }

    #[test]
    fn a_place_beyond_all_messages_is_refused() {
        assert!(Ghash::from_block(u64::MAX - 1).check(16).is_ok());
        assert!(matches!(Ghash::from_block(u64::MAX - 1).check(32), Err(Error::PartsDoNotAdjoin { .. })));
    }

    #[test]
    fn the_field_has_the_identity_that_its_bit_order_has() {
        let x = std::array::from_fn(|i| 16 * i as u8 + 3);
        assert_eq!(*product(&x, &ONE), x);
        assert_eq!((*power(&x, 0), *power(&x, 1)), (ONE, x));
        assert_eq!(*power(&x, 5), *product(&x, &product(&product(&x, &x), &product(&x, &x))));
    }
}
