//! Cipher block chaining (SP 800-38A, section 6.2).

use crate::cpu::lanes::Lanes;
use crate::cpu::modes::rounds::{RoundKeys, process};
use crate::cpu::modes::{Step, load, of_vector, store};
use aes_bitslice_core::aes::Direction;
use cipher::inout::InOutBuf;

struct Decryption<'k, L> {
    l: L,
    keys: &'k [[u8; 16]],
    /// The ciphertext block before the data.
    before: [u8; 16],
}

impl<L: Lanes> Step<L> for Decryption<'_, L> {
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let l = self.l;
        let input = data.get_in();
        let mut states: [L::Vector; M] = load::<L, M, WHOLE>(l, input);
        process(l, Direction::Decrypt, self.keys, &mut states);
        // The ciphertext, a block later.
        let mut first = [self.before; 4];
        let whole = L::BYTES.min(input.len());
        first.as_flattened_mut()[16..whole].copy_from_slice(&input[..whole - 16]);
        states[0] = l.xor(states[0], l.load(first.as_flattened()));
        for (i, state) in states.iter_mut().enumerate().skip(1) {
            let range = of_vector::<L>(i, input.len());
            let before = if WHOLE {
                l.load(&input[i * L::BYTES - 16..])
            } else if range.is_empty() {
                l.zero()
            } else {
                l.load_part(&input[range.start - 16..range.end - 16])
            };
            *state = l.xor(*state, before);
        }
        self.before = *input.last_chunk().expect("whole blocks");
        store::<L, M, WHOLE>(l, &states, data.get_out());
    }
}

/// Decrypts whole blocks, the first of which is chained to `iv`.
#[inline(always)]
pub(crate) fn cbc_decrypt<L: Lanes>(l: L, keys: &RoundKeys, iv: &[u8; 16], data: InOutBuf<'_, '_, u8>) {
    Decryption { l, keys: keys.decrypt(), before: *iv }.all(l, data);
}

/// Encrypts whole blocks, each XORed with the output of the one before, the first with `iv`.
#[inline(always)]
pub(crate) fn cbc_encrypt<L: Lanes>(l: L, keys: &RoundKeys, iv: &[u8; 16], mut data: InOutBuf<'_, '_, u8>) {
    let l = l.one();
    let mut state = [l.broadcast(iv)];
    while data.len() >= 16 {
        let (mut block, rest) = data.split_at(16);
        state[0] = l.xor(state[0], l.load(block.get_in()));
        process(l, Direction::Encrypt, keys.encrypt(), &mut state);
        l.store(state[0], block.get_out());
        data = rest;
    }
}
