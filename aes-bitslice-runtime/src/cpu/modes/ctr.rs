//! Counter mode (SP 800-38A, section 6.5).

use crate::base::counter::CounterBlock;
use crate::cpu::lanes::Lanes;
use crate::cpu::modes::rounds::{RoundKeys, finish, process};
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
pub(super) struct Counters<L: Lanes> {
    l: L,
    next: CounterBlock,
    order: Order,
    /// Whether blocks are taken from `near`: where there are enough of them, because it costs some 30 instructions to begin, and their
    /// numbers are public, because it branches by them.
    takes_near: bool,
    near: Near<L>,
}

/// Blocks that differ in their last byte alone, after AddRoundKey and a round: that byte changes the first column of each, which comes from
/// bytes 0, 5, 10 and 15, and no other. So four of them take one round together, with these bytes in each column of a block.
struct Near<L: Lanes> {
    /// The number of the next block.
    next: u128,
    /// The other columns.
    others: L::Vector,
    /// In each column those bytes, without the last one, and their bytes of the first key.
    diagonal: L::Vector,
    /// The first column of the second key in each column.
    key: L::Vector,
    /// The last byte of the block after the next group in each column.
    last: L::Vector,
    /// The first columns of the next group: made before the rounds of the group before, which would keep the unit busy until they end.
    columns: [L::Vector; WIDE / 4],
}

impl<L: Lanes> Near<L> {
    /// What is added to the last byte of the next block, in the place of each of the following, four of each lane in a vector. ShiftRows
    /// takes the last byte of a column to the one after it.
    const NUMBERS: &'static [u8; 4 * WIDE * MOST_BLOCKS] = &{
        let mut bytes = [0; 4 * WIDE * MOST_BLOCKS];
        let mut n = 0;
        while n < WIDE * L::BLOCKS {
            let (vector, lane, column) = (n / L::BLOCKS / 4, n % L::BLOCKS, n / L::BLOCKS % 4);
            bytes[vector * L::BYTES + 16 * lane + 4 * ((column + 3) % 4) + 3] = n as u8;
            n += 1;
        }
        bytes
    };

    /// In every column of every lane.
    #[inline(always)]
    fn columns(l: L, bytes: [u8; 4]) -> L::Vector {
        l.number(u128::from(u32::from_le_bytes(bytes)) * 0x0000_0001_0000_0001_0000_0001_0000_0001)
    }

    /// The blocks from a number on.
    #[inline(always)]
    fn begin(&mut self, l: L, next: u128, [first, second]: &[[u8; 16]; 2]) {
        let block = next.to_be_bytes();
        self.next = next;
        self.others = l.encrypt(l.xor(l.broadcast(&block), l.broadcast(first)), l.broadcast(second));
        let diagonal = [block[0] ^ first[0], block[5] ^ first[5], block[10] ^ first[10], first[15]];
        self.diagonal = Self::columns(l, diagonal);
        self.key = Self::columns(l, *second.first_chunk().expect("a column"));
        self.last = Self::columns(l, [0, 0, 0, block[15]]);
        self.ahead(l);
    }

    /// Makes the first columns of the next group.
    #[inline(always)]
    fn ahead(&mut self, l: L) {
        for (i, columns) in self.columns.iter_mut().enumerate() {
            let last = l.add32(self.last, l.load(&Self::NUMBERS[i * L::BYTES..]));
            *columns = l.encrypt(l.xor(last, self.diagonal), self.key);
        }
        self.last = l.add32(self.last, Self::columns(l, [0, 0, 0, (WIDE * L::BLOCKS) as u8]));
    }

    /// The next blocks.
    #[inline(always)]
    fn take(&mut self, l: L) -> [L::Vector; WIDE] {
        let mut blocks = [self.others; WIDE];
        for (blocks, columns) in blocks.as_chunks_mut().0.iter_mut().zip(self.columns) {
            *blocks = l.with_first_columns(self.others, columns);
        }
        self.next = self.next.wrapping_add((WIDE * L::BLOCKS) as u128);
        self.ahead(l);
        blocks
    }
}

impl<L: Lanes> Counters<L> {
    /// The counters from `next` on, for `bytes` bytes of data.
    #[inline(always)]
    pub(super) fn new(l: L, next: CounterBlock, order: Order, bytes: usize) -> Self {
        let zero = l.zero();
        let takes_near = !next.is_secret && order == Order::Big && bytes >= 16 * 256;
        Self {
            l,
            next,
            order,
            takes_near,
            near: Near { next: 0, others: zero, diagonal: zero, key: zero, last: zero, columns: [zero; _] },
        }
    }

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

    /// [`WIDE`] vectors of the next counters, after AddRoundKey and a round with these keys.
    #[inline(always)]
    pub(super) fn take_after_round(&mut self, bits: u32, keys: &[[u8; 16]; 2]) -> [L::Vector; WIDE] {
        let (l, block, blocks) = (self.l, self.next.block, WIDE * L::BLOCKS);
        let last = block as u8;
        if !self.takes_near || usize::from(last) + blocks > 256 {
            let [first, second] = keys;
            let (first, second, mut counters) = (l.broadcast(first), l.broadcast(second), self.take(bits, blocks));
            for counter in &mut counters {
                *counter = l.encrypt(l.xor(*counter, first), second);
            }
            return counters;
        }
        if self.near.next != block || last == 0 {
            self.near.begin(l, block, keys);
        }
        self.next = CounterBlock { bits, ..self.next }.after(blocks as u128);
        self.near.take(l)
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

struct Ctr<'k, L: Lanes> {
    counters: Counters<L>,
    keys: &'k [[u8; 16]],
}

impl<L: Lanes> Step<L> for Ctr<'_, L> {
    #[inline(always)]
    fn step<const M: usize, const WHOLE: bool>(&mut self, mut data: InOutBuf<'_, '_, u8>) {
        let l = self.counters.l;
        let bits = self.counters.next.bits;
        let mut states = [l.zero(); M];
        match (states.as_mut_slice().try_into(), self.keys.split_first_chunk()) {
            (Ok(states), Some((first, rest))) if WHOLE => {
                let states: &mut [L::Vector; WIDE] = states;
                *states = self.counters.take_after_round(bits, first);
                finish(l, Direction::Encrypt, rest, states);
            }
            _ => {
                states = self.counters.take(bits, data.len().div_ceil(16));
                process(l, Direction::Encrypt, self.keys, &mut states);
            }
        }
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
    let mut ctr = Ctr { counters: Counters::new(l, counter, order, data.len()), keys: keys.encrypt() };
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
