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
        whole_blocks(bytes)
    }

    fn after(&self, bytes: u64, _before: impl FnOnce() -> [u8; 16]) -> Self {
        Self { block: self.block + bytes / 16 }
    }

    fn on_cpu(&self, cipher: &impl CpuCipher, data: Buffers<'_>) -> PartialHash {
        let (blocks, _) = Block::slice_as_chunks(data.input());
        let mut hash = keyed(cipher);
        hash.update(blocks);
        PartialHash { block: self.block, blocks: blocks.len() as u64, hash: hash.finalize().into() }
    }

    /// Sorts by position. Parts that do not adjoin are an error of the caller's, found by
    /// [`Cipher::combine`](crate::Cipher::combine).
    fn combine(&self, cipher: &impl CpuCipher, mut outputs: Vec<PartialHash>) -> Result<PartialHash, Error> {
        outputs.sort_by_key(|part| (part.block, part.blocks));
        let Some(first) = outputs.first().copied() else {
            return Ok(PartialHash { block: self.block, ..Default::default() });
        };
        outputs[1..].iter().try_fold(first, |before, part| {
            if before.block.checked_add(before.blocks) != Some(part.block) {
                let what =
                    format!("blocks {} to {} are hashed twice or not at all", before.block + before.blocks, part.block);
                return Err(Error::PartsDoNotAdjoin { what });
            }
            let moved = times_power(cipher, before.hash, part.blocks);
            let hash = std::array::from_fn(|i| moved[i] ^ part.hash[i]);
            Ok(PartialHash { blocks: before.blocks + part.blocks, hash, ..before })
        })
    }
}

/// GHASH with the key that GCM derives: the cipher of a block of zeros (SP 800-38D, section 7.1).
fn keyed(cipher: &impl CpuCipher) -> GHash {
    GHash::new(&hash_key(cipher).into())
}

fn hash_key(cipher: &impl CpuCipher) -> [u8; 16] {
    let mut key = Block::default();
    cipher.process(Direction::Encrypt, InOutBuf::from(std::slice::from_mut(&mut key)));
    key.into()
}

/// x · H^n, by squaring.
fn times_power(cipher: &impl CpuCipher, x: [u8; 16], mut n: u64) -> [u8; 16] {
    let (mut result, mut power) = (x, hash_key(cipher));
    while n > 0 {
        if n & 1 == 1 {
            result = product(result, power);
        }
        power = product(power, power);
        n >>= 1;
    }
    result
}

/// The product of two elements of GHASH's field.
fn product(x: [u8; 16], y: [u8; 16]) -> [u8; 16] {
    let mut hash = GHash::new(&y.into());
    hash.update(&[x.into()]);
    hash.finalize().into()
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
        let data: Vec<u8> = (0..16 * 100_u32).map(|i| (i * i >> 3) as u8).collect();
        let whole = Ghash::new().on_cpu(&cipher, Buffers::Read(&data));
        let part = |from: usize, to: usize| {
            Ghash::from_block(from as u64).on_cpu(&cipher, Buffers::Read(&data[16 * from..16 * to]))
        };
        for cuts in [vec![0, 100], vec![0, 1, 2, 99, 100], vec![0, 0, 37, 37, 64, 100], vec![0, 33, 66, 100, 100]] {
            let mut parts: Vec<_> = cuts.windows(2).map(|cut| part(cut[0], cut[1])).collect();
            parts.reverse();
            assert_eq!(Ghash::new().combine(&cipher, parts).unwrap(), whole, "{cuts:?}");
        }
        for missing in [vec![part(0, 10), part(11, 100)], vec![part(0, 10), part(9, 100)]] {
            assert!(matches!(Ghash::new().combine(&cipher, missing), Err(Error::PartsDoNotAdjoin { .. })));
        }
    }

    #[test]
    fn the_field_has_the_identity_that_its_bit_order_has() {
        let mut one = [0; 16];
        one[0] = 0x80;
        let x = std::array::from_fn(|i| 16 * i as u8 + 3);
        assert_eq!(product(x, one), x);
        assert_eq!(times_power(&cipher(), x, 0), x);
    }
}
