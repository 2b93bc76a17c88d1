//! AES-NI with PCLMULQDQ: one block in a vector.

use crate::cpu::kernel::kernel;
use crate::cpu::lanes::{Lanes, OneBlock, by_instructions, in_order};
use std::arch::x86_64::*;

/// Proof that the processor has the instructions.
#[derive(Clone, Copy)]
pub(super) struct AesNi(());

impl AesNi {
    pub(super) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("aes")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("ssse3")
            && is_x86_feature_detected!("sse4.1");
        is_there.then_some(Self(()))
    }
}

kernel!(AesNi, "aes,pclmulqdq,ssse3,sse4.1");

/// A number from registers for integers, not by way of memory: a load of what two stores have written waits for both.
#[inline(always)]
pub(super) fn number(n: u128) -> __m128i {
    // SAFETY: every processor has SSE2.
    unsafe { _mm_set_epi64x((n >> 64) as i64, n as i64) }
}

in_order!(__m128i, xmm_reg, "sse2");

impl Lanes for AesNi {
    type Vector = __m128i;
    type One = Self;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn one(self) -> Self {
        self
    }

    by_instructions! {
        fn load(self, bytes: &[u8]) -> __m128i = _mm_loadu_si128(bytes[..16].as_ptr().cast());
        fn store(self, vector: __m128i, bytes: &mut [u8]) -> () = _mm_storeu_si128(bytes[..16].as_mut_ptr().cast(), vector);
        fn prefetch(self, address: *const u8) -> () = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        fn zero(self) -> __m128i = _mm_setzero_si128();
        fn broadcast(self, block: &[u8; 16]) -> __m128i = _mm_loadu_si128(block.as_ptr().cast());
        fn number(self, n: u128) -> __m128i = number(n);
        fn first(self, block: &[u8; 16]) -> __m128i = _mm_loadu_si128(block.as_ptr().cast());

        fn and(self, a: __m128i, b: __m128i) -> __m128i = _mm_and_si128(a, b);
        fn xor(self, a: __m128i, b: __m128i) -> __m128i = _mm_xor_si128(a, b);
        fn xor3(self, a: __m128i, b: __m128i, c: __m128i) -> __m128i = _mm_xor_si128(_mm_xor_si128(a, b), c);
        fn add32(self, a: __m128i, b: __m128i) -> __m128i = _mm_add_epi32(a, b);
        fn add64(self, a: __m128i, b: __m128i) -> __m128i = _mm_add_epi64(a, b);
        fn reverse(self, vector: __m128i) -> __m128i =
            _mm_shuffle_epi8(vector, _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        fn swap_halves(self, vector: __m128i) -> __m128i = _mm_shuffle_epi32(vector, 0x4e);
        fn low_to_high(self, vector: __m128i) -> __m128i = _mm_slli_si128(vector, 8);
        fn up(self, vector: __m128i) -> __m128i = _mm_slli_si128(vector, 1);
        fn above(self, vector: __m128i) -> __m128i = _mm_srli_si128(vector, 15);
        fn with_first_columns(self, others: __m128i, columns: __m128i) -> [__m128i; 4] = [
            _mm_blend_epi16(others, columns, 0x03),
            _mm_blend_epi16(others, _mm_shuffle_epi32(columns, 0x55), 0x03),
            _mm_blend_epi16(others, _mm_shuffle_epi32(columns, 0xaa), 0x03),
            _mm_blend_epi16(others, _mm_shuffle_epi32(columns, 0xff), 0x03),
        ];
        fn sum(self, vector: __m128i) -> __m128i = vector;

        fn encrypt(self, state: __m128i, key: __m128i) -> __m128i = _mm_aesenc_si128(state, key);
        fn encrypt_last(self, state: __m128i, key: __m128i) -> __m128i = _mm_aesenclast_si128(state, key);
        fn decrypt(self, state: __m128i, key: __m128i) -> __m128i = _mm_aesdec_si128(state, key);
        fn decrypt_last(self, state: __m128i, key: __m128i) -> __m128i = _mm_aesdeclast_si128(state, key);

        fn in_order(self, vectors: [__m128i; 2]) -> [__m128i; 2] = in_order(vectors);

        fn multiply_low(self, a: __m128i, b: __m128i) -> __m128i = _mm_clmulepi64_si128(a, b, 0x00);
        fn multiply_high(self, a: __m128i, b: __m128i) -> __m128i = _mm_clmulepi64_si128(a, b, 0x11);
        fn multiply_low_high(self, a: __m128i, b: __m128i) -> __m128i = _mm_clmulepi64_si128(a, b, 0x10);
        fn multiply_high_low(self, a: __m128i, b: __m128i) -> __m128i = _mm_clmulepi64_si128(a, b, 0x01);
    }
}

impl OneBlock for AesNi {
    by_instructions! {
        fn inverse_mix_columns(self, block: __m128i) -> __m128i = _mm_aesimc_si128(block);
        fn shuffle(self, block: __m128i, from: &[u8; 16]) -> __m128i = _mm_shuffle_epi8(block, _mm_loadu_si128(from.as_ptr().cast()));
    }
}
