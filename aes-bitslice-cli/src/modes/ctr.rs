//! Counter mode.

use aes_bitslice_runtime::{self as runtime, Counter, CounterMode, Ctr, Direction};

use super::mode::{Lengths, Mode};

/// `--mode ctr`.
pub static CTR: Mode = Mode {
    name: "ctr",
    title: "CTR",
    help: "Counter mode of SP 800-38A, 128-bit counter, any length",
    measured: &[(Direction::Encrypt, "ctr")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Ctr),
    operation: |_, place| Box::new(Ctr::new(&Counter::new(CounterMode::Ctr128BE, place.iv), place.offset)),
};
