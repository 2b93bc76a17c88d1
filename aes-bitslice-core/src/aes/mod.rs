//! FIPS 197 arithmetic, derived from its definitions: the field, the S-box, the key schedule, and the cipher block by block as the standard
//! specifies it. Plain code, and the reference for everything else in this crate.
//!
//! The [`schedule`] is constant-time: it expands callers' keys. The [`cipher`] is not: it looks up the S-box in a table, and runs in tests,
//! in the generator and on publicly known keys.

pub mod cipher;
pub mod field;
pub mod sbox;
pub mod schedule;
pub mod sub_word;

pub use schedule::{KeyBits, KeySchedule};

/// The direction of the cipher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}
