//! Key expansion (FIPS 197, section 5.2), and the round keys of the equivalent inverse cipher (section 5.3.5).
//!
//! Only the key length determines which instructions run and which addresses are accessed: the S-box is a circuit ([`sub_word`]), and
//! InvMixColumns consists of shifts and XORs of whole columns.

use super::Direction;
use super::sub_word::sub_word;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The length of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum KeyBits {
    /// 16 bytes, 10 rounds.
    Aes128,
    /// 24 bytes, 12 rounds.
    Aes192,
    /// 32 bytes, 14 rounds.
    Aes256,
}

impl KeyBits {
    /// All key lengths, shortest first.
    pub const ALL: [Self; 3] = [Self::Aes128, Self::Aes192, Self::Aes256];

    /// The key length for this number of bytes.
    pub fn from_bytes(bytes: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.bytes() == bytes)
    }

    /// The length in bytes.
    pub fn bytes(self) -> usize {
        4 * (self.rounds() - 6)
    }

    /// The length in bits.
    pub fn bits(self) -> usize {
        8 * self.bytes()
    }

    /// Rounds of the cipher; there is one more round key.
    pub fn rounds(self) -> usize {
        match self {
            Self::Aes128 => 10,
            Self::Aes192 => 12,
            Self::Aes256 => 14,
        }
    }
}

/// Round keys in the order in which the cipher of one direction adds them, each in block byte order.
///
/// For decryption they are the round keys of the equivalent inverse cipher, so that both directions run through the same sequence of steps.
/// Wiped on drop, never printed.
#[derive(Clone)]
pub struct KeySchedule {
    round_keys: Vec<[u8; 16]>,
}

impl Drop for KeySchedule {
    fn drop(&mut self) {
        self.round_keys.zeroize();
    }
}

impl ZeroizeOnDrop for KeySchedule {}

impl std::fmt::Debug for KeySchedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySchedule({} rounds)", self.rounds())
    }
}

impl KeySchedule {
    /// Expands a key of 16, 24 or 32 bytes; `None` for any other length.
    pub fn new(key: &[u8], direction: Direction) -> Option<Self> {
        let rounds = KeyBits::from_bytes(key.len())?.rounds();
        let key_words = key.len() / 4;
        // Columns, little-endian. Allocated in full up front: a reallocation would leave a copy of the key behind.
        let mut words = Vec::with_capacity(4 * (rounds + 1));
        words.extend(key.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)));
        // x to the power of i / key_words - 1.
        let mut round_constant = 1;
        for i in key_words..4 * (rounds + 1) {
            let mut w: u32 = words[i - 1];
            if i % key_words == 0 {
                w = sub_word(w.rotate_right(8)) ^ round_constant;
                round_constant = times_x(round_constant);
            } else if key_words > 6 && i % key_words == 4 {
                w = sub_word(w);
            }
            words.push(words[i - key_words] ^ w);
        }
        let bytes = |c: &[u32; 4]| std::array::from_fn(|i| c[i / 4].to_le_bytes()[i % 4]);
        let schedule = Self { round_keys: words.as_chunks().0.iter().map(bytes).collect() };
        words.zeroize();
        Some(match direction {
            Direction::Encrypt => schedule,
            Direction::Decrypt => schedule.inverse(),
        })
    }

    /// The schedule for decryption, computed from the schedule for encryption.
    pub(crate) fn inverse(&self) -> Self {
        let mut round_keys: Vec<[u8; 16]> = self.round_keys.iter().rev().copied().collect();
        for column in round_keys[1..self.rounds()].as_flattened_mut().as_chunks_mut().0 {
            *column = inverse_mix_column(u32::from_le_bytes(*column)).to_le_bytes();
        }
        Self { round_keys }
    }

    /// The number of rounds, one less than the number of round keys.
    pub fn rounds(&self) -> usize {
        self.round_keys.len() - 1
    }

    /// The key length.
    pub fn key_bits(&self) -> KeyBits {
        KeyBits::ALL.into_iter().find(|k| k.rounds() == self.rounds()).expect("10, 12 or 14 rounds")
    }

    /// The round keys.
    pub fn round_keys(&self) -> &[[u8; 16]] {
        &self.round_keys
    }
}

/// Each byte times x.
fn times_x(word: u32) -> u32 {
    ((word & 0x7f7f_7f7f) << 1) ^ ((word >> 7 & 0x0101_0101) * 0x1b)
}

/// InvMixColumns on a column: the rows are 0e 0b 0d 09, rotated.
fn inverse_mix_column(column: u32) -> u32 {
    let two = times_x(column);
    let four = times_x(two);
    let eight = times_x(four);
    let nine = eight ^ column;
    (eight ^ four ^ two) ^ (nine ^ two).rotate_right(8) ^ (nine ^ four).rotate_right(16) ^ nine.rotate_right(24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::{cipher, field, sbox};

    /// FIPS 197 to the letter, with the S-box as a table.
    fn by_definition(key: &[u8], direction: Direction) -> Vec<[u8; 16]> {
        let (key_words, rounds) = (key.len() / 4, KeyBits::from_bytes(key.len()).unwrap().rounds());
        let mut words: Vec<[u8; 4]> = key.chunks_exact(4).map(|word| word.try_into().unwrap()).collect();
        for i in key_words..4 * (rounds + 1) {
            let mut word = words[i - 1];
            if i % key_words == 0 {
                word.rotate_left(1);
                word = word.map(|byte| sbox::FORWARD[usize::from(byte)]);
                word[0] ^= field::pow(2, (i / key_words - 1) as u32);
            } else if key_words > 6 && i % key_words == 4 {
                word = word.map(|byte| sbox::FORWARD[usize::from(byte)]);
            }
            words.push(std::array::from_fn(|k| words[i - key_words][k] ^ word[k]));
        }
        let mut keys: Vec<[u8; 16]> =
            words.as_chunks().0.iter().map(|c: &[_; 4]| c.as_flattened().try_into().unwrap()).collect();
        if direction == Direction::Decrypt {
            keys.reverse();
            keys[1..rounds].iter_mut().for_each(|key| cipher::mix_columns(key, Direction::Decrypt));
        }
        keys
    }

    #[test]
    fn it_is_the_definition() {
        let mut key = [0u8; 32];
        for n in 0..1000u32 {
            for (i, byte) in key.iter_mut().enumerate() {
                *byte = byte.wrapping_mul(5).wrapping_add((n as u8).rotate_left(i as u32)) ^ i as u8;
            }
            for bits in KeyBits::ALL {
                for direction in [Direction::Encrypt, Direction::Decrypt] {
                    let key = &key[..bits.bytes()];
                    let schedule = KeySchedule::new(key, direction).unwrap();
                    assert_eq!(schedule.round_keys(), by_definition(key, direction), "{key:02x?} {direction:?}");
                }
            }
        }
    }
}
