//! The block cipher on several vectors at a time, and the key schedule (FIPS 197).

use crate::cpu::lanes::{Lanes, OneBlock};
use aes_bitslice_core::aes::Direction;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The round keys of both directions, each in the order of use.
#[derive(Default)]
pub(crate) struct RoundKeys {
    rounds: usize,
    encrypt: [[u8; 16]; 15],
    decrypt: [[u8; 16]; 15],
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        self.encrypt.zeroize();
        self.decrypt.zeroize();
    }
}

impl ZeroizeOnDrop for RoundKeys {}

impl RoundKeys {
    #[inline(always)]
    pub(super) fn encrypt(&self) -> &[[u8; 16]] {
        &self.encrypt[..=self.rounds]
    }

    #[inline(always)]
    pub(super) fn decrypt(&self) -> &[[u8; 16]] {
        &self.decrypt[..=self.rounds]
    }
}

/// Runs vectors through the block cipher.
#[inline(always)]
pub(super) fn process<L: Lanes, const M: usize>(
    l: L,
    direction: Direction,
    keys: &[[u8; 16]],
    states: &mut [L::Vector; M],
) {
    let Some((first, rest)) = keys.split_first() else { return };
    let key = l.broadcast(first);
    for state in &mut *states {
        *state = l.xor(*state, key);
    }
    finish(l, direction, rest, states);
}

/// Runs vectors through the rounds with the last keys.
#[inline(always)]
pub(super) fn finish<L: Lanes, const M: usize>(
    l: L,
    direction: Direction,
    keys: &[[u8; 16]],
    states: &mut [L::Vector; M],
) {
    let Some((last, middle)) = keys.split_last() else { return };
    for key in middle {
        let key = l.broadcast(key);
        for state in &mut *states {
            *state = match direction {
                Direction::Encrypt => l.encrypt(*state, key),
                Direction::Decrypt => l.decrypt(*state, key),
            };
        }
    }
    let key = l.broadcast(last);
    for state in &mut *states {
        *state = match direction {
            Direction::Encrypt => l.encrypt_last(*state, key),
            Direction::Decrypt => l.decrypt_last(*state, key),
        };
    }
}

/// Expands a key of 16, 24 or 32 bytes (FIPS 197, section 5.2), and makes the round keys of the equivalent inverse cipher (section 5.3.5).
#[inline(always)]
pub(crate) fn expand<L: Lanes>(l: L, key: &[u8], keys: &mut RoundKeys) {
    let l = l.one();
    let length = key.len() / 4;
    keys.rounds = length + 6;
    let words = keys.encrypt.as_flattened_mut().as_chunks_mut::<4>().0;
    words[..length].copy_from_slice(key.as_chunks().0);
    let mut constant = 1_u32;
    for i in length..4 * (length + 7) {
        let mut word = u32::from_le_bytes(words[i - 1]);
        if i % length == 0 {
            word = sub_word(l, word).rotate_right(8) ^ constant;
            // x times the one before: there are no more than ten.
            constant = (constant << 1) ^ (0x11b * (constant >> 7));
        } else if length == 8 && i % 8 == 4 {
            word = sub_word(l, word);
        }
        words[i] = (word ^ u32::from_le_bytes(words[i - length])).to_le_bytes();
    }
    for (i, key) in keys.encrypt[..=keys.rounds].iter().enumerate() {
        let mut inverse = l.broadcast(key);
        if i != 0 && i != keys.rounds {
            inverse = l.inverse_mix_columns(inverse);
        }
        l.store(inverse, &mut keys.decrypt[keys.rounds - i]);
    }
}

/// SubBytes of a word. In a block of four equal columns, ShiftRows changes nothing.
#[inline(always)]
fn sub_word<L: OneBlock>(l: L, word: u32) -> u32 {
    let word = word.to_le_bytes();
    let mut block = [0; 16];
    block.as_chunks_mut().0.fill(word);
    let block = l.first_of(l.encrypt_last(l.broadcast(&block), l.zero()));
    u32::from_le_bytes([block[0], block[1], block[2], block[3]])
}
