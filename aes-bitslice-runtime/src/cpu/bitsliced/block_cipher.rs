//! The bitsliced engine as block ciphers of the [`cipher`] crate.

use crate::base::error::Error;
use crate::base::scrubbed::{EXPANSION, scrubbed};
use crate::cpu::bitsliced::isa::Isa;
use crate::cpu::bitsliced::key::Bitsliced;
use ::cipher::array::ArraySize;
use ::cipher::consts::{U16, U24, U32, U64, U256, U512};
use ::cipher::inout::{InOut, InOutBuf};
use ::cipher::{
    AlgorithmName, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, Key, KeyInit, KeySizeUser, ParBlocks, ParBlocksSizeUser,
};
use aes_bitslice_core::aes::Direction;
use std::fmt;
use std::marker::PhantomData;
use zeroize::ZeroizeOnDrop;

/// AES with a key of `K` bytes on the fastest vectors of this processor.
///
/// It works on batches of blocks: 512 with AVX-512, 256 with AVX2, 128 with Neon, 64 elsewhere. A batch that is not full costs as much
/// as a full one, so a single block costs as much as hundreds: crates that request the blocks of an incomplete batch one by
/// one, as `ctr` does, are fast on many whole batches only. [`Cipher::run`](crate::Cipher::run) is fast on any length.
///
/// No branch, no address and no table index depends on the key or the data, in the key expansion as in the cipher. The
/// expanded key is wiped on drop.
#[derive(Clone)]
pub struct BitslicedAes<K> {
    inner: Bitsliced,
    key_size: PhantomData<K>,
}

/// AES with a 128-bit key; see [`BitslicedAes`].
pub type BitslicedAes128 = BitslicedAes<U16>;
/// AES with a 192-bit key; see [`BitslicedAes`].
pub type BitslicedAes192 = BitslicedAes<U24>;
/// AES with a 256-bit key; see [`BitslicedAes`].
pub type BitslicedAes256 = BitslicedAes<U32>;

/// The key sizes of AES in bytes: `U16`, `U24` and `U32`.
pub trait KeySize: ArraySize + sealed::Sealed {}
impl KeySize for U16 {}
impl KeySize for U24 {}
impl KeySize for U32 {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::U16 {}
    impl Sealed for super::U24 {}
    impl Sealed for super::U32 {}
}

impl<K: KeySize> BitslicedAes<K> {
    /// The cipher on given vectors, rather than on the fastest.
    ///
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks them.
    pub fn on(isa: Isa, key: &Key<Self>) -> Result<Self, Error> {
        let inner = scrubbed::<EXPANSION, _>(|| Bitsliced::new(key, isa))?;
        Ok(Self { inner, key_size: PhantomData })
    }
}

impl<K: KeySize> KeySizeUser for BitslicedAes<K> {
    type KeySize = K;
}

impl<K: KeySize> KeyInit for BitslicedAes<K> {
    fn new(key: &Key<Self>) -> Self {
        Self::on(Isa::best(), key).expect("the best of what is available")
    }
}

impl<K> BlockSizeUser for BitslicedAes<K> {
    type BlockSize = U16;
}

impl<K> BlockCipherEncrypt for BitslicedAes<K> {
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
        match self.inner.functions.lanes {
            512 => f.call(&Backend::<U512>::of(&self.inner)),
            256 => f.call(&Backend::<U256>::of(&self.inner)),
            _ => f.call(&Backend::<U64>::of(&self.inner)),
        }
    }
}

impl<K> BlockCipherDecrypt for BitslicedAes<K> {
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
        match self.inner.functions.lanes {
            512 => f.call(&Backend::<U512>::of(&self.inner)),
            256 => f.call(&Backend::<U256>::of(&self.inner)),
            _ => f.call(&Backend::<U64>::of(&self.inner)),
        }
    }
}

impl<K: KeySize> AlgorithmName for BitslicedAes<K> {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BitslicedAes{}", 8 * K::USIZE)
    }
}

impl<K: KeySize> fmt::Debug for BitslicedAes<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::write_alg_name(f)?;
        f.write_str(" { .. }")
    }
}

// Both schedules wipe themselves.
impl<K> ZeroizeOnDrop for BitslicedAes<K> {}

/// A key with its batch size as a type.
struct Backend<'a, N> {
    inner: &'a Bitsliced,
    batch: PhantomData<N>,
}

impl<'a, N> Backend<'a, N> {
    fn of(inner: &'a Bitsliced) -> Self {
        Self { inner, batch: PhantomData }
    }

    fn block(&self, direction: Direction, block: InOut<'_, '_, Block<Self>>) {
        self.inner.process_blocks(direction, block.into_buf().into_chunks().0);
    }
}

impl<N> BlockSizeUser for Backend<'_, N> {
    type BlockSize = U16;
}

impl<N: ArraySize> ParBlocksSizeUser for Backend<'_, N> {
    type ParBlocksSize = N;
}

impl<N: ArraySize> BlockCipherEncBackend for Backend<'_, N> {
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.block(Direction::Encrypt, block);
    }

    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.inner.process_blocks(Direction::Encrypt, blocks.into_buf());
    }

    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.inner.process_blocks(Direction::Encrypt, blocks);
    }
}

impl<N: ArraySize> BlockCipherDecBackend for Backend<'_, N> {
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        self.block(Direction::Decrypt, block);
    }

    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.inner.process_blocks(Direction::Decrypt, blocks.into_buf());
    }

    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.inner.process_blocks(Direction::Decrypt, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ciphers_wipe_themselves_and_print_their_names_only() {
        fn wipes<T: ZeroizeOnDrop>(_: &T) {}
        let cipher = BitslicedAes256::new(&[0xde; 32].into());
        wipes(&cipher);
        assert_eq!(format!("{cipher:?}"), "BitslicedAes256 { .. }");
        let ctr = <ctr::Ctr128BE<BitslicedAes128> as ::cipher::KeyIvInit>::new(&[1; 16].into(), &[2; 16].into());
        wipes(&ctr);
    }
}
