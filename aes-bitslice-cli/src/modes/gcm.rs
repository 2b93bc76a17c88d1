//! Galois/counter mode, whole messages: what `bench` measures. `seal` and `open` have it in segments.

use aes_bitslice_runtime::{self as runtime, Direction, GcmDecrypt, GcmEncrypt};

use super::mode::{Lengths, Mode};
use super::operation::WithTag;

/// GCM.
pub static GCM: Mode = Mode {
    name: "gcm",
    title: "GCM",
    help: "Galois/counter mode of SP 800-38D, any length",
    measured: &[(Direction::Encrypt, "gcm-encrypt"), (Direction::Decrypt, "gcm-decrypt")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::Ctr),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(WithTag(GcmEncrypt::new(&place.nonce(), &[]))),
        Direction::Decrypt => Box::new(WithTag(GcmDecrypt::new(&place.nonce(), &[], &place.tag))),
    },
};
