//! Cipher block chaining.

use aes_bitslice_runtime::{self as runtime, CbcDecrypt, CbcEncrypt, Direction};

use super::mode::{Lengths, Mode};

/// `--mode cbc`.
pub static CBC: Mode = Mode {
    name: "cbc",
    title: "CBC",
    help: "Cipher block chaining: every block chained to the ciphertext before it",
    measured: &[(Direction::Encrypt, "cbc-encrypt"), (Direction::Decrypt, "cbc-decrypt")],
    iv: true,
    lengths: Lengths::WholeBlocks,
    kernels: |direction| (direction == Direction::Decrypt).then_some(runtime::Mode::CbcDecrypt),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(CbcEncrypt::new(&place.before)),
        Direction::Decrypt => Box::new(CbcDecrypt::new(&place.before)),
    },
};
