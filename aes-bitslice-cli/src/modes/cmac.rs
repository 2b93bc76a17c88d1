//! CMAC, whole messages, which writes nothing but a tag: what `bench` measures.

use aes_bitslice_runtime::{Cmac, Direction};

use super::mode::{Lengths, Mode};
use super::operation::WithTag;

/// CMAC.
pub static CMAC: Mode = Mode {
    name: "cmac",
    title: "CMAC",
    help: "CMAC of SP 800-38B, any length",
    measured: &[(Direction::Encrypt, "cmac")],
    iv: false,
    lengths: Lengths::Any,
    kernels: |_| None,
    operation: |_, _| Box::new(WithTag(Cmac::new())),
};
