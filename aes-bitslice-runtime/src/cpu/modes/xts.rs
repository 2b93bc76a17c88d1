//! XTS of a data unit (IEEE 1619, section 5).

use crate::cpu::lanes::Lanes;
use crate::cpu::modes::rounds::{RoundKeys, process};
use crate::cpu::modes::{MOST_BLOCKS, Step, WIDE, load, store};
use aes_bitslice_core::aes::Direction;
use cipher::inout::InOutBuf;

/// α^n, for n from 0 to the blocks of a step, and one more.
static POWERS: [u8; 16 * (WIDE * MOST_BLOCKS + 2)] = {
    let mut bytes = [0; 16 * (WIDE * MOST_BLOCKS + 2)];
    let mut n = 0;
    while n < WIDE * MOST_BLOCKS + 2 {
        bytes[16 * n + n / 8] = 1 << (n % 8);
        n += 1;
    }
    bytes
};

/// x^128 of the field: x^7 + x^2 + x + 1 (section 5.2).
const POLYNOMIAL: [u8; 16] = [0x87, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

struct Xts<'k, L: Lanes> {
    l: L,
    direction: Direction,
    keys: &'k [[u8; 16]],
    /// The first tweak of the unit, in all lanes.
    tweak: L::Vector,
    /// The tweaks of the last step.
    tweaks: [L::Vector; WIDE],
    /// The blocks of the last step.
    blocks: usize,
}

impl<L: Lanes> Xts<'_, L> {
    /// Tweaks times powers of α, one in each lane.
    #[inline(always)]
    fn times(&self, tweaks: L::Vector, powers: L::Vector) -> L::Vector {
        let l = self.l;
        let (low, high) = (l.multiply_low(tweaks, powers), l.multiply_high_low(tweaks, powers));
        let reduced = l.multiply_high_low(high, l.broadcast(&POLYNOMIAL));
        l.xor3(low, l.low_to_high(high), reduced)
    }

    /// Tweaks of a step, as those of the next whole one: times α^(8 n), for vectors of n blocks, which is a shift of n bytes.
    #[inline(always)]
    fn after_step(&self, tweaks: L::Vector) -> L::Vector {
        const { assert!(WIDE == 8) };
        let l = self.l;
        l.xor(l.up(tweaks), l.multiply_low(l.above(tweaks), l.broadcast(&POLYNOMIAL)))
    }

    /// The tweak of block `n` after the last step, in the first lane.
    #[inline(always)]
    fn after(&self, n: usize) -> L::Vector {
        let first = if self.blocks == 0 { self.tweak } else { self.tweaks[0] };
        self.times(first, self.l.broadcast(&POWERS.as_chunks().0[self.blocks + n]))
    }

    /// Processes one block with this tweak.
    #[inline(always)]
    fn block(&self, tweak: L::Vector, block: &mut [u8; 16]) {
        let l = self.l;
        let mut state = [l.xor(l.first(block), tweak)];
        process(l, self.direction, self.keys, &mut state);
        *block = l.first_of(l.xor(state[0], tweak));
    }
}

impl<L: Lanes> Step<L> for Xts<'_, L> {
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let l = self.l;
        let mut states: [L::Vector; M] = load::<L, M, WHOLE>(l, data.get_in());
        let mut tweaks = self.tweaks;
        if self.blocks == 0 {
            for (i, tweak) in tweaks.iter_mut().enumerate().take(M) {
                *tweak = self.times(self.tweak, l.load(&POWERS[i * L::BYTES..]));
            }
        } else {
            for tweak in tweaks.iter_mut().take(M) {
                *tweak = self.after_step(*tweak);
            }
        }
        (self.tweaks, self.blocks) = (tweaks, data.len() / 16);
        for (state, tweak) in states.iter_mut().zip(tweaks) {
            *state = l.xor(*state, tweak);
        }
        process(l, self.direction, self.keys, &mut states);
        for (state, tweak) in states.iter_mut().zip(tweaks) {
            *state = l.xor(*state, tweak);
        }
        store::<L, M, WHOLE>(l, &states, data.get_out());
    }
}

/// Processes a data unit, or its rest from the block with this tweak on: at least 16 bytes.
#[inline(always)]
pub(crate) fn xts<L: Lanes>(l: L, direction: Direction, keys: &RoundKeys, tweak: u128, data: InOutBuf<'_, '_, u8>) {
    let (tweak, tweaks, blocks) = (l.broadcast(&tweak.to_le_bytes()), [l.zero(); WIDE], 0);
    match direction {
        Direction::Encrypt => {
            unit(Xts { l, direction: Direction::Encrypt, keys: keys.encrypt(), tweak, tweaks, blocks }, data);
        }
        Direction::Decrypt => {
            unit(Xts { l, direction: Direction::Decrypt, keys: keys.decrypt(), tweak, tweaks, blocks }, data);
        }
    }
}

#[inline(always)]
fn unit<L: Lanes>(mut xts: Xts<'_, L>, data: InOutBuf<'_, '_, u8>) {
    let ragged = data.len() % 16;
    // The last two blocks, if they share bytes.
    let tail = if ragged == 0 { 0 } else { 16 + ragged };
    let whole = data.len() - tail;
    let (blocks, mut tail) = data.split_at(whole);
    xts.all(xts.l, blocks);
    let Some((mut first, rest)) = tail.get_in().split_first_chunk().map(|(first, rest)| (*first, rest)) else { return };
    let mut last = [0; 16];
    last[..ragged].copy_from_slice(rest);
    // Sections 5.3.2 and 5.4.2: decryption takes the last two tweaks in the other order.
    let (one, two) = match xts.direction {
        Direction::Encrypt => (xts.after(0), xts.after(1)),
        Direction::Decrypt => (xts.after(1), xts.after(0)),
    };
    xts.block(one, &mut first);
    last[ragged..].copy_from_slice(&first[ragged..]);
    xts.block(two, &mut last);
    let output = tail.get_out();
    output[..16].copy_from_slice(&last);
    output[16..].copy_from_slice(&first[..ragged]);
}
