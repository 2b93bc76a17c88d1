//! AES-GCM-SIV (RFC 8452): a whole message, under keys of its own.

use crate::base::counter::CounterBlock;
use crate::cpu::kernel::MessageOfSiv;
use crate::cpu::lanes::Lanes;
use crate::cpu::modes::WIDE;
use crate::cpu::modes::ctr::{Order, ctr};
use crate::cpu::modes::ghash::{Hash, Powers, powers_of};
use crate::cpu::modes::rounds::{RoundKeys, expand_to_encrypt, process};
use crate::op::gcm_siv::{counter_of_keys, lengths};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::ghash::Blocks;
use cipher::inout::InOutBuf;
use std::mem::ManuallyDrop;

/// Encrypts or decrypts a whole message under the keys that these derive, and returns the tag of its plaintext. Leaves those keys on the
/// stack, which the caller wipes.
#[inline(always)]
pub(crate) fn message_of_siv<L: Lanes>(l: L, keys: &RoundKeys, message: &mut MessageOfSiv<'_, '_, '_>) -> [u8; 16] {
    let (aad, mut data) = (message.aad, message.data.reborrow());
    // Wiped with the stack, as what is computed with them.
    let (mut own, mut powers) = (ManuallyDrop::new(RoundKeys::default()), ManuallyDrop::new(Powers::default()));
    let most = aad.len().max(data.len()).div_ceil(16).min(WIDE * L::BLOCKS);
    derive(l, keys, message.nonce, most, &mut own, &mut powers);
    // A message is decrypted before its plaintext is hashed, and hashed before it is encrypted.
    let key_stream = |tag: [u8; 16], data: InOutBuf<'_, '_, u8>| {
        let counter = CounterBlock::of_gcm(u128::from_le_bytes(tag) | 1 << 127, true);
        ctr(l, &own, counter, Order::Little, 0, data);
    };
    if let Some(tag) = message.tag {
        key_stream(tag, data.reborrow());
    }
    let plaintext = if message.tag.is_some() { &*data.get_out() } else { data.get_in() };
    let mut hash = Hash::new(l, &powers, Blocks::Reversed, l.zero()).all(aad).all(plaintext);
    let end = u128::from_le_bytes(lengths(aad.len() as u64, plaintext.len() as u64));
    hash.vectors::<0>(&[], 0, Some(end));
    let mut nonce = [0; 16];
    nonce[..12].copy_from_slice(message.nonce);
    let counts = l.number(u128::MAX >> 1);
    let mut tag = [l.and(l.xor(hash.element(), l.first(&nonce)), counts)];
    process(l, Direction::Encrypt, own.encrypt(), &mut tag);
    let tag = l.first_of(tag[0]);
    if message.tag.is_none() {
        key_stream(tag, data);
    }
    tag
}

/// The keys of a message (section 4): that of AES, and the powers of that of POLYVAL, up to `most`.
#[inline(always)]
fn derive<L: Lanes>(l: L, keys: &RoundKeys, nonce: &[u8; 12], most: usize, own: &mut RoundKeys, powers: &mut Powers) {
    let mut blocks = [[[0; 8]; 2]; 6];
    ctr(l, keys, counter_of_keys(nonce), Order::Little, 0, blocks.as_flattened_mut().as_flattened_mut().into());
    let mut key = [0; 48];
    for (place, [[first, _], [second, _]]) in key.as_chunks_mut::<16>().0.iter_mut().zip(blocks.as_chunks::<2>().0) {
        // Written at once: a load of what two stores have written waits for both.
        let number = |bytes| u128::from(u64::from_le_bytes(bytes));
        l.one().store(l.one().number(number(*second) << 64 | number(*first)), place);
    }
    let (hash_key, key) = key.split_at(16);
    powers_of(l, u128::from_le_bytes(*hash_key.first_chunk().expect("a block")), most, powers);
    expand_to_encrypt(l, &key[..4 * keys.encrypt().len() - 28], own);
}
