//! 128 lanes with Neon.
//!
//! With SHA3, the compiler makes one instruction of sums of three (EOR3) and of `a ^ (b & !c)` (BCAX).

use crate::cpu::bitsliced::batch::{Functions, TwoInput};
use crate::cpu::bitsliced::registers::{Register, functions, operators};
use crate::cpu::lanes::by_instructions;
use aes_bitslice_kernels::Lanes;
use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected as is_detected;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A 128-bit register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Neon(uint8x16_t);

operators!(Neon: BitAnd bitand vandq_u8  BitOr bitor vorrq_u8  BitXor bitxor veorq_u8);

impl Not for Neon {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: a value of this type exists, so its instructions are there.
        Self(unsafe { vmvnq_u8(self.0) })
    }
}

impl Lanes for Neon {
    #[inline(always)]
    fn splat(mask: u32) -> Self {
        // SAFETY: called in functions for which Neon is enabled, like every use of this type.
        Self(unsafe { vreinterpretq_u8_u32(vdupq_n_u32(mask)) })
    }
}

impl Register for Neon {
    const GROUPS: usize = 1;

    #[inline(always)]
    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: readable, as the caller guarantees; no alignment is required.
        Self(unsafe { vld1q_u8(from) })
    }

    #[inline(always)]
    unsafe fn write(self, to: *mut u8) {
        // SAFETY: writable, as the caller guarantees; no alignment is required.
        unsafe { vst1q_u8(to, self.0) }
    }

    by_instructions! {
        fn interleave(a: Self, b: Self) -> [Self; 2] = [Self(vzip1q_u8(a.0, b.0)), Self(vzip2q_u8(a.0, b.0))];
        fn shift_left<const N: u32>(self) -> Self =
            Self(vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(self.0), vdupq_n_s64(N.into()))));
        fn shift_right<const N: u32>(self) -> Self =
            Self(vreinterpretq_u8_u64(vshlq_u64(vreinterpretq_u64_u8(self.0), vdupq_n_s64(-i64::from(N)))));
    }
}

functions!(with_sha3: Neon, TwoInput, "neon,sha3", is_detected!("neon") && is_detected!("sha3"));
functions!(without_sha3: Neon, TwoInput, "neon", is_detected!("neon"));

pub(super) fn neon() -> Option<&'static Functions> {
    with_sha3().or_else(without_sha3)
}
