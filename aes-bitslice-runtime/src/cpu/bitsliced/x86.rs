//! 256 lanes with AVX2, 512 with AVX-512.

use crate::cpu::bitsliced::batch::{Core, TwoInput, Vector};
use crate::cpu::bitsliced::registers::{Register, functions, operators};
use crate::cpu::lanes::by_instructions;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_kernels::Lanes;
use std::arch::x86_64::*;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A 256-bit register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Avx2(__m256i);

/// A 512-bit register.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Avx512(__m512i);

operators!(Avx2: BitAnd bitand _mm256_and_si256  BitOr bitor _mm256_or_si256  BitXor bitxor _mm256_xor_si256);
operators!(Avx512: BitAnd bitand _mm512_and_si512  BitOr bitor _mm512_or_si512  BitXor bitxor _mm512_xor_si512);

impl Not for Avx2 {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self ^ Self::splat(!0)
    }
}

impl Not for Avx512 {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self::lut3::<0x0f>(self, self, self)
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn splat(mask: u32) -> Self {
        // SAFETY: called in functions for which AVX2 is enabled, like every use of this type.
        Self(unsafe { _mm256_set1_epi32(mask as i32) })
    }
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn splat(mask: u32) -> Self {
        // SAFETY: called in functions for which AVX-512 is enabled, like every use of this type.
        Self(unsafe { _mm512_set1_epi32(mask as i32) })
    }

    #[inline(always)]
    fn lut3<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        // SAFETY: a value of this type exists, so its instructions are there.
        Self(unsafe { _mm512_ternarylogic_epi32::<TABLE>(a.0, b.0, c.0) })
    }
}

impl Register for Avx2 {
    const GROUPS: usize = 2;

    #[inline(always)]
    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: readable, as the caller guarantees; no alignment is required.
        Self(unsafe { _mm256_loadu_si256(from.cast()) })
    }

    #[inline(always)]
    unsafe fn write(self, to: *mut u8) {
        // SAFETY: writable, as the caller guarantees; no alignment is required.
        unsafe { _mm256_storeu_si256(to.cast(), self.0) }
    }

    by_instructions! {
        fn interleave(a: Self, b: Self) -> [Self; 2] =
            [Self(_mm256_unpacklo_epi8(a.0, b.0)), Self(_mm256_unpackhi_epi8(a.0, b.0))];
        fn shift_left<const N: u32>(self) -> Self = Self(_mm256_sll_epi64(self.0, _mm_cvtsi32_si128(N as i32)));
        fn shift_right<const N: u32>(self) -> Self = Self(_mm256_srl_epi64(self.0, _mm_cvtsi32_si128(N as i32)));
    }
}

impl Register for Avx512 {
    const GROUPS: usize = 4;

    #[inline(always)]
    unsafe fn read(from: *const u8) -> Self {
        // SAFETY: readable, as the caller guarantees; no alignment is required.
        Self(unsafe { _mm512_loadu_si512(from.cast()) })
    }

    #[inline(always)]
    unsafe fn write(self, to: *mut u8) {
        // SAFETY: writable, as the caller guarantees; no alignment is required.
        unsafe { _mm512_storeu_si512(to.cast(), self.0) }
    }

    by_instructions! {
        fn interleave(a: Self, b: Self) -> [Self; 2] =
            [Self(_mm512_unpacklo_epi8(a.0, b.0)), Self(_mm512_unpackhi_epi8(a.0, b.0))];
        fn shift_left<const N: u32>(self) -> Self = Self(_mm512_slli_epi64::<N>(self.0));
        fn shift_right<const N: u32>(self) -> Self = Self(_mm512_srli_epi64::<N>(self.0));
    }
}

/// For instructions of three inputs.
struct Lut3;

impl Core for Lut3 {
    #[inline(always)]
    fn run<V: Vector>(direction: Direction, planes: &mut [V; 128], keys: &[[u32; 128]]) {
        use aes_bitslice_kernels::rust::lut3::{decrypt, encrypt};
        match direction {
            Direction::Encrypt => encrypt(planes, keys),
            Direction::Decrypt => decrypt(planes, keys),
        }
    }
}

functions!(avx2: Avx2, TwoInput, "avx2", is_x86_feature_detected!("avx2"));
functions!(avx512: Avx512, Lut3, "avx512f,avx512bw", is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"));
