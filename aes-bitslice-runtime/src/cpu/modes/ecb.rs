//! Blocks through the block cipher, each on its own (SP 800-38A, section 6.1).

use crate::cpu::lanes::Lanes;
use crate::cpu::modes::rounds::{RoundKeys, process};
use crate::cpu::modes::{Step, load, store};
use aes_bitslice_core::aes::Direction;
use cipher::inout::InOutBuf;

struct Ecb<'k, L> {
    l: L,
    direction: Direction,
    keys: &'k [[u8; 16]],
}

impl<L: Lanes> Step<L> for Ecb<'_, L> {
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let mut states: [L::Vector; M] = load::<L, M, WHOLE>(self.l, data.get_in());
        process(self.l, self.direction, self.keys, &mut states);
        store::<L, M, WHOLE>(self.l, &states, data.get_out());
    }
}

/// Processes whole blocks.
#[inline(always)]
pub(crate) fn ecb<L: Lanes>(l: L, direction: Direction, keys: &RoundKeys, data: InOutBuf<'_, '_, u8>) {
    match direction {
        Direction::Encrypt => Ecb { l, direction: Direction::Encrypt, keys: keys.encrypt() }.all(l, data),
        Direction::Decrypt => Ecb { l, direction: Direction::Decrypt, keys: keys.decrypt() }.all(l, data),
    }
}
