//! Encryption with feed-forward, a pseudorandom generator: only measured.

use aes_bitslice_runtime::{self as runtime, Direction, Prg};

use super::mode::{Lengths, Mode};

/// The generator.
pub static PRG: Mode = Mode {
    name: "prg",
    title: "PRG",
    help: "A generator for function secret sharing: every block encrypted, and XORed with itself",
    measured: &[(Direction::Encrypt, "prg")],
    iv: false,
    lengths: Lengths::WholeBlocks,
    kernels: |_| Some(runtime::Mode::Prg),
    operation: |_, _| Box::new(Prg::new()),
};
