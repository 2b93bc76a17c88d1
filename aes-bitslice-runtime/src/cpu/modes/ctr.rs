//! Counter mode (SP 800-38A, section 6.5).

use crate::base::counter::CounterBlock;
use crate::cpu::lanes::Lanes;
use crate::cpu::modes::rounds::{RoundKeys, process};
use crate::cpu::modes::{MOST_BLOCKS, Step, WIDE, load, store};
use aes_bitslice_core::aes::Direction;
use cipher::inout::InOutBuf;

/// The byte order of a counter in its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// The highest byte first.
    Big,
    /// The lowest byte first: AES-GCM-SIV (RFC 8452, section 4).
    Little,
}

/// Blocks that are numbered from 0, the lowest byte first.
static NUMBERS: [u8; 16 * WIDE * MOST_BLOCKS] = {
    let mut bytes = [0; 16 * WIDE * MOST_BLOCKS];
    let mut i = 0;
    while i < WIDE * MOST_BLOCKS {
        bytes[16 * i] = i as u8;
        i += 1;
    }
    bytes
};

/// Counters from a number on.
pub(super) struct Counters<L> {
    pub(super) l: L,
    pub(super) next: CounterBlock,
    pub(super) order: Order,
}

impl<L: Lanes> Counters<L> {
    /// The next counters, of which `blocks` are used. Their number of bits is given again, as a constant where it is one.
    #[inline(always)]
    pub(super) fn take<const M: usize>(&mut self, bits: u32, blocks: usize) -> [L::Vector; M] {
        let (l, number) = (self.l, self.next.block);
        let mut counters = [l.zero(); M];
        // A counter of which 128 bits count is public.
        if bits == 128 && (number as u64).checked_add((M * L::BLOCKS) as u64).is_none() {
            let numbers = with_carry(number);
            for (i, counter) in counters.iter_mut().enumerate() {
                *counter = l.load(&numbers[i * L::BYTES..]);
            }
        } else {
            let first = l.number(number);
            for (i, counter) in counters.iter_mut().enumerate() {
                let i = l.load(&NUMBERS[i * L::BYTES..]);
                *counter = if bits == 128 { l.add64(first, i) } else { l.add32(first, i) };
            }
        }
        if self.order == Order::Big {
            for counter in &mut counters {
                *counter = l.reverse(*counter);
            }
        }
        self.next = CounterBlock { bits, ..self.next }.after(blocks as u128);
        counters
    }

    /// The next counters, of which 32 bits count, the highest byte first, each added to a key.
    #[inline(always)]
    pub(super) fn take_with_key<const M: usize>(&mut self, blocks: usize, key: &[u8; 16]) -> [L::Vector; M] {
        debug_assert!(self.order == Order::Big);
        let (l, bits) = (self.l, 32);
        if let Some(counters) = l.counters_with_key(self.next.block, key) {
            self.next = CounterBlock { bits, ..self.next }.after(blocks as u128);
            return counters;
        }
        let key = l.broadcast(key);
        self.take(bits, blocks).map(|counter| l.xor(counter, key))
    }
}

/// Numbers from this one on, where the low half overflows.
#[cold]
#[inline(never)]
fn with_carry(first: u128) -> [u8; 16 * WIDE * MOST_BLOCKS] {
    let mut bytes = [0; 16 * WIDE * MOST_BLOCKS];
    for (i, number) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
        *number = first.wrapping_add(i as u128).to_le_bytes();
    }
    bytes
}

struct Ctr<'k, L> {
    counters: Counters<L>,
    keys: &'k [[u8; 16]],
}

impl<L: Lanes> Step<L> for Ctr<'_, L> {
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let l = self.counters.l;
        let mut states = self.counters.take::<M>(self.counters.next.bits, data.len().div_ceil(16));
        process(l, Direction::Encrypt, self.keys, &mut states);
        let input: [L::Vector; M] = load::<L, M, WHOLE>(l, data.get_in());
        for (state, input) in states.iter_mut().zip(input) {
            *state = l.xor(*state, input);
        }
        store::<L, M, WHOLE>(l, &states, data.get_out());
    }
}

/// XORs data with the key stream from `skip` (fewer than 16) bytes into the block of a counter on.
#[inline(always)]
pub(crate) fn ctr<L: Lanes>(
    l: L,
    keys: &RoundKeys,
    counter: CounterBlock,
    order: Order,
    skip: usize,
    mut data: InOutBuf<'_, '_, u8>,
) {
    let mut ctr = Ctr { counters: Counters { l, next: counter, order }, keys: keys.encrypt() };
    if skip > 0 {
        let first = data.len().min(16 - skip);
        let (mut head, rest) = data.split_at(first);
        let mut block = [0; 16];
        block[skip..skip + first].copy_from_slice(head.get_in());
        ctr.step::<1, false>(block.as_mut_slice().into());
        head.get_out().copy_from_slice(&block[skip..skip + first]);
        data = rest;
    }
    ctr.all(l, data);
}
