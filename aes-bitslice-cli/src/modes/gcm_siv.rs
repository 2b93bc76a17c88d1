//! AES-GCM-SIV, whole messages: what `bench` measures.

use aes_bitslice_runtime::{self as runtime, Direction, GcmSivDecrypt, GcmSivEncrypt};

use super::mode::{Lengths, Mode};
use super::operation::WithTag;

/// AES-GCM-SIV.
pub static GCM_SIV: Mode = Mode {
    name: "gcm-siv",
    title: "AES-GCM-SIV",
    help: "AES-GCM-SIV of RFC 8452, any length",
    measured: &[(Direction::Encrypt, "gcm-siv-encrypt"), (Direction::Decrypt, "gcm-siv-decrypt")],
    iv: true,
    lengths: Lengths::Any,
    kernels: |_| Some(runtime::Mode::CtrLe32),
    operation: |direction, place| match direction {
        Direction::Encrypt => Box::new(WithTag(GcmSivEncrypt::new(&place.nonce(), &[]))),
        Direction::Decrypt => Box::new(WithTag(GcmSivDecrypt::new(&place.nonce(), &[], &place.tag))),
    },
};
