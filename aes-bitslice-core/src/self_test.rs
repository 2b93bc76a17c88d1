//! The known-answer test that every kernel must pass before it is used: one input, longer by an odd number of blocks than a thread block's
//! tile, and a counter that wraps within it.

use crate::aes::KeySchedule;
use crate::mode::Mode;
use crate::reference::{Units, reference, xts};

/// Blocks of 16 bytes in the test: a thread block of 128 threads, one warp's lanes and one more.
pub const BLOCKS: usize = 128 * 32 + 33;
/// The counter of the first block, which wraps mod 2^128 after 1,000 blocks; for CBC, the IV as a big-endian number.
pub const COUNTER: u128 = u128::MAX - 999;
/// XTS: units, some of which begin within a tile and others extend past it, with numbers that wrap mod 2^128 at the fifth.
pub const UNITS: Units = Units { bytes: 16 * 515, first: u128::MAX - 3, before: 7 };

/// The input: bytes without a short period.
pub fn input() -> Vec<u8> {
    (0..16 * BLOCKS as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 23) as u8).collect()
}

/// The mode's output for [`input`] and [`COUNTER`]. `keys` are the round keys of the mode's direction.
pub fn expected(mode: Mode, keys: &KeySchedule) -> Vec<u8> {
    reference(mode, keys, COUNTER, 0, &input())
}

/// The output of XTS for [`input`] in [`UNITS`]. `keys` are the round keys of the mode's direction, `tweak_keys` the tweak round keys.
pub fn expected_xts(mode: Mode, keys: &KeySchedule, tweak_keys: &KeySchedule) -> Vec<u8> {
    xts(mode.direction(), keys, tweak_keys, UNITS, &input())
}
