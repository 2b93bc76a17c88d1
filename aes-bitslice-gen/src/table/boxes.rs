//! The tables of the cipher, from its definition (Daemen and Rijmen, "The Design of Rijndael", section 4.2).
//!
//! A T-box does SubBytes and MixColumns for one row: `T[k][x]` is the contribution of a byte `x` in row `k` to its
//! column of the next state. So a column is the sum of four look-ups, one per row, of the bytes that ShiftRows moves
//! there, and the round key. The last round has no MixColumns: its table is the S-box.
//!
//! Columns are words, little-endian: the byte in row `r` is bits `8 r` to `8 r + 7`. Each table is the first one with
//! its words rotated, `T[k][x] = T[0][x].rotate_left(8 k)`, so that one table can serve for all four.

use aes_bitslice_core::aes::{Direction, cipher, field, sbox};

/// The four T-boxes of a direction, by row; for decryption, the T-boxes of the equivalent inverse cipher (FIPS 197,
/// section 5.3.5).
pub fn t_boxes(direction: Direction) -> [[u32; 256]; 4] {
    let coefficients = cipher::mix_coefficients(direction);
    let entry = |k: usize, x: usize| {
        let substituted = sbox::table(direction)[x];
        u32::from_le_bytes(std::array::from_fn(|r| field::mul(coefficients[(k + 4 - r) % 4], substituted)))
    };
    std::array::from_fn(|k| std::array::from_fn(|x| entry(k, x)))
}

/// The table of the last round: the S-box or its inverse.
pub fn last_round(direction: Direction) -> &'static [u8; 256] {
    sbox::table(direction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_core::aes::KeySchedule;

    const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    /// Every entry of every table is SubBytes and MixColumns of a column with one byte in it.
    #[test]
    fn entries_are_columns_of_the_definition() {
        for direction in DIRECTIONS {
            let boxes = t_boxes(direction);
            for (k, t_box) in boxes.iter().enumerate() {
                for (x, entry) in t_box.iter().enumerate() {
                    let mut state = [0; 16];
                    state[k] = sbox::table(direction)[x];
                    cipher::mix_columns(&mut state, direction);
                    assert_eq!(entry.to_le_bytes(), state[..4], "{direction:?}: T[{k}][{x}]");
                    assert_eq!(*entry, boxes[0][x].rotate_left(8 * k as u32), "{direction:?}: T[{k}][{x}]");
                }
            }
        }
    }

    /// Look-ups and round keys, as used by kernels, compute the cipher.
    #[test]
    fn rounds_of_look_ups_are_the_cipher() {
        for direction in DIRECTIONS {
            let (boxes, last) = (t_boxes(direction), last_round(direction));
            for bytes in [16, 24, 32] {
                let key: Vec<u8> = (0..bytes).map(|i| (7 * i) ^ 0x5a).collect();
                let keys = KeySchedule::new(&key, direction).unwrap();
                let block = std::array::from_fn(|i| (31 * i + 3) as u8);
                let mut state: [u8; 16] = std::array::from_fn(|i| block[i] ^ keys.round_keys()[0][i]);
                for round in 1..=keys.rounds() {
                    let source = |r, c| state[cipher::shift_rows_source(4 * c + r, direction)];
                    let columns: [[u8; 4]; 4] = std::array::from_fn(|c| {
                        if round == keys.rounds() {
                            std::array::from_fn(|r| last[usize::from(source(r, c))])
                        } else {
                            (0..4).fold(0, |sum, r| sum ^ boxes[r][usize::from(source(r, c))]).to_le_bytes()
                        }
                    });
                    state = std::array::from_fn(|i| columns[i / 4][i % 4] ^ keys.round_keys()[round][i]);
                }
                assert_eq!(state, cipher::process(block, &keys, direction), "{direction:?}, {bytes} bytes of key");
            }
        }
    }
}
