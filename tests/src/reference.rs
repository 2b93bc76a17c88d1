//! The measure of every engine: the RustCrypto crates, one block or one keystream at a time on one thread.
//!
//! A mistake would have to be made twice, here and in an engine, to go unseen: this file shares nothing with the
//! engines, except with `cpu` on a processor without AES instructions: the crates, which are checked against the published vectors.

use aes::{Aes128, Aes192, Aes256};
use aes_bitslice_core::aes::Direction;
use cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use proptest::prelude::*;

/// A key of 16, 24 or 32 bytes.
pub enum Reference {
    /// 128 bits.
    Aes128(Aes128),
    /// 192 bits.
    Aes192(Aes192),
    /// 256 bits.
    Aes256(Aes256),
}

impl Reference {
    /// Takes a key.
    ///
    /// # Panics
    /// On a length that AES does not have.
    pub fn new(key: &[u8]) -> Self {
        match key.len() {
            16 => Self::Aes128(Aes128::new_from_slice(key).expect("16 bytes")),
            24 => Self::Aes192(Aes192::new_from_slice(key).expect("24 bytes")),
            32 => Self::Aes256(Aes256::new_from_slice(key).expect("32 bytes")),
            other => panic!("no AES key has {other} bytes"),
        }
    }

    /// One block, in one direction.
    pub fn block(&self, direction: Direction, block: [u8; 16]) -> [u8; 16] {
        let mut block = Array(block);
        match (self, direction) {
            (Self::Aes128(k), Direction::Encrypt) => k.encrypt_block(&mut block),
            (Self::Aes128(k), Direction::Decrypt) => k.decrypt_block(&mut block),
            (Self::Aes192(k), Direction::Encrypt) => k.encrypt_block(&mut block),
            (Self::Aes192(k), Direction::Decrypt) => k.decrypt_block(&mut block),
            (Self::Aes256(k), Direction::Encrypt) => k.encrypt_block(&mut block),
            (Self::Aes256(k), Direction::Decrypt) => k.decrypt_block(&mut block),
        }
        block.into()
    }

    /// ECB (SP 800-38A, section 6.1) over whole blocks.
    pub fn ecb(&self, direction: Direction, data: &[u8]) -> Vec<u8> {
        data.chunks_exact(16).flat_map(|b| self.block(direction, b.try_into().expect("16 bytes"))).collect()
    }

    /// Encryption with feed-forward (Matyas, Meyer, Oseas 1985) over whole blocks.
    pub fn prg(&self, data: &[u8]) -> Vec<u8> {
        self.ecb(Direction::Encrypt, data).iter().zip(data).map(|(y, x)| y ^ x).collect()
    }

    /// CBC (SP 800-38A, section 6.2) over whole blocks.
    pub fn cbc(&self, direction: Direction, iv: [u8; 16], data: &[u8]) -> Vec<u8> {
        let xor = |a: [u8; 16], b: [u8; 16]| (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes();
        let mut previous = iv;
        let blocks = data.as_chunks().0.iter().flat_map(|&input| match direction {
            Direction::Encrypt => {
                previous = self.block(direction, xor(input, previous));
                previous
            }
            Direction::Decrypt => xor(self.block(direction, input), std::mem::replace(&mut previous, input)),
        });
        blocks.collect()
    }

    /// CTR (SP 800-38A, section 6.5) from the counter block `counter`, starting `offset` bytes into the keystream;
    /// the counter is the whole block, big-endian, and wraps modulo 2^128.
    pub fn ctr(&self, counter: [u8; 16], offset: u64, data: &[u8]) -> Vec<u8> {
        let first = u128::from_be_bytes(counter).wrapping_add(u128::from(offset / 16));
        let skip = (offset % 16) as usize;
        let counters = (0..(skip + data.len()).div_ceil(16) as u128).map(|i| first.wrapping_add(i).to_be_bytes());
        let keystream: Vec<u8> = counters.flat_map(|counter| self.block(Direction::Encrypt, counter)).collect();
        data.iter().zip(&keystream[skip..]).map(|(d, k)| d ^ k).collect()
    }
}

/// `len` bytes that look random: a keystream under a key built from `seed`, which determines them.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut key = [0x5a; 16];
    key[..8].copy_from_slice(&seed.to_be_bytes());
    Reference::new(&key).ctr([0; 16], 0, &vec![0; len])
}

/// The bytes of a key of any length.
pub fn key_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![16_usize, 24, 32]).prop_flat_map(|bytes| prop::collection::vec(any::<u8>(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};

    /// Counts as the `ctr` crate does, through the wrap and from the middle of a block.
    #[test]
    fn counts_as_the_ctr_crate() {
        for (counter, offset) in [(u128::MAX - 2, 0u64), (7, 1), (u128::from(u64::MAX) - 1, 37), (0, 1 << 40)] {
            let (key, counter) = ([9; 32], counter.to_be_bytes());
            let mut expected = vec![0x77; 333];
            let mut ctr = ctr::Ctr128BE::<Aes256>::new(&key.into(), &counter.into());
            ctr.seek(offset);
            ctr.apply_keystream(&mut expected);
            assert_eq!(Reference::new(&key).ctr(counter, offset, &[0x77; 333]), expected);
        }
    }
}
