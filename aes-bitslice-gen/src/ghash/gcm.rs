//! The kernel of GCM in one launch: counter mode by column, as the stored kernel of that mode has it, and the hash of the ciphertext by `wgmma`.

use super::{COPIES, FIELD, Ghash, PARITIES, PRODUCTS, PUBLIC};
use crate::kernel::spec::KernelSpec;
use crate::sbox::LUT3;
use aes_bitslice_core::ghash::{Arrangement, Shape};
use aes_bitslice_core::mode::Mode;

/// The kernel's name: file stem and, with underscores, the beginning of its entry points.
pub const NAME: &str = "gcm-wgmma";

/// The hash that it computes beside counter mode.
pub const HASH: Ghash = Ghash(Arrangement::Wgmma);

/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;

/// The kernel whose counter mode it has.
pub fn counter_mode() -> KernelSpec {
    KernelSpec::planes(Mode::Ctr, &LUT3)
}

/// How it divides a message: each warpgroup of a thread block is a unit.
pub fn shape() -> Shape {
    HASH.shape()
}

/// Units on a multiprocessor, which has one thread block of `threads` threads.
pub(crate) fn units_per_sm(threads: u32) -> u32 {
    threads / WARPGROUP
}

/// Bytes of shared memory that a thread block of `threads` threads is launched with.
pub(crate) fn shared_bytes(threads: u32) -> u32 {
    let Shape { powers, rows, .. } = shape();
    let (matrices, ciphertext) = (2048 * (powers + 1), 2 * 16 * shape().tile_blocks());
    let (powers_of_rows, barrier) = (16 * rows, 16);
    matrices + powers_of_rows + units_per_sm(threads) * ciphertext + barrier
}

/// The numbers that the templates use.
pub(crate) fn definitions(threads: u32) -> Vec<(&'static str, u32)> {
    let Shape { powers, rows, .. } = shape();
    vec![
        ("POWERS", powers),
        ("ROWS", units_per_sm(threads) * rows),
        ("TILE_ROWS", rows),
        ("PRODUCTS_ARE_MANY", 0),
        ("SHARED_BYTES", shared_bytes(threads)),
    ]
}

/// Its templates after those of counter mode, in order.
pub(crate) const TEMPLATES: [&str; 9] = [
    FIELD,
    include_str!("units.h"),
    PARITIES,
    PRODUCTS,
    COPIES,
    include_str!("gcm.h"),
    PUBLIC,
    include_str!("gcm_batch.h"),
    include_str!("describe.h"),
];
