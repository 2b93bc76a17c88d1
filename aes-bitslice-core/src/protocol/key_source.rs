//! How a key reaches a kernel, and the words that the kernel is launched with.

use crate::aes::{Direction, KeySchedule, sbox};
use crate::basis::Basis;
use crate::column_basis::ColumnBasis;
use crate::layout::{self, MAX_ROUNDS, PLANES};
use crate::strategy::KeyStrategy;
use zeroize::Zeroizing;

/// Words of the longest key schedule.
pub const SCHEDULE_WORDS: usize = 4 * (MAX_ROUNDS + 1);

/// Words of the argument that holds round keys: those of the longest key, and their number of rounds.
pub(crate) const ROUND_KEYS: usize = SCHEDULE_WORDS + 1;
/// Words of the argument that holds an unexpanded key: the longest one, and its number of rounds.
pub(crate) const UNEXPANDED_KEY: usize = 8 + 1;

/// How a key reaches a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "manifest", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum KeySource {
    /// As round keys with the launch, in order of use and in the kernel's basis; for decryption, the round keys of the equivalent inverse
    /// cipher (FIPS 197, section 5.3.5). There are 15 round keys of four little-endian words each, then one word with the number of rounds.
    Argument,
    /// As a key schedule with the launch (FIPS 197, section 5.2), one for both directions: 15 round keys of four little-endian words each,
    /// then one word with the number of rounds.
    Schedule,
    /// Unexpanded with the launch: eight little-endian words, then one word with the number of rounds.
    CipherKey,
    /// As bit-planes in device memory, 128 words per round key, all ones or zero ([`layout::schedule_planes`]). The launch passes a pointer
    /// to them and one word with the number of rounds.
    Memory,
    /// As a key schedule in device memory, together with the S-box and its inverse. The launch passes a pointer to them and one word with
    /// the number of rounds. The schedule has [`SCHEDULE_WORDS`] words, each table 64.
    ScheduleInMemory,
    /// In the code.
    Baked,
}

impl KeySource {
    /// The key source of a bitsliced kernel.
    pub fn of(strategy: KeyStrategy) -> Self {
        match strategy {
            KeyStrategy::Planes | KeyStrategy::Bits => Self::Argument,
            KeyStrategy::PlanesInMemory => Self::Memory,
            KeyStrategy::OneHotMux => Self::Baked,
        }
    }

    /// The length in words of the launch argument that holds the key, if there is one.
    pub fn argument_words(self) -> Option<usize> {
        match self {
            Self::Argument | Self::Schedule => Some(ROUND_KEYS),
            Self::CipherKey => Some(UNEXPANDED_KEY),
            Self::Memory | Self::ScheduleInMemory | Self::Baked => None,
        }
    }

    /// The words of a key for kernels of this direction and basis: the argument, the planes, or none where the key is baked in.
    pub fn words(self, key: &ExpandedKey, direction: Direction, basis: impl Into<ColumnBasis>) -> Zeroizing<Vec<u32>> {
        let basis = basis.into();
        let argument = |words: &[u32], rounds: usize| argument_of(self, words, rounds);
        let schedule = key.schedule(direction);
        match self {
            Self::Argument => argument(layout::key_words(schedule, basis).as_flattened(), schedule.rounds()),
            Self::Schedule => {
                let schedule = key.schedule(Direction::Encrypt);
                argument(layout::key_words(schedule, Basis::STANDARD).as_flattened(), schedule.rounds())
            }
            // The schedule of encryption begins with the key (FIPS 197, section 5.2).
            Self::CipherKey => {
                let words = layout::key_words(key.schedule(Direction::Encrypt), Basis::STANDARD);
                argument(&words.as_flattened()[..schedule.key_bits().bytes() / 4], schedule.rounds())
            }
            Self::Memory => {
                let planes = Zeroizing::new(layout::schedule_planes(schedule, basis));
                Zeroizing::new(planes.as_flattened().to_vec())
            }
            Self::ScheduleInMemory => {
                // As long as planes would be; the length gives the number of rounds.
                let mut words = Zeroizing::new(vec![0; PLANES * (schedule.rounds() + 1)]);
                let keys = layout::key_words(key.schedule(Direction::Encrypt), Basis::STANDARD);
                words[..4 * (schedule.rounds() + 1)]
                    .copy_from_slice(&keys.as_flattened()[..4 * (schedule.rounds() + 1)]);
                let tables = [Direction::Encrypt, Direction::Decrypt].map(sbox::table);
                let bytes = tables.iter().flat_map(|table| table.as_chunks().0);
                let tables = bytes.map(|bytes| u32::from_le_bytes(*bytes));
                words[SCHEDULE_WORDS..].iter_mut().zip(tables).for_each(|(word, entries)| *word = entries);
                words
            }
            Self::Baked => Zeroizing::default(),
        }
    }
}

/// The words passed with a launch, followed by one word with the number of rounds.
fn argument_of(source: KeySource, words: &[u32], rounds: usize) -> Zeroizing<Vec<u32>> {
    // Allocated at full length: growing would leave copies behind.
    let mut argument = Zeroizing::new(vec![0; source.argument_words().unwrap_or_default()]);
    argument[..words.len()].copy_from_slice(words);
    *argument.last_mut().expect("the rounds have a word") = rounds as u32;
    argument
}

/// A key expanded for both directions, for kernels of either.
pub struct ExpandedKey {
    encrypt: KeySchedule,
    decrypt: KeySchedule,
    /// The tweak key, which only encrypts; `None` except with XTS.
    tweak: Option<KeySchedule>,
}

impl ExpandedKey {
    /// Expands a key; `None` if its length is not an AES key length.
    pub fn new(key: &[u8]) -> Option<Self> {
        let encrypt = KeySchedule::new(key, Direction::Encrypt)?;
        Some(Self { decrypt: encrypt.inverse(), encrypt, tweak: None })
    }

    /// Expands the two keys of XTS, for the data and for the tweaks; `None` if the length of either is not an AES key length.
    pub fn xts(data: &[u8], tweak: &[u8]) -> Option<Self> {
        Some(Self { tweak: Some(KeySchedule::new(tweak, Direction::Encrypt)?), ..Self::new(data)? })
    }

    /// Whether this is the two keys of XTS.
    pub fn has_tweaks(&self) -> bool {
        self.tweak.is_some()
    }

    /// The words of the tweak key, in the form of [`KeySource::Argument`]; `None` if there is no tweak key.
    pub fn tweak_words(&self, basis: impl Into<ColumnBasis>) -> Option<Zeroizing<Vec<u32>>> {
        let basis = basis.into();
        let words = |tweak: &KeySchedule| {
            argument_of(KeySource::Argument, layout::key_words(tweak, basis).as_flattened(), tweak.rounds())
        };
        self.tweak.as_ref().map(words)
    }

    /// The round keys in order of use.
    fn schedule(&self, direction: Direction) -> &KeySchedule {
        match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix A.3: the last words of the schedule.
    #[test]
    fn words_are_those_of_the_standard() {
        let key: Vec<u8> = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"
            .as_bytes()
            .chunks(2)
            .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
            .collect();
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            let expanded = ExpandedKey::new(&key).unwrap();
            let words = |source: KeySource| source.words(&expanded, direction, Basis::STANDARD);
            let schedule = words(KeySource::Schedule);
            assert_eq!((schedule.len(), schedule[0], schedule[59]), (61, 0x10eb3d60, 0x1e636c70));
            assert_eq!(schedule[60], 14);
            let unexpanded = words(KeySource::CipherKey);
            assert_eq!((unexpanded.len(), &unexpanded[..8], unexpanded[8]), (9, &schedule[..8], 14));
            let in_order = words(KeySource::Argument);
            assert_eq!(in_order[..4] == schedule[..4], direction == Direction::Encrypt);
            let planes = words(KeySource::Memory);
            assert_eq!(planes.len(), 128 * 15);
            assert!((0..32).all(|bit| planes[bit] == 0u32.wrapping_sub(in_order[0] >> bit & 1)));
            let buffer = words(KeySource::ScheduleInMemory);
            assert_eq!((buffer.len(), &buffer[..60]), (128 * 15, &schedule[..60]));
            assert_eq!((buffer[60], buffer[124]), (0x7b777c63, 0xd56a0952), "the S-boxes' first bytes");
            assert!(words(KeySource::Baked).is_empty());
        }
        assert!(ExpandedKey::new(&key[1..]).is_none());
    }
}
