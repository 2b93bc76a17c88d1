//! Column-major bit-planes: which plane holds which bit, and the cost of ShiftRows.
//!
//! Thirty-two blocks (or as many blocks as a word has bits) become 128 words. Plane `8 j + b` holds bit `b` (0 = least significant) of byte
//! `j` of every block, one block per lane; byte `j` is row `j % 4` of column `j / 4`:
//!
//! ```text
//!            column 0     column 1     column 2     column 3
//! row 0    planes 0..7   32..39       64..71       96..103
//! row 1         8..15    40..47       72..79      104..111
//! row 2        16..23    48..55       80..87      112..119
//! row 3        24..31    56..63       88..95      120..127
//! ```
//!
//! ShiftRows moves whole bytes, so where a thread holds all planes, it only selects which planes the next layer reads (Hajihassani et al.
//! 2019, sections 4.2 and 4.5).
//!
//! Two choices remain: how many threads share the planes of 32 blocks, [`Layout`], and the basis in which a byte is kept between rounds,
//! [`Basis`](crate::basis::Basis).

use crate::aes::{Direction, KeySchedule, cipher};
use crate::column_basis::ColumnBasis;
use zeroize::Zeroizing;

/// Bit-planes of a state.
pub const PLANES: usize = 128;

/// Blocks of 16 bytes whose planes share a register of a kernel: one block per bit.
pub const BLOCKS_PER_WORD: u32 = 32;

/// The maximum number of rounds, reached by AES-256. A kernel with keys given at launch has room for the round keys of this many rounds.
pub const MAX_ROUNDS: usize = 14;

crate::named::named_enum! {
    /// The part of the state of 32 blocks that one thread of a kernel holds.
    Layout, "layout" {
        /// All of it: 128 planes in 128 registers, ShiftRows by renaming (Hajihassani et al. 2019, section 4.2).
        State = "state",
        /// One column, 32 planes; neighbouring threads hold the other three columns. ShiftRows is a shuffle between the four threads. A
        /// quarter of the registers and of the code, and a quarter of the work between the first load and the last store.
        Column = "column",
    }
}

impl Layout {
    /// The number of threads that together hold the state of 32 blocks.
    pub fn threads(self) -> u32 {
        match self {
            Self::State => 1,
            Self::Column => 4,
        }
    }
}

/// The round keys for a cipher that works in `basis` between rounds. The first is added to a state that has not been through SubBytes yet
/// and the last to the output, so these two stay in the standard basis.
pub fn round_keys(keys: &KeySchedule, basis: impl Into<ColumnBasis>) -> Zeroizing<Vec<[u8; 16]>> {
    let basis = basis.into();
    let last = keys.rounds();
    let key = |(round, key): (usize, &[u8; 16])| if round == 0 || round == last { *key } else { basis.apply_all(*key) };
    Zeroizing::new(keys.round_keys().iter().enumerate().map(key).collect())
}

/// The planes of one round key for any number of lanes: all ones where the key bit is set, else zero.
pub fn key_planes(round_key: &[u8; 16]) -> [u32; PLANES] {
    std::array::from_fn(|p| 0u32.wrapping_sub(u32::from(key_bit(round_key, p))))
}

/// The [`round_keys`] in the form that kernels are launched with: little-endian words of four bytes, one column each.
pub fn key_words(keys: &KeySchedule, basis: impl Into<ColumnBasis>) -> Zeroizing<Vec<[u32; 4]>> {
    let words = |key: &[u8; 16]| std::array::from_fn(|c| u32::from_le_bytes(key.as_chunks().0[c]));
    Zeroizing::new(round_keys(keys, basis).iter().map(words).collect())
}

/// The planes of [`round_keys`], in order of use.
pub fn schedule_planes(keys: &KeySchedule, basis: impl Into<ColumnBasis>) -> Vec<[u32; PLANES]> {
    round_keys(keys, basis).iter().map(key_planes).collect()
}

/// The bit of a round key that plane `plane` carries.
pub fn key_bit(round_key: &[u8; 16], plane: usize) -> bool {
    round_key[plane / 8] >> (plane % 8) & 1 == 1
}

/// The bytes that ShiftRows, or its inverse, moves into a column, by row.
pub fn shifted_column(column: usize, direction: Direction) -> [usize; 4] {
    std::array::from_fn(|row| cipher::shift_rows_source(4 * column + row, direction))
}
