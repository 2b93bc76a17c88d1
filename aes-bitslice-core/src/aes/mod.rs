//! FIPS 197 arithmetic, derived from its definitions: the field, the S-box, the key schedule, and the cipher
//! block by block as the standard writes it. Slow, plain, and the measure of everything else in this crate.
//!
//! Not constant-time: it runs on the machine that generates code or expands a key, never on bulk data.

pub mod cipher;
pub mod field;
pub mod sbox;
pub mod schedule;

pub use schedule::{KeyBits, KeySchedule};

/// Which way the cipher runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Direction {
    /// Plaintext to ciphertext.
    Encrypt,
    /// Ciphertext to plaintext.
    Decrypt,
}
