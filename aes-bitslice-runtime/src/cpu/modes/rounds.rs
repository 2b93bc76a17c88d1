//! The block cipher on several vectors at a time, and the key schedule (FIPS 197).

use crate::cpu::lanes::{Lanes, OneBlock, ZERO};
use aes_bitslice_core::aes::Direction;
use zeroize::{ZeroizeOnDrop, optimization_barrier};

/// The round keys of both directions, each in the order of use.
#[derive(Default)]
pub(crate) struct RoundKeys {
    rounds: usize,
    encrypt: [[u8; 16]; 15],
    decrypt: [[u8; 16]; 15],
}

impl Drop for RoundKeys {
    fn drop(&mut self) {
        (self.encrypt, self.decrypt) = Default::default();
        optimization_barrier(self);
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
    expand_to_encrypt(l, key, keys);
    let l = l.one();
    for (i, key) in keys.encrypt[..=keys.rounds].iter().enumerate() {
        let mut inverse = l.broadcast(key);
        if i != 0 && i != keys.rounds {
            inverse = l.inverse_mix_columns(inverse);
        }
        l.store(inverse, &mut keys.decrypt[keys.rounds - i]);
    }
}

/// Expands a key of 16, 24 or 32 bytes, for encryption alone. A step makes as many words as the key has: `first`, four, and `others`, none,
/// two or four. A new word is the sum of the old words up to its place and of one more, which SubWord makes of the last word before these
/// (with AES-192, `others` takes that word as it is).
#[inline(always)]
pub(super) fn expand_to_encrypt<L: Lanes>(l: L, key: &[u8], keys: &mut RoundKeys) {
    let l = l.one();
    let words = key.len() / 4;
    keys.rounds = words + 6;
    let sums = |words| {
        let two = l.xor(words, l.shuffle(words, &UP));
        l.xor(two, l.low_to_high(two))
    };
    let (first, others) = key.split_at(16);
    let (mut first, mut others) = (l.load(first), l.load_part(others));
    let ends = keys.encrypt[..=keys.rounds].as_flattened().len();
    let bytes = keys.encrypt.as_flattened_mut();
    for (at, constant) in (0..ends).step_by(key.len()).zip(&CONSTANTS) {
        l.store(first, &mut bytes[at..]);
        if let Some(place) = bytes.get_mut(at + 16..at + 32).filter(|_| words > 4) {
            l.store(others, place);
        }
        let before = match words {
            4 => l.shuffle(first, &ROTATED_LAST),
            6 => l.shuffle(others, &ROTATED_SECOND),
            _ => l.shuffle(others, &ROTATED_LAST),
        };
        // In a block of four equal columns, ShiftRows changes nothing.
        first = l.xor(sums(first), l.encrypt_last(before, l.load(constant)));
        let last = l.shuffle(first, &LAST);
        let last = if words == 8 { l.encrypt_last(last, l.zero()) } else { last };
        others = l.xor(sums(others), last);
    }
}

/// Where the bytes of four words come from: each from the word before, the first zeros.
static UP: [u8; 16] = [ZERO, ZERO, ZERO, ZERO, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// From the last word.
static LAST: [u8; 16] = [12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15];
/// From the last word, after RotWord.
static ROTATED_LAST: [u8; 16] = [13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12, 13, 14, 15, 12];
/// From the second word, after RotWord.
static ROTATED_SECOND: [u8; 16] = [5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4];

/// The round constants, each in four words: x times the one before.
static CONSTANTS: [[u8; 16]; 11] = {
    let mut all = [[0; 16]; 11];
    let (mut i, mut constant) = (0, 1_u8);
    while i < all.len() {
        let mut word = 0;
        while word < 4 {
            all[i][4 * word] = constant;
            word += 1;
        }
        constant = (constant << 1) ^ (0x1b * (constant >> 7));
        i += 1;
    }
    all
};
