//! Random bytes. The key stream of a random key is just as good, and fast on every engine: it encrypts zeros.

use aes_bitslice_runtime::{Cipher, Counter, CounterMode, Ctr, Engine, Key, KeyBits};

use crate::error::Result;

/// A random key on an engine.
pub fn cipher(engine: &Engine) -> Result<Cipher> {
    Ok(engine.cipher(&Key::generate(KeyBits::Aes128)?)?)
}

/// The operation that turns zeros into random bytes, from byte `offset` of them on.
pub fn operation(offset: u64) -> Ctr {
    Ctr::new(&Counter::new(CounterMode::Ctr128BE, [0; 16]), offset)
}
