//! AVX2 with VAES and VPCLMULQDQ: two blocks in a vector.

use crate::cpu::aesni::{AesNi, number};
use crate::cpu::kernel::kernel;
use crate::cpu::lanes::{Lanes, by_instructions, in_order};
use std::arch::x86_64::*;

/// Proof that the processor has the instructions.
#[derive(Clone, Copy)]
pub(super) struct Vaes256(AesNi);

impl Vaes256 {
    pub(super) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq");
        AesNi::detect().filter(|_| is_there).map(Self)
    }
}

kernel!(Vaes256, "vaes,vpclmulqdq,avx2,aes,pclmulqdq,ssse3,sse4.1");

in_order!(__m256i, ymm_reg, "avx2");

impl Lanes for Vaes256 {
    type Vector = __m256i;
    type One = AesNi;
    const BLOCKS: usize = 2;

    #[inline(always)]
    fn one(self) -> AesNi {
        self.0
    }

    by_instructions! {
        fn load(self, bytes: &[u8]) -> __m256i = _mm256_loadu_si256(bytes[..32].as_ptr().cast());
        fn store(self, vector: __m256i, bytes: &mut [u8]) -> () = _mm256_storeu_si256(bytes[..32].as_mut_ptr().cast(), vector);
        fn prefetch(self, address: *const u8) -> () = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        fn zero(self) -> __m256i = _mm256_setzero_si256();
        fn broadcast(self, block: &[u8; 16]) -> __m256i =
            _mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast()));
        fn number(self, n: u128) -> __m256i = _mm256_broadcastsi128_si256(number(n));
        fn first(self, block: &[u8; 16]) -> __m256i =
            _mm256_zextsi128_si256(_mm_loadu_si128(block.as_ptr().cast()));

        fn and(self, a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        fn xor(self, a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn xor3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i = _mm256_xor_si256(_mm256_xor_si256(a, b), c);
        fn add32(self, a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn add64(self, a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi64(a, b);
        fn reverse(self, vector: __m256i) -> __m256i = {
            let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm256_shuffle_epi8(vector, _mm256_broadcastsi128_si256(order))
        };
        fn swap_halves(self, vector: __m256i) -> __m256i = _mm256_shuffle_epi32(vector, 0x4e);
        fn low_to_high(self, vector: __m256i) -> __m256i = _mm256_slli_si256(vector, 8);
        fn up(self, vector: __m256i) -> __m256i = _mm256_slli_si256(vector, 2);
        fn above(self, vector: __m256i) -> __m256i = _mm256_srli_si256(vector, 14);
        fn with_first_columns(self, others: __m256i, columns: __m256i) -> [__m256i; 4] = [
            _mm256_blend_epi32(others, columns, 0x11),
            _mm256_blend_epi32(others, _mm256_shuffle_epi32(columns, 0x55), 0x11),
            _mm256_blend_epi32(others, _mm256_shuffle_epi32(columns, 0xaa), 0x11),
            _mm256_blend_epi32(others, _mm256_shuffle_epi32(columns, 0xff), 0x11),
        ];
        fn sum(self, vector: __m256i) -> __m256i =
            _mm256_zextsi128_si256(_mm_xor_si128(_mm256_castsi256_si128(vector), _mm256_extracti128_si256(vector, 1)));

        fn encrypt(self, state: __m256i, key: __m256i) -> __m256i = _mm256_aesenc_epi128(state, key);
        fn encrypt_last(self, state: __m256i, key: __m256i) -> __m256i = _mm256_aesenclast_epi128(state, key);
        fn decrypt(self, state: __m256i, key: __m256i) -> __m256i = _mm256_aesdec_epi128(state, key);
        fn decrypt_last(self, state: __m256i, key: __m256i) -> __m256i = _mm256_aesdeclast_epi128(state, key);

        fn in_order(self, vectors: [__m256i; 2]) -> [__m256i; 2] = in_order(vectors);

        fn multiply_low(self, a: __m256i, b: __m256i) -> __m256i = _mm256_clmulepi64_epi128(a, b, 0x00);
        fn multiply_high(self, a: __m256i, b: __m256i) -> __m256i = _mm256_clmulepi64_epi128(a, b, 0x11);
        fn multiply_low_high(self, a: __m256i, b: __m256i) -> __m256i = _mm256_clmulepi64_epi128(a, b, 0x10);
        fn multiply_high_low(self, a: __m256i, b: __m256i) -> __m256i = _mm256_clmulepi64_epi128(a, b, 0x01);
    }
}
