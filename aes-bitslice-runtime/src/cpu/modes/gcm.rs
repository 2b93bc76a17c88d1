//! CTR and GHASH of the ciphertext in one loop (SP 800-38D): the rounds of some blocks and the products of others keep different units of
//! a core busy at the same time.

use crate::base::counter::CounterBlock;
use crate::cpu::kernel::RoundKeys;
use crate::cpu::lanes::Lanes;
use crate::cpu::modes::ctr::{Counters, Order};
use crate::cpu::modes::ghash::{Hash, Powers, Sum};
use crate::cpu::modes::rounds::process;
use crate::cpu::modes::{FEW, WIDE, load, store};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::ghash::Blocks;
use cipher::inout::InOutBuf;

struct Gcm<'k, L: Lanes> {
    l: L,
    keys: &'k [[u8; 16]],
    counters: Counters<L>,
    hash: Hash<'k, L>,
}

impl<L: Lanes> Gcm<'_, L> {
    /// Processes vectors of data and hashes other whole vectors, or these before they are processed.
    #[inline(always)]
    fn both(&mut self, mut data: InOutBuf<'_, '_, u8>, others: Option<&[u8]>) {
        let (l, blocks) = (self.l, WIDE * L::BLOCKS);
        let mut states = self.counters.take::<WIDE>(blocks);
        let Some(([first, middle @ ..], last)) = self.keys.split_last().map(|(last, keys)| (keys, last)) else {
            return;
        };
        // At least nine: there is a round for each vector to be hashed.
        let (with_hash, alone) = middle.split_at(WIDE);
        let key = l.broadcast(first);
        for state in &mut states {
            *state = l.xor(*state, key);
        }
        let mut sum = Sum::new(l);
        for i in 0..WIDE {
            let key = l.broadcast(&with_hash[i]);
            for state in &mut states {
                *state = l.encrypt(*state, key);
            }
            let hashed = others.unwrap_or(data.get_in());
            self.hash.add(&mut sum, i, blocks, l.load(&hashed[i * L::BYTES..]));
        }
        self.hash.take(sum);
        for key in alone {
            let key = l.broadcast(key);
            for state in &mut states {
                *state = l.encrypt(*state, key);
            }
        }
        let key = l.broadcast(last);
        let input: [L::Vector; WIDE] = load::<L, WIDE, true>(l, data.get_in());
        for (state, input) in states.iter_mut().zip(input) {
            *state = l.xor(l.encrypt_last(*state, key), input);
        }
        store::<L, WIDE, true>(l, &states, data.get_out());
    }

    /// Processes vectors of data, and hashes those read in decryption. Returns what was written.
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(
        &mut self,
        direction: Direction,
        mut data: InOutBuf<'_, '_, u8>,
    ) -> [L::Vector; M] {
        let (l, blocks) = (self.l, data.len().div_ceil(16));
        let mut states = self.counters.take::<M>(blocks);
        process(l, Direction::Encrypt, self.keys, &mut states);
        let input: [L::Vector; M] = load::<L, M, WHOLE>(l, data.get_in());
        if direction == Direction::Decrypt {
            self.hash.vectors(&input, blocks);
        }
        for (i, (state, input)) in states.iter_mut().zip(input).enumerate() {
            *state = l.xor(*state, input);
            if !WHOLE {
                *state = l.first_bytes(*state, data.len().saturating_sub(i * L::BYTES).min(L::BYTES));
            }
        }
        store::<L, M, WHOLE>(l, &states, data.get_out());
        states
    }

    /// Processes the last data, fewer than [`WIDE`] vectors.
    #[inline(always)]
    fn last<const M: usize>(&mut self, direction: Direction, data: InOutBuf<'_, '_, u8>) {
        let blocks = data.len().div_ceil(16);
        let written = self.step::<M, false>(direction, data);
        if direction == Direction::Encrypt {
            self.hash.vectors(&written, blocks);
        }
    }

    #[inline(always)]
    fn all(mut self, direction: Direction, mut data: InOutBuf<'_, '_, u8>) -> [u8; 16] {
        let group = WIDE * L::BYTES;
        match direction {
            Direction::Encrypt if data.len() >= group => {
                let (mut before, rest) = data.split_at(group);
                data = rest;
                self.step::<WIDE, true>(direction, before.reborrow());
                while data.len() >= group {
                    let (mut these, rest) = data.split_at(group);
                    self.both(these.reborrow(), Some(before.get_out()));
                    (before, data) = (these, rest);
                }
                self.hash.step::<WIDE, true>(before.get_out());
            }
            Direction::Encrypt => {}
            Direction::Decrypt => {
                while data.len() >= group {
                    let (these, rest) = data.split_at(group);
                    self.both(these, None);
                    data = rest;
                }
            }
        }
        match data.len() {
            0 => {}
            few if few <= L::BYTES => self.last::<1>(direction, data),
            few if few <= FEW * L::BYTES => self.last::<FEW>(direction, data),
            _ => self.last::<WIDE>(direction, data),
        }
        self.hash.finish()
    }
}

/// Encrypts or decrypts data from the block of a counter on, and continues a hash with the ciphertext. A last block that is not whole is
/// padded with zeros there.
#[inline(always)]
pub(crate) fn gcm<L: Lanes>(
    l: L,
    direction: Direction,
    keys: &RoundKeys,
    powers: &Powers,
    counter: CounterBlock,
    state: &mut [u8; 16],
    data: InOutBuf<'_, '_, u8>,
) {
    // The counter of GCM has 32 bits.
    let next = CounterBlock { bits: 32, ..counter };
    let counters = Counters { l, next, order: Order::Big };
    let gcm = Gcm { l, keys: keys.encrypt(), counters, hash: Hash::new(l, powers, Blocks::AsTheyAre, state) };
    *state = match direction {
        Direction::Encrypt => gcm.all(Direction::Encrypt, data),
        Direction::Decrypt => gcm.all(Direction::Decrypt, data),
    };
}
