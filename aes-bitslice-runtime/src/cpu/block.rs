//! Blocks, and the block cipher under a key: what all modes are made of.

use aes_bitslice_core::aes::Direction;
use cipher::array::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;

/// A block of 16 bytes.
pub(crate) type Block = Array<u8, U16>;

/// AES under a key.
pub trait BlockCipher {
    /// Runs blocks through the block cipher, each on its own.
    fn process(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>);
}

/// Encrypts one block.
pub(crate) fn encrypt_block(cipher: &impl BlockCipher, block: &mut [u8; 16]) {
    let block: &mut Block = block.into();
    cipher.process(Direction::Encrypt, InOutBuf::from(std::slice::from_mut(block)));
}
