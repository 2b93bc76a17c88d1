//! Column-major bit-planes: which plane holds which bit, and why ShiftRows costs nothing.
//!
//! Thirty-two blocks (or as many as a word has bits) become 128 words. Plane `8 j + b` holds bit `b`
//! (0 = least significant) of byte `j` of every block, one block a lane; byte `j` is row `j % 4` of column `j / 4`:
//!
//! ```text
//!            column 0     column 1     column 2     column 3
//! row 0    planes 0..7   32..39       64..71       96..103
//! row 1         8..15    40..47       72..79      104..111
//! row 2        16..23    48..55       80..87      112..119
//! row 3        24..31    56..63       88..95      120..127
//! ```
//!
//! ShiftRows moves whole bytes, so it is a choice of which planes the next layer reads
//! (Hajihassani et al. 2019, sections 4.2 and 4.5).

use crate::aes::{Direction, KeySchedule, cipher};

/// Bit-planes of a state.
pub const PLANES: usize = 128;

/// The planes of one round key for any number of lanes: all ones where the key bit is set, else zero.
pub fn key_planes(round_key: &[u8; 16]) -> [u32; PLANES] {
    std::array::from_fn(|p| 0u32.wrapping_sub(u32::from(key_bit(round_key, p))))
}

/// The planes of all round keys, in the order of use.
pub fn schedule_planes(keys: &KeySchedule) -> Vec<[u32; PLANES]> {
    keys.round_keys().iter().map(key_planes).collect()
}

/// The bit of a round key that plane `plane` carries.
pub fn key_bit(round_key: &[u8; 16], plane: usize) -> bool {
    round_key[plane / 8] >> (plane % 8) & 1 == 1
}

/// The bytes that ShiftRows, or its inverse, brings into a column, by row.
pub fn shifted_column(column: usize, direction: Direction) -> [usize; 4] {
    std::array::from_fn(|row| cipher::shift_rows_source(4 * column + row, direction))
}
