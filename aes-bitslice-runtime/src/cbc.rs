//! CBC on the CPU (SP 800-38A, section 6.2), over any block cipher.
//!
//! Encryption is serial by nature: the input of each block is the output of the one before. Decryption is not, for all
//! that it chains is ciphertext.

use cipher::array::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;
use cipher::{BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser};

type Block = Array<u8, U16>;

/// Blocks that are decrypted at a time: whole batches of every engine, and little enough for the first-level cache.
const BATCH: usize = 512;

/// Encrypts whole blocks.
pub(crate) fn encrypt<C>(cipher: &C, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>)
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let (blocks, rest) = data.into_chunks();
    debug_assert!(rest.is_empty(), "whole blocks");
    cipher.encrypt_with_backend(Chain { previous: (*iv).into(), blocks });
}

/// The loop of [`encrypt`], which the cipher compiles for the instructions it uses.
struct Chain<'i, 'o> {
    previous: Block,
    blocks: InOutBuf<'i, 'o, Block>,
}

impl BlockSizeUser for Chain<'_, '_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for Chain<'_, '_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut state = self.previous;
        for mut block in self.blocks {
            xor(&mut state, block.get_in());
            backend.encrypt_block((&mut state).into());
            *block.get_out() = state;
        }
    }
}

/// Decrypts whole blocks; `inverse` runs blocks through the inverse cipher, each on its own.
pub(crate) fn decrypt(iv: &[u8; 16], data: InOutBuf<'_, '_, u8>, inverse: impl Fn(InOutBuf<'_, '_, Block>)) {
    let (mut blocks, rest) = data.into_chunks();
    debug_assert!(rest.is_empty(), "whole blocks");
    // The ciphertext before each block of the batch, kept because in place it is overwritten.
    let mut previous = [Block::default(); BATCH + 1];
    previous[0] = (*iv).into();
    while !blocks.is_empty() {
        let n = blocks.len().min(BATCH);
        let (mut batch, rest) = blocks.split_at(n);
        previous[1..=n].copy_from_slice(batch.get_in());
        inverse(batch.reborrow());
        xor(Array::slice_as_flattened_mut(batch.get_out()), Array::slice_as_flattened(&previous));
        previous[0] = previous[n];
        blocks = rest;
    }
}

/// `a ^= b`, as far as the shorter goes.
#[inline(always)]
fn xor(a: &mut [u8], b: &[u8]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
}
