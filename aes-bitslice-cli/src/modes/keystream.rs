//! The key stream of counter mode, which reads no data: what `keystream` writes. It is not in the table of modes of `encrypt`, because it encrypts and
//! decrypts nothing.

use aes_bitslice_runtime::{self as runtime, Counter, CounterMode, Direction, Keystream};

use super::mode::{Lengths, Mode};

/// The key stream of CTR.
pub static KEYSTREAM: Mode = Mode {
    name: "keystream",
    title: "key stream of CTR",
    help: "The key stream of CTR, any length",
    measured: &[(Direction::Encrypt, "keystream")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Keystream),
    operation: |_, place| Box::new(Keystream::new(&Counter::new(CounterMode::Ctr128BE, place.iv), place.offset)),
};
