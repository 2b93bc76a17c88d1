//! FIPS 197 arithmetic, derived from its definitions: the field, the S-box, the key schedule, and the cipher
//! block by block as the standard writes it. Plain, and the measure of everything else in this crate.
//!
//! The [`schedule`] is constant-time: it expands the keys of callers. The [`cipher`] is not: it looks the S-box up, and runs in tests, in
//! the generator and on keys that everybody knows.

pub mod cipher;
pub mod field;
pub mod sbox;
pub mod schedule;
pub mod sub_word;

pub use schedule::{KeyBits, KeySchedule};

/// Which way the cipher runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}
