//! One-lane words that are a formal bit, so that code for words computes with unknown bits: the generator's circuits, and the cipher of the
//! CPU engines, from the Rust that is compiled into them.

use aes_bitslice_analysis::proof::anf::{Bit, Cells};
use aes_bitslice_gen::circuit::{self, Lut3};
use aes_bitslice_kernels::Lanes;
use std::cell::RefCell;
use std::ops::{BitAnd, BitOr, BitXor, Not};

thread_local! {
    static CELLS: RefCell<Cells> = RefCell::default();
    /// The bits that stand for masks: [`FormalBit::mask`].
    static MASKS: RefCell<Vec<Bit>> = RefCell::default();
}

/// A bit that is computed in the cells of its thread.
///
/// Multiplying bits that have not gone into one S-box panics: then the code does not compute a cipher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FormalBit(pub Bit);

/// Computes with the cells of this thread.
pub fn with_cells<T>(work: impl FnOnce(&mut Cells) -> T) -> T {
    CELLS.with_borrow_mut(work)
}

impl FormalBit {
    /// The number from which [`Lanes::splat`] makes this bit, where the cipher takes a mask of a key bit: neither all zeros nor all ones.
    pub fn mask(self) -> u32 {
        MASKS.with_borrow_mut(|masks| {
            masks.push(self.0);
            masks.len() as u32
        })
    }

    fn lut3(table: u8, operands: [Self; 3]) -> Self {
        let bit = with_cells(|cells| cells.lut3(table, operands.map(|operand| operand.0)));
        Self(bit.expect("bits are multiplied that go through one S-box together"))
    }
}

impl BitAnd for FormalBit {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self::lut3(0xc0, [self, other, Self(Bit::ZERO)])
    }
}

impl BitOr for FormalBit {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self::lut3(0xfc, [self, other, Self(Bit::ZERO)])
    }
}

impl BitXor for FormalBit {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        Self::lut3(0x3c, [self, other, Self(Bit::ZERO)])
    }
}

impl Not for FormalBit {
    type Output = Self;
    fn not(self) -> Self {
        Self(self.0 ^ Bit::ONE)
    }
}

impl circuit::Word for FormalBit {
    fn lut3(table: Lut3, operands: [Self; 3]) -> Self {
        Self::lut3(table.0, operands)
    }
}

impl Lanes for FormalBit {
    fn splat(mask: u32) -> Self {
        Self(match mask {
            0 => Bit::ZERO,
            u32::MAX => Bit::ONE,
            number => MASKS.with_borrow(|masks| masks[number as usize - 1]),
        })
    }

    fn lut3<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        Self::lut3(TABLE as u8, [a, b, c])
    }
}
