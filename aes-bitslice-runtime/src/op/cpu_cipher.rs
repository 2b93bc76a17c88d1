//! A key on the CPU, as operations use it, whatever implementation computes with it.

use crate::base::counter::CounterBlock;
use aes_bitslice_core::aes::{Direction, KeyBits};
use cipher::array::Array;
use cipher::consts::U16;
use cipher::inout::InOutBuf;

/// A block of 16 bytes.
pub(crate) type Block = Array<u8, U16>;

/// A key on the CPU, as operations use it.
pub trait CpuCipher: Sync {
    /// The key's length; for XTS, the length of each of the two keys.
    fn bits(&self) -> KeyBits;

    /// Runs blocks through the block cipher, each on its own.
    fn process(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>);

    /// The second key of an XTS key.
    ///
    /// # Panics
    /// If there is none.
    fn second(&self) -> &Self;

    /// Whether it is an XTS key that is one AES key twice. Asked only of the key that operations derive their values from.
    fn halves_are_equal(&self) -> bool {
        false
    }

    /// XORs data with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`.
    fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>);

    /// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`.
    fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>);
}

/// Encrypts one block.
pub(crate) fn encrypt_block(cipher: &impl CpuCipher, block: &mut [u8; 16]) {
    let block: &mut Block = block.into();
    cipher.process(Direction::Encrypt, InOutBuf::from(std::slice::from_mut(block)));
}
