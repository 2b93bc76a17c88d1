//! A key on the CPU, as operations use it, whatever implementation computes with it.

use crate::base::counter::CounterBlock;
use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::block::{Block, BlockCipher};
use crate::cpu::hash_key::HashKey;
use crate::cpu::instructions::Instructions;
use crate::cpu::kernel::{MessageOfSiv, WholeMessage};
use crate::cpu::modes::ctr::Order;
use crate::cpu::portable;
use aes_bitslice_core::aes::{Direction, KeyBits};
use cipher::inout::InOutBuf;

/// Bytes encrypted and hashed at a time on a core: they stay in its second-level cache.
const IN_CACHE: usize = 64 << 10;

/// A key on the CPU, as operations use it.
pub trait CpuCipher: BlockCipher + Sync + Sized {
    /// Does work that computes with the key or with what is derived from it, and leaves nothing of it on the stack. The other methods
    /// are called within.
    fn scrubbed<R>(&self, work: impl FnOnce() -> R) -> R {
        scrubbed::<DERIVED, _>(work)
    }

    /// The instructions that keys derived from it are on.
    fn instructions(&self) -> Instructions {
        Instructions::best()
    }

    /// The maximum number of bytes of a call that one core performs alone, because others would begin too late to help.
    fn alone(&self) -> usize {
        Instructions::Portable.alone()
    }

    /// The key's length; for XTS, the length of each of the two keys.
    fn bits(&self) -> KeyBits;

    /// Whether several units of XTS at a time are faster than one, where units are small.
    fn batches_small_units(&self) -> bool {
        true
    }

    /// The second key of an XTS key.
    ///
    /// # Panics
    /// If there is none.
    fn second(&self) -> &Self;

    /// Whether it is an XTS key that is one AES key twice. Asked only of the key that operations derive their values from.
    fn halves_are_equal(&self) -> bool {
        false
    }

    /// The key of GHASH.
    fn hash_key(&self) -> HashKey {
        HashKey::new(self, self.instructions())
    }

    /// XORs data with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`.
    fn add_key_stream(&self, counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>);

    /// XORs data with the key stream of counters whose lowest byte is the first of their blocks.
    fn add_little_endian_key_stream(&self, counter: CounterBlock, data: InOutBuf<'_, '_, u8>) {
        portable::add_key_stream(self, counter, Order::Little, 0, data);
    }

    /// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`.
    fn encrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>);

    /// Decrypts whole blocks, the first of which is chained to `iv`.
    fn decrypt_chained(&self, iv: &[u8; 16], blocks: InOutBuf<'_, '_, Block>) {
        portable::decrypt_chained(self, iv, blocks);
    }

    /// Encrypts or decrypts data from the block of a counter of GCM on, and continues a hash with the ciphertext. A last block that is
    /// not whole is padded with zeros there.
    fn crypt_and_hash(
        &self,
        direction: Direction,
        key: &HashKey,
        counter: CounterBlock,
        hash: &mut [u8; 16],
        data: InOutBuf<'_, '_, u8>,
    ) {
        crypt_and_hash(self, direction, key, counter, hash, data);
    }

    /// Encrypts or decrypts a whole message of GCM, and returns its tag; `None`, and nothing is done, where there is no function that does
    /// all of that.
    fn message(&self, _message: &mut WholeMessage<'_, '_, '_>) -> Option<[u8; 16]> {
        None
    }

    /// Encrypts or decrypts a whole message of AES-GCM-SIV under the keys that this one derives, and returns the tag of its plaintext;
    /// `None`, and nothing is done, where there is no function that does all of that.
    fn message_of_siv(&self, _message: &mut MessageOfSiv<'_, '_, '_>) -> Option<[u8; 16]> {
        None
    }

    /// Processes an XTS data unit with the first key, or its rest from the block with this tweak on: at least 16 bytes.
    fn process_unit(&self, direction: Direction, tweak: u128, data: InOutBuf<'_, '_, u8>) {
        portable::process_unit(self, direction, tweak, data);
    }
}

/// [`CpuCipher::crypt_and_hash`], a piece at a time.
#[inline(never)]
pub(super) fn crypt_and_hash(
    cipher: &impl CpuCipher,
    direction: Direction,
    key: &HashKey,
    mut counter: CounterBlock,
    hash: &mut [u8; 16],
    mut data: InOutBuf<'_, '_, u8>,
) {
    while !data.is_empty() {
        let len = data.len().min(IN_CACHE);
        let (mut piece, rest) = data.split_at(len);
        if direction == Direction::Decrypt {
            key.update(hash, piece.get_in());
        }
        cipher.add_key_stream(counter, 0, piece.reborrow());
        if direction == Direction::Encrypt {
            key.update(hash, piece.get_out());
        }
        counter = counter.after((len / 16) as u128);
        data = rest;
    }
}
