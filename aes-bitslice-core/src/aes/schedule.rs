//! Key expansion (FIPS 197, section 5.2), and the round keys of the equivalent inverse cipher (section 5.3.5).

use super::{Direction, cipher, field, sbox};
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

    /// The length with this number of bytes.
    pub fn from_bytes(bytes: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.bytes() == bytes)
    }

    /// Bytes of key.
    pub fn bytes(self) -> usize {
        4 * (self.rounds() - 6)
    }

    /// Bits of key.
    pub fn bits(self) -> usize {
        8 * self.bytes()
    }

    /// Rounds of the cipher; there is one round key more.
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
/// For decryption they are those of the equivalent inverse cipher, so that both directions run
/// through the same sequence of steps. Wiped on drop, never printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct KeySchedule {
    round_keys: Vec<[u8; 16]>,
}

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
        // Room for all words at once: a reallocation would leave a copy of the key behind.
        let mut words: Vec<[u8; 4]> = Vec::with_capacity(4 * (rounds + 1));
        words.extend(key.chunks_exact(4).map(|w| <[u8; 4]>::try_from(w).expect("four bytes")));
        for i in key_words..4 * (rounds + 1) {
            let mut w = words[i - 1];
            if i % key_words == 0 {
                w.rotate_left(1);
                w = w.map(|b| sbox::FORWARD[b as usize]);
                w[0] ^= field::pow(2, (i / key_words - 1) as u32);
            } else if key_words > 6 && i % key_words == 4 {
                w = w.map(|b| sbox::FORWARD[b as usize]);
            }
            let before = words[i - key_words];
            words.push(std::array::from_fn(|k| before[k] ^ w[k]));
        }
        let mut round_keys: Vec<[u8; 16]> =
            words.chunks_exact(4).map(|c| std::array::from_fn(|i| c[i / 4][i % 4])).collect();
        words.zeroize();
        if direction == Direction::Decrypt {
            round_keys.reverse();
            for key in &mut round_keys[1..rounds] {
                cipher::mix_columns(key, Direction::Decrypt);
            }
        }
        Some(Self { round_keys })
    }

    /// The number of rounds: one less than there are round keys.
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
