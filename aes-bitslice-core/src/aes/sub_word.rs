//! The S-box as a circuit, on the four bytes of a word at once: it uses no table, so its timing does not depend on key bytes.

use std::ops::{BitAnd, BitXor, Not};

/// The values that a circuit computes with; it processes all bits of a value at once.
pub trait Word: Copy + BitAnd<Output = Self> + BitXor<Output = Self> + Not<Output = Self> {}

impl<T: Copy + BitAnd<Output = T> + BitXor<Output = T> + Not<Output = T>> Word for T {}

/// The source text of the included function, for readers of circuits.
pub const PROGRAM: &str = include_str!("boyar_peralta.rs");

mod program {
    #![allow(clippy::too_many_arguments)]
    use super::Word;
    include!("boyar_peralta.rs");

    /// The S-box of planes, least significant bit first.
    pub fn of_planes<W: Word>([a, b, c, d, e, f, g, h]: [W; 8]) -> [W; 8] {
        sbox(a, b, c, d, e, f, g, h)
    }
}

pub use program::of_planes;

/// The S-box on each byte of a word.
#[inline]
pub fn sub_word(word: u32) -> u32 {
    // Bit 8 k of plane i is bit i of byte k. The other bits belong to no byte and are masked out at the end.
    let planes = of_planes(std::array::from_fn(|i| word >> i));
    planes.iter().enumerate().fold(0, |sum, (i, plane)| sum | (plane & 0x0101_0101) << i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::sbox;

    #[test]
    fn it_is_the_table_of_the_standard() {
        for x in 0..=u8::MAX {
            let bytes = [x, !x, x.rotate_left(3), x ^ 0x5a];
            let expected = bytes.map(|byte| sbox::FORWARD[usize::from(byte)]);
            assert_eq!(sub_word(u32::from_le_bytes(bytes)).to_le_bytes(), expected);
        }
    }
}
