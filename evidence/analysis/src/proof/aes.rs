//! The cipher as FIPS 197 writes it, on formal bits: the reference for kernels. Nothing here is fast or in another basis.

use crate::proof::anf::{Bit, Cells, NoCell};
use crate::proof::memory::Byte;
use aes_bitslice_core::aes::cipher::{mix_coefficients, shift_rows_source};
use aes_bitslice_core::aes::{Direction, KeyBits, field, sbox};

/// Bit `i` of byte `j` of a block, or of a round key, is bit `8 j + i`.
pub type Block = [Bit; 128];

/// An unknown block.
pub fn unknown(cells: &mut Cells) -> Block {
    std::array::from_fn(|_| cells.unknown())
}

/// A known block.
pub fn known(bytes: [u8; 16]) -> Block {
    std::array::from_fn(|i| Bit::constant(bytes[i / 8] >> (i % 8) & 1 == 1))
}

/// Unknown round keys, one for each round and one more.
pub fn unknown_keys(cells: &mut Cells, key_bits: KeyBits) -> Vec<Block> {
    (0..=key_bits.rounds()).map(|_| unknown(cells)).collect()
}

/// The sum of two blocks.
pub fn sum(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// MixColumns, or its inverse (sections 5.1.3 and 5.3.3).
pub fn mix_columns(state: &Block, direction: Direction) -> Block {
    let times_x = |byte: [Bit; 8]| -> [Bit; 8] {
        std::array::from_fn(|i| {
            let below = if i == 0 { Bit::ZERO } else { byte[i - 1] };
            if 0x1b >> i & 1 == 1 { below ^ byte[7] } else { below }
        })
    };
    let mut mixed = [Bit::ZERO; 128];
    for (to, bits) in mixed.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let (column, row) = (to / 4, to % 4);
        for k in 0..4 {
            let coefficient = mix_coefficients(direction)[(k + 4 - row) % 4];
            let mut byte = state.as_chunks::<8>().0[4 * column + k];
            for power in 0..4 {
                if coefficient >> power & 1 == 1 {
                    (0..8).for_each(|i| bits[i] ^= byte[i]);
                }
                byte = times_x(byte);
            }
        }
    }
    mixed
}

fn shift_rows(state: &Block, direction: Direction) -> Block {
    std::array::from_fn(|bit| state[8 * shift_rows_source(bit / 8, direction) + bit % 8])
}

fn sub_bytes(cells: &mut Cells, state: &Block, direction: Direction) -> Result<Block, NoCell> {
    let mut substituted = [Bit::ZERO; 128];
    for (from, to) in state.as_chunks::<8>().0.iter().zip(substituted.as_chunks_mut::<8>().0) {
        *to = cells.byte(sbox::table(direction), *from)?;
    }
    Ok(substituted)
}

/// The round keys of a key (section 5.2).
pub fn expand(cells: &mut Cells, key: &[Byte]) -> Result<Vec<Block>, NoCell> {
    let words = key.len() / 4;
    let mut schedule = key.to_vec();
    let mut constant = 1u8;
    for i in words..4 * (words + 7) {
        let mut word: [Byte; 4] = std::array::from_fn(|row| schedule[4 * i - 4 + row]);
        if i % words == 0 {
            word.rotate_left(1);
        }
        if i % words == 0 || (words > 6 && i % words == 4) {
            for byte in &mut word {
                *byte = cells.byte(sbox::table(Direction::Encrypt), *byte)?;
            }
        }
        if i % words == 0 {
            (0..8).for_each(|bit| word[0][bit] ^= Bit::constant(constant >> bit & 1 == 1));
            constant = field::mul(constant, 2);
        }
        for (row, byte) in word.iter().enumerate() {
            let before = schedule[4 * (i - words) + row];
            schedule.push(std::array::from_fn(|bit| before[bit] ^ byte[bit]));
        }
    }
    Ok(schedule.as_flattened().as_chunks().0.to_vec())
}

/// A round of encryption other than the last (section 5.1).
pub(crate) fn middle_round(cells: &mut Cells, state: &Block, key: &Block) -> Result<Block, NoCell> {
    let direction = Direction::Encrypt;
    let shifted = shift_rows(&sub_bytes(cells, state, direction)?, direction);
    Ok(sum(&mix_columns(&shifted, direction), key))
}

/// The rounds of encryption from this one on, the last of them included.
pub(crate) fn encrypt_from(cells: &mut Cells, state: &Block, keys: &[Block], round: usize) -> Result<Block, NoCell> {
    let last = keys.len() - 1;
    let state = (round..last).try_fold(*state, |state, n| middle_round(cells, &state, &keys[n]))?;
    Ok(sum(&shift_rows(&sub_bytes(cells, &state, Direction::Encrypt)?, Direction::Encrypt), &keys[last]))
}

/// Cipher() of section 5.1, or InvCipher() of section 5.3, with the round keys of the key schedule, in its order for both.
pub fn process(cells: &mut Cells, block: &Block, keys: &[Block], direction: Direction) -> Result<Block, NoCell> {
    let last = keys.len() - 1;
    match direction {
        Direction::Encrypt => encrypt_from(cells, &sum(block, &keys[0]), keys, 1),
        Direction::Decrypt => {
            let mut state = sum(block, &keys[last]);
            for (round, key) in keys.iter().enumerate().rev().skip(1) {
                state = sum(&sub_bytes(cells, &shift_rows(&state, direction), direction)?, key);
                if round > 0 {
                    state = mix_columns(&state, direction);
                }
            }
            Ok(state)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::memory;
    use aes_bitslice_core::aes::{KeySchedule, cipher};

    /// On constants it is the cipher, in both directions and with keys of each length; one case is FIPS 197's example.
    #[test]
    fn on_constants_it_is_the_cipher() {
        let block: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
        for bytes in [16, 24, 32] {
            let key: Vec<u8> = (0..bytes).collect();
            let schedule = |direction| KeySchedule::new(&key, direction).unwrap();
            let keys: Vec<Block> = schedule(Direction::Encrypt).round_keys().iter().map(|key| known(*key)).collect();
            let bytes: Vec<Byte> = key.iter().map(|byte| memory::known(*byte)).collect();
            assert_eq!(expand(&mut Cells::new(), &bytes), Ok(keys.clone()));
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let expected = cipher::process(block, &schedule(direction), direction);
                let found = process(&mut Cells::new(), &known(block), &keys, direction);
                assert_eq!(found, Ok(known(expected)));
                if bytes.len() == 16 && direction == Direction::Encrypt {
                    assert_eq!(expected, 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes());
                }
            }
        }
    }
}
