//! The templates of each mode, in order; the entry points are in the last. A mode without a row has no such kernel.

use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::templates::{CBC, COUNTER};

pub(super) const ROWS: [(Mode, &[&str]); 4] = [
    (Mode::EcbEncrypt, &[include_str!("ecb.h")]),
    (Mode::EcbDecrypt, &[include_str!("ecb.h")]),
    (Mode::Ctr, &[COUNTER, include_str!("ctr.h")]),
    (Mode::CbcDecrypt, &[CBC, include_str!("cbc.h")]),
];

/// The templates of a mode, if it has such kernels.
pub(super) fn templates(mode: Mode) -> Option<&'static [&'static str]> {
    ROWS.iter().find(|(of, _)| *of == mode).map(|(_, templates)| *templates)
}
