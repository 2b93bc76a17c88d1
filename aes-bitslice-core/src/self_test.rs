//! What every kernel must answer before it is used: one input, longer by an odd number of blocks than what a thread
//! block works on at a time, and a counter that wraps within it.

use crate::aes::KeySchedule;
use crate::mode::Mode;
use crate::reference::{Units, reference, xts};

/// Blocks of 16 bytes of the test: a thread block of 128 threads, one warp's lanes and one more.
pub const BLOCKS: usize = 128 * 32 + 33;
/// The counter of the first block, which wraps mod 2^128 after 1,000 blocks; for CBC, the IV as a big-endian number.
pub const COUNTER: u128 = u128::MAX - 999;
/// XTS: units of which some begin within a tile and others last longer, with numbers that wrap mod 2^128 at the fifth.
pub const UNITS: Units = Units { blocks: 515, first: u128::MAX - 3, before: 7 };

/// The input: bytes without a short period.
pub fn input() -> Vec<u8> {
    (0..16 * BLOCKS as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 23) as u8).collect()
}

/// What the mode makes of [`input`] and [`COUNTER`]. `keys` are those of the mode's direction.
pub fn expected(mode: Mode, keys: &KeySchedule) -> Vec<u8> {
    reference(mode, keys, COUNTER, 0, &input())
}

/// What XTS makes of [`input`] in [`UNITS`]. `keys` are those of the mode's direction, `tweak_keys` those of the tweaks.
pub fn expected_xts(mode: Mode, keys: &KeySchedule, tweak_keys: &KeySchedule) -> Vec<u8> {
    xts(mode.direction(), keys, tweak_keys, UNITS, &input())
}
