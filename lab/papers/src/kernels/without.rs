//! The kernel of Hajihassani et al. 2019 without one of its layers, to see what the layer takes, and what is left of the cipher then.

use super::bitsliced::{Bitsliced, RoundKeys};
use aes_bitslice_core::aes::{Direction, KeySchedule, cipher, sbox};
use aes_bitslice_core::digest;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use std::{array, thread};

/// A layer that is left out of all rounds of ECB encryption with one-hot keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Without {
    /// None: the whole kernel.
    Nothing,
    /// SubBytes.
    SubBytes,
    /// ShiftRows, which is the names of operands.
    ShiftRows,
    /// MixColumns and ShiftRows: alone, ShiftRows would have to move what MixColumns finds by its operands' names.
    MixColumns,
    /// AddRoundKey, with the multiplexers that select keys.
    AddRoundKey,
}

/// What takes the place of a function of one byte, and of one that makes a column of four rows.
const LEFT_OUT: &str = "    (void)x;";
const COPIED: &str = "    UNROLL for (int b = 0; b < 8; b++) {
        y[b] = row0[b];
        y[8 + b] = row1[b];
        y[16 + b] = row2[b];
        y[24 + b] = row3[b];
    }";

impl Without {
    /// All, the whole kernel first.
    pub const ALL: [Self; 5] = [Self::Nothing, Self::SubBytes, Self::ShiftRows, Self::MixColumns, Self::AddRoundKey];

    /// Prints the kernel; `None` if the key has no AES length.
    ///
    /// # Panics
    /// If the whole kernel does not have the layer where it is left out.
    pub fn print(self, key: &[u8], command: &str) -> Option<Printed> {
        let mut printed = Bitsliced::hajihassani_2019(Mode::EcbEncrypt, RoundKeys::OneHot).print(key, command)?;
        let whole = &*printed.source;
        let source = match self {
            Self::Nothing => return Some(printed),
            Self::SubBytes => with_bodies(whole, &["sub_byte"], LEFT_OUT),
            Self::ShiftRows => without_shift_rows(whole),
            Self::MixColumns => with_bodies(&without_shift_rows(whole), &["mix_column"], COPIED),
            Self::AddRoundKey => {
                let of_columns = |name: &str| array::from_fn::<_, 4, _>(|column| format!("{name}_{column}"));
                let names = ["add_first_round_key", "add_round_key", "add_last_round_key"].map(of_columns).concat();
                with_bodies(whole, &names, COPIED)
            }
        };
        printed.manifest.source_sha256 = digest::of_text(&source);
        printed.source = source.into();
        Some(printed)
    }

    /// What is left of the cipher, of whole blocks on all cores; `None` if the key has no AES length.
    pub fn expected(self, key: &[u8], input: &[u8]) -> Option<Vec<u8>> {
        let keys = KeySchedule::new(key, Direction::Encrypt)?;
        let mut output = input.to_vec();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let each = output.len().div_ceil(threads).next_multiple_of(16);
        thread::scope(|scope| {
            for part in output.chunks_mut(each) {
                scope.spawn(|| {
                    part.as_chunks_mut().0.iter_mut().for_each(|block| *block = self.of_block(*block, &keys))
                });
            }
        });
        Some(output)
    }

    /// FIPS 197, section 5.1, less the layer.
    fn of_block(self, block: [u8; 16], keys: &KeySchedule) -> [u8; 16] {
        let add = |state: [u8; 16], key: &[u8; 16]| match self {
            Self::AddRoundKey => state,
            _ => array::from_fn(|i| state[i] ^ key[i]),
        };
        let sub_bytes = |state: [u8; 16]| match self {
            Self::SubBytes => state,
            _ => state.map(|byte| sbox::table(Direction::Encrypt)[usize::from(byte)]),
        };
        let shift_rows = |state: [u8; 16]| match self {
            Self::ShiftRows | Self::MixColumns => state,
            _ => array::from_fn(|i| state[cipher::shift_rows_source(i, Direction::Encrypt)]),
        };
        let (first, rest) = keys.round_keys().split_first().expect("round keys");
        let (last, rest) = rest.split_last().expect("round keys");
        let mut state = add(block, first);
        for key in rest {
            state = shift_rows(sub_bytes(state));
            if self != Self::MixColumns {
                cipher::mix_columns(&mut state, Direction::Encrypt);
            }
            state = add(state, key);
        }
        add(shift_rows(sub_bytes(state)), last)
    }
}

/// A source in which ShiftRows finds every row where it is.
fn without_shift_rows(source: &str) -> String {
    const SHIFTED: &str = "#define SHIFTED(row, column) AT(row, ((column) + (row)) & 3)\n";
    assert_eq!(source.matches(SHIFTED).count(), 1, "where ShiftRows finds a row");
    source.replace(SHIFTED, "#define SHIFTED(row, column) AT(row, column)\n")
}

/// A source in which these functions have another body.
fn with_bodies(source: &str, names: &[impl AsRef<str>], body: &str) -> String {
    names.iter().map(AsRef::as_ref).fold(source.into(), |source, name| {
        let heading = format!("DEVICE void {name}(");
        assert_eq!(source.matches(&heading).count(), 1, "{name}");
        let (before, function) = source.split_once(&heading).expect("it is there");
        let (parameters, rest) = function.split_once(" {\n").expect("its body");
        let (_, after) = rest.split_once("\n}\n").expect("its end");
        [before, &heading, parameters, " {\n", body, "\n}\n", after].concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 16] = *b"\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf\x4f\x3c";

    fn expected(without: Without, block: [u8; 16]) -> [u8; 16] {
        without.expected(&KEY, &block).unwrap().try_into().unwrap()
    }

    /// FIPS 197, appendix B; the other layers by properties that only the cipher without them has.
    #[test]
    fn what_is_left_of_the_cipher() {
        let block = 0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes();
        assert_eq!(expected(Without::Nothing, block), 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128.to_be_bytes());
        let xor = |a: [u8; 16], b: [u8; 16]| array::from_fn::<u8, 16, _>(|i| a[i] ^ b[i]);
        let difference = |without, a, b| xor(expected(without, a), expected(without, b));
        let changed = |without, bytes: &[usize]| {
            let mut other = block;
            bytes.iter().for_each(|&byte| other[byte] ^= 0x5a);
            difference(without, block, other)
        };
        let bytes = |difference: [u8; 16]| (0..16).filter(|&i| difference[i] != 0).collect::<Vec<_>>();
        // Affine: the difference does not depend on the block.
        let moved = [0x77; 16];
        let shifted = difference(Without::SubBytes, moved, xor(moved, [0x5a; 16]));
        assert_eq!(shifted, difference(Without::SubBytes, block, xor(block, [0x5a; 16])));
        assert_ne!(shifted, [0; 16]);
        // Columns apart, bytes apart, no key.
        assert_eq!(bytes(changed(Without::ShiftRows, &[5])), [4, 5, 6, 7]);
        assert_eq!(bytes(changed(Without::MixColumns, &[5])), [5]);
        assert_eq!(bytes(changed(Without::Nothing, &[5])).len(), 16);
        let with_other_key = |without: Without| without.expected(&[9; 16], &block).unwrap();
        for without in Without::ALL {
            let is_keyless = with_other_key(without) == expected(without, block);
            assert_eq!(is_keyless, without == Without::AddRoundKey, "{without:?}");
        }
        assert!(Without::Nothing.expected(&[0; 5], &block).is_none());
    }
}
