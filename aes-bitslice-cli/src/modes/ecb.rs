//! Electronic codebook.

use aes_bitslice_runtime::{self as runtime, Direction, Ecb};

use super::mode::{Lengths, Mode};

/// `--mode ecb`.
pub static ECB: Mode = Mode {
    name: "ecb",
    title: "ECB",
    help: "Electronic codebook: every block on its own",
    measured: &[(Direction::Encrypt, "ecb-encrypt"), (Direction::Decrypt, "ecb-decrypt")],
    iv: false,
    lengths: Lengths::WholeBlocks,
    kernels: |direction| Some(runtime::Mode::ecb(direction)),
    operation: |direction, _| Box::new(Ecb::new(direction)),
};
