//! A batch in vector registers.
//!
//! Registers are rows of 16-byte groups, one block per group: 128 registers hold a batch, register `i` the blocks `i *
//! G` to `i * G + G - 1` for `G` groups per register. Interleaving bytes within the groups transposes 16 registers by
//! 16 bytes, and masked exchanges transpose 8 registers by 8 bits; together they take block `i * G + g` to lane `128 *
//! g + i`. Both are their own inverses.

use crate::cpu::bitsliced::batch::Vector;
use crate::cpu::block::Block;
use aes_bitslice_kernels::Lanes;

/// A vector register; a value exists only in functions for which its instructions are enabled.
pub(super) trait Register: Lanes {
    /// Groups of 16 bytes.
    const GROUPS: usize;

    /// # Safety
    /// `from` is readable for `16 * GROUPS` bytes.
    unsafe fn read(from: *const u8) -> Self;
    /// # Safety
    /// `to` is writable for `16 * GROUPS` bytes.
    unsafe fn write(self, to: *mut u8);
    /// The interleaved bytes of the low halves of each group of `a` and `b`, then those of the high halves.
    fn interleave(a: Self, b: Self) -> [Self; 2];
    /// Each 64-bit word shifted.
    fn shift_left<const N: u32>(self) -> Self;
    /// Each 64-bit word shifted.
    fn shift_right<const N: u32>(self) -> Self;
}

/// Transposes 16 registers by 16 bytes, in each group.
#[inline(always)]
fn transpose_bytes<R: Register>(rows: [R; 16]) -> [R; 16] {
    /// Shifts the bits of the register's index up one place; the highest becomes the lowest bit of the byte's index in
    /// its group, whose highest becomes the lowest of the register's index. After four times, the two indices are
    /// exchanged.
    #[inline(always)]
    fn rotate<R: Register>(rows: [R; 16]) -> [R; 16] {
        // Written out, so that the compiler keeps the rows in registers.
        let [a0, a1] = R::interleave(rows[0], rows[8]);
        let [a2, a3] = R::interleave(rows[1], rows[9]);
        let [a4, a5] = R::interleave(rows[2], rows[10]);
        let [a6, a7] = R::interleave(rows[3], rows[11]);
        let [a8, a9] = R::interleave(rows[4], rows[12]);
        let [a10, a11] = R::interleave(rows[5], rows[13]);
        let [a12, a13] = R::interleave(rows[6], rows[14]);
        let [a14, a15] = R::interleave(rows[7], rows[15]);
        [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15]
    }
    rotate(rotate(rotate(rotate(rows))))
}

/// Transposes 8 registers by 8 bits, in each byte.
#[inline(always)]
fn transpose_bits<R: Register>(rows: &mut [R; 8]) {
    #[inline(always)]
    fn exchange<const WIDTH: u32, R: Register>(rows: &mut [R; 8], mask: u32) {
        let width = WIDTH as usize;
        for pair in 0..4 {
            // The numbers 0 to 7 without the bit `width`.
            let i = 2 * pair - pair % width;
            let exchange = (rows[i].shift_right::<WIDTH>() ^ rows[i + width]) & R::splat(mask);
            rows[i + width] = rows[i + width] ^ exchange;
            rows[i] = rows[i] ^ exchange.shift_left::<WIDTH>();
        }
    }
    exchange::<4, R>(rows, 0x0f0f_0f0f);
    exchange::<2, R>(rows, 0x3333_3333);
    exchange::<1, R>(rows, 0x5555_5555);
}

impl<R: Register> Vector for R {
    const LANES: usize = 128 * R::GROUPS;

    #[inline(always)]
    fn load(blocks: &[Block], planes: &mut [Self; 128]) {
        assert_eq!(blocks.len(), Self::LANES);
        let bytes = blocks.as_ptr().cast::<u8>();
        for low in 0..8 {
            let mut rows = [R::splat(0); 16];
            for (high, row) in rows.iter_mut().enumerate() {
                // SAFETY: 128 registers of 16 * GROUPS bytes are all the blocks, as asserted; this is one of them.
                *row = unsafe { R::read(bytes.add(16 * R::GROUPS * (8 * high + low))) };
            }
            for (byte, row) in transpose_bytes(rows).into_iter().enumerate() {
                planes[8 * byte + low] = row;
            }
        }
        for byte in planes.as_chunks_mut().0 {
            transpose_bits(byte);
        }
    }

    #[inline(always)]
    fn store(planes: &mut [Self; 128], blocks: &mut [Block]) {
        assert_eq!(blocks.len(), Self::LANES);
        let bytes = blocks.as_mut_ptr().cast::<u8>();
        for byte in planes.as_chunks_mut().0 {
            transpose_bits(byte);
        }
        for low in 0..8 {
            let mut rows = [R::splat(0); 16];
            for (byte, row) in rows.iter_mut().enumerate() {
                *row = planes[8 * byte + low];
            }
            for (high, row) in transpose_bytes(rows).into_iter().enumerate() {
                // SAFETY: 128 registers of 16 * GROUPS bytes are all the blocks, as asserted; this is one of them.
                unsafe { row.write(bytes.add(16 * R::GROUPS * (8 * high + low))) }
            }
        }
    }

    #[inline(always)]
    fn index_plane(bit: usize) -> Self {
        let groups = R::GROUPS.ilog2() as usize;
        // SAFETY: an entry has as many bytes as the widest register.
        unsafe { R::read(INDEX_PLANES[groups][bit].as_ptr()) }
    }
}

/// For registers of 1, 2 and 4 groups: the planes of the bits of the block index, lane by lane.
static INDEX_PLANES: [[[u8; 64]; 9]; 3] = {
    let mut planes = [[[0; 64]; 9]; 3];
    let mut lane = 0;
    while lane < 512 {
        let mut log = 0;
        while log <= 2 {
            // Groups beyond the register's are never read.
            let block = (lane % 128) << log | (lane / 128) & ((1 << log) - 1);
            let mut bit = 0;
            while bit < 9 {
                planes[log][bit][lane / 8] |= ((block >> bit & 1) as u8) << (lane % 8);
                bit += 1;
            }
            log += 1;
        }
        lane += 1;
    }
    planes
};

/// The operators of a register, by their instructions.
macro_rules! operators {
    ($register:ident: $($trait:ident $method:ident $instruction:ident)*) => { $(
        impl $trait for $register {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: a value of this type exists, so its instructions are there.
                Self(unsafe { $instruction(self.0, other.0) })
            }
        }
    )* };
}
pub(super) use operators;

/// The batch functions compiled for one instruction set, returned only where the processor has it.
macro_rules! functions {
    ($name:ident: $register:ident, $core:ident, $features:literal, $detected:expr) => {
        pub(in crate::cpu::bitsliced) fn $name() -> Option<&'static $crate::cpu::bitsliced::batch::Functions> {
            use aes_bitslice_core::aes::Direction;
            use cipher::inout::InOutBuf;
            use $crate::base::counter::CounterBlock;
            use $crate::cpu::bitsliced::batch::{self, Functions, Vector};
            use $crate::cpu::block::Block;

            #[target_feature(enable = $features)]
            fn ecb(direction: Direction, keys: &[[u32; 128]], blocks: InOutBuf<'_, '_, Block>) {
                batch::ecb::<$register, $core>(direction, keys, blocks);
            }

            #[target_feature(enable = $features)]
            fn ctr(keys: &[[u32; 128]], counter: CounterBlock, skip: usize, data: InOutBuf<'_, '_, u8>) {
                batch::ctr::<$register, $core>(keys, counter, skip, data);
            }

            static FUNCTIONS: Functions = Functions {
                lanes: $register::LANES,
                // SAFETY: this table is returned only where the processor has the features, below.
                ecb: |direction, keys, blocks| unsafe { ecb(direction, keys, blocks) },
                // SAFETY: this table is returned only where the processor has the features, below.
                ctr: |keys, counter, skip, data| unsafe { ctr(keys, counter, skip, data) },
            };
            $detected.then_some(&FUNCTIONS)
        }
    };
}
pub(super) use functions;
