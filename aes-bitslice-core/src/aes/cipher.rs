//! The cipher on one block, step by step as FIPS 197 specifies it; the inverse in its equivalent form (section 5.3.5).
//!
//! The state is the block itself: byte `4c + r` is row `r` of column `c`.

use super::{Direction, KeySchedule, field, sbox};

/// The first row of the matrix of MixColumns or InvMixColumns; row `r` is the first row rotated right by `r`.
pub fn mix_coefficients(direction: Direction) -> [u8; 4] {
    match direction {
        Direction::Encrypt => [2, 3, 1, 1],
        Direction::Decrypt => [0x0e, 0x0b, 0x0d, 0x09],
    }
}

/// MixColumns, or its inverse, on all four columns.
pub fn mix_columns(state: &mut [u8; 16], direction: Direction) {
    let coefficients = mix_coefficients(direction);
    for column in state.as_chunks_mut().0 {
        // Of all four rows: a bit of a coefficient adds the column, times a power of x, rotated to the rows that it counts for.
        let (mut multiple, mut sum) = (u32::from_le_bytes(*column), 0);
        for bit in 0..4 {
            for (rows, _) in (0..).zip(coefficients).filter(|(_, coefficient)| coefficient >> bit & 1 == 1) {
                sum ^= multiple.rotate_right(8 * rows);
            }
            multiple = field::times_x(multiple);
        }
        *column = sum.to_le_bytes();
    }
}

/// The byte of the old state that ShiftRows, or its inverse, moves to byte `to`.
pub const fn shift_rows_source(to: usize, direction: Direction) -> usize {
    let (row, column) = (to % 4, to / 4);
    let shift = match direction {
        Direction::Encrypt => row,
        Direction::Decrypt => 4 - row,
    };
    4 * ((column + shift) % 4) + row
}

/// Runs one block through the cipher, in the direction that `keys` were made for.
pub fn process(block: [u8; 16], keys: &KeySchedule, direction: Direction) -> [u8; 16] {
    let add = |state: [u8; 16], key: &[u8; 16]| std::array::from_fn(|i| state[i] ^ key[i]);
    let (first, rest) = keys.round_keys().split_first().expect("round keys");
    let mut state = add(block, first);
    for (i, key) in rest.iter().enumerate() {
        let substituted = state.map(|b| sbox::table(direction)[b as usize]);
        state = std::array::from_fn(|i| substituted[shift_rows_source(i, direction)]);
        if i + 1 < rest.len() {
            mix_columns(&mut state, direction);
        }
        state = add(state, key);
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix C.
    #[test]
    fn example_vectors() {
        let plain: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
        for (bytes, cipher) in [
            (16, 0x69c4e0d86a7b0430d8cdb78070b4c55au128),
            (24, 0xdda97ca4864cdfe06eaf70a0ec0d7191),
            (32, 0x8ea2b7ca516745bfeafc49904b496089),
        ] {
            let key: Vec<u8> = (0..bytes).collect();
            let schedule = |d| KeySchedule::new(&key, d).unwrap();
            let encrypted = process(plain, &schedule(Direction::Encrypt), Direction::Encrypt);
            assert_eq!(encrypted, cipher.to_be_bytes());
            assert_eq!(process(encrypted, &schedule(Direction::Decrypt), Direction::Decrypt), plain);
        }
    }
}
