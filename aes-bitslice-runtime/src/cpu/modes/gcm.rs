//! CTR and GHASH of the ciphertext in one loop (SP 800-38D): the rounds of some blocks and the products of others keep different units of
//! a core busy at the same time.

use crate::base::counter::CounterBlock;
use crate::cpu::kernel::WholeMessage;
use crate::cpu::lanes::Lanes;
use crate::cpu::modes::ctr::{Counters, Order};
use crate::cpu::modes::ghash::{Hash, Powers, Sum, element_of_key, powers_of};
use crate::cpu::modes::rounds::{RoundKeys, expand_to_encrypt, process};
use crate::cpu::modes::{FEW, WIDE, ask_ahead, load, store};
use crate::op::gcm::lengths;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::ghash::Blocks;
use cipher::inout::InOutBuf;
use std::mem::ManuallyDrop;

/// The bits of a counter that count.
const COUNTER_BITS: u32 = 32;

struct Gcm<'k, L: Lanes> {
    l: L,
    keys: &'k [[u8; 16]],
    counters: Counters<L>,
    hash: Hash<'k, L>,
}

impl<'k, L: Lanes> Gcm<'k, L> {
    /// Processes vectors of data and hashes other whole vectors, or these before they are processed.
    #[inline(always)]
    fn both(&mut self, mut data: InOutBuf<'_, '_, u8>, others: Option<&[u8]>) {
        let (l, blocks) = (self.l, WIDE * L::BLOCKS);
        let Some((first, [middle @ .., last])) = self.keys.split_first_chunk() else { return };
        let mut states = self.counters.take_after_round(COUNTER_BITS, first);
        // At least eight: there is a round for each vector to be hashed.
        let (with_hash, alone) = middle.split_at(WIDE);
        let mut sum = Sum::new(l);
        for i in 0..WIDE {
            let key = l.broadcast(&with_hash[i]);
            for state in &mut states {
                *state = l.encrypt(*state, key);
            }
            let hashed = others.unwrap_or(data.get_in());
            let vector = l.load(&hashed[i * L::BYTES..]);
            self.hash.add(&mut sum, i, blocks, vector);
            for pair in states.as_chunks_mut::<2>().0 {
                *pair = l.in_order(*pair);
            }
            [sum.low, sum.high] = l.in_order([sum.low, sum.high]);
        }
        self.hash.take(sum);
        for key in alone {
            let key = l.broadcast(key);
            for state in &mut states {
                *state = l.encrypt(*state, key);
            }
        }
        let key = l.broadcast(last);
        let input: [L::Vector; WIDE] = load::<L, WIDE, true>(l, data.get_in());
        for (state, input) in states.iter_mut().zip(input) {
            *state = l.xor(l.encrypt_last(*state, key), input);
        }
        store::<L, WIDE, true>(l, &states, data.get_out());
    }

    /// Processes vectors of data, and hashes those read in decryption, with the last block of all. Returns what was written.
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(
        &mut self,
        direction: Direction,
        mut data: InOutBuf<'_, '_, u8>,
        end: Option<u128>,
    ) -> [L::Vector; M] {
        let (l, blocks) = (self.l, data.len().div_ceil(16));
        let mut states = self.counters.take::<M>(COUNTER_BITS, blocks);
        process(l, Direction::Encrypt, self.keys, &mut states);
        let input: [L::Vector; M] = load::<L, M, WHOLE>(l, data.get_in());
        if direction == Direction::Decrypt {
            self.hash.vectors(&input, blocks, end);
        }
        for (i, (state, input)) in states.iter_mut().zip(input).enumerate() {
            *state = l.xor(*state, input);
            if !WHOLE {
                *state = l.first_bytes(*state, data.len().saturating_sub(i * L::BYTES).min(L::BYTES));
            }
        }
        store::<L, M, WHOLE>(l, &states, data.get_out());
        states
    }

    /// Processes the last data, fewer than [`WIDE`] vectors.
    #[inline(always)]
    fn last<const M: usize>(&mut self, direction: Direction, data: InOutBuf<'_, '_, u8>, end: Option<u128>) {
        let blocks = data.len().div_ceil(16);
        let written = self.step::<M, false>(direction, data, end);
        if direction == Direction::Encrypt {
            self.hash.vectors(&written, blocks, end);
        }
    }

    /// Processes data, and hashes the block of the lengths after it, where the message ends.
    #[inline(always)]
    fn all(mut self, direction: Direction, mut data: InOutBuf<'_, '_, u8>, mut end: Option<u128>) -> Hash<'k, L> {
        let group = WIDE * L::BYTES;
        match direction {
            Direction::Encrypt if data.len() >= group => {
                let (mut before, rest) = data.split_at(group);
                data = rest;
                self.step::<WIDE, true>(direction, before.reborrow(), None);
                while data.len() >= group {
                    ask_ahead(self.l, &mut data);
                    let (mut these, rest) = data.split_at(group);
                    self.both(these.reborrow(), Some(before.get_out()));
                    (before, data) = (these, rest);
                }
                let last = if data.is_empty() { end.take() } else { None };
                self.hash.vectors(&load::<L, WIDE, true>(self.l, before.get_out()), WIDE * L::BLOCKS, last);
            }
            Direction::Encrypt => {}
            Direction::Decrypt => {
                while data.len() >= group {
                    ask_ahead(self.l, &mut data);
                    let (these, rest) = data.split_at(group);
                    self.both(these, None);
                    data = rest;
                }
            }
        }
        match data.len() {
            0 if end.is_none() => {}
            0 => self.hash.vectors::<0>(&[], 0, end),
            few if few <= L::BYTES => self.last::<1>(direction, data, end),
            few if few <= FEW * L::BYTES => self.last::<FEW>(direction, data, end),
            _ => self.last::<WIDE>(direction, data, end),
        }
        self.hash
    }
}

/// Encrypts or decrypts data from the block of a counter on, and continues a hash with the ciphertext. A last block that is not whole is
/// padded with zeros there.
#[inline(always)]
pub(crate) fn gcm<L: Lanes>(
    l: L,
    direction: Direction,
    keys: &RoundKeys,
    powers: &Powers,
    counter: CounterBlock,
    state: &mut [u8; 16],
    data: InOutBuf<'_, '_, u8>,
) {
    let counters = Counters::new(l, counter, Order::Big, data.len());
    let gcm = Gcm { l, keys: keys.encrypt(), counters, hash: Hash::new(l, powers, Blocks::AsTheyAre, l.first(state)) };
    let hash = match direction {
        Direction::Encrypt => gcm.all(Direction::Encrypt, data, None),
        Direction::Decrypt => gcm.all(Direction::Decrypt, data, None),
    };
    *state = l.first_of(hash.block());
}

/// Encrypts or decrypts a whole message, and returns its tag (SP 800-38D, section 7).
#[inline(always)]
pub(crate) fn message<L: Lanes>(
    l: L,
    keys: &RoundKeys,
    powers: &Powers,
    message: &mut WholeMessage<'_, '_, '_>,
) -> [u8; 16] {
    let (first, aad, data) = (message.first, message.aad, message.data.reborrow());
    let keys = keys.encrypt();
    let mut mask = [l.reverse(l.number(first.block))];
    process(l, Direction::Encrypt, keys, &mut mask);
    let hash = Hash::new(l, powers, Blocks::AsTheyAre, l.zero());
    let hash = if aad.is_empty() { hash } else { hash.all(aad) };
    let end = Some(u128::from_be_bytes(lengths(aad.len() as u64, data.len() as u64)));
    let gcm = Gcm { l, keys, counters: Counters::new(l, first.after(1), Order::Big, data.len()), hash };
    let hash = match message.direction {
        Direction::Encrypt => gcm.all(Direction::Encrypt, data, end),
        Direction::Decrypt => gcm.all(Direction::Decrypt, data, end),
    };
    l.first_of(l.xor(hash.block(), mask[0]))
}

/// Encrypts or decrypts a whole message under a key that is used for no other, and returns its tag. Leaves what it derives from the key on
/// the stack, which the caller wipes.
#[inline(always)]
pub(crate) fn message_under<L: Lanes>(l: L, key: &[u8], whole: &mut WholeMessage<'_, '_, '_>) -> [u8; 16] {
    let (mut keys, mut powers) = (ManuallyDrop::new(RoundKeys::default()), ManuallyDrop::new(Powers::default()));
    expand_to_encrypt(l, key, &mut keys);
    let mut hash_key = [l.zero()];
    process(l, Direction::Encrypt, keys.encrypt(), &mut hash_key);
    let blocks = whole.aad.len().max(whole.data.len()).div_ceil(16).min(WIDE * L::BLOCKS);
    powers_of(l, element_of_key(&l.first_of(hash_key[0])), blocks + 1, &mut powers);
    message(l, &keys, &powers, whole)
}
