//! AVX-512 with VAES and VPCLMULQDQ: four blocks in a vector.

use crate::cpu::aesni::{AesNi, number};
use crate::cpu::kernel::kernel;
use crate::cpu::lanes::{Lanes, by_instructions, in_order};
use std::arch::x86_64::*;

/// Proof that the processor has the instructions.
#[derive(Clone, Copy)]
pub(super) struct Vaes512(AesNi);

impl Vaes512 {
    pub(super) fn detect() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("vaes")
            && is_x86_feature_detected!("vpclmulqdq");
        AesNi::detect().filter(|_| is_there).map(Self)
    }
}

kernel!(Vaes512, "avx512f,avx512bw,avx512vl,avx512dq,vaes,vpclmulqdq,aes,pclmulqdq");

/// A mask of the first bytes, 64 at most.
#[inline(always)]
fn mask(bytes: usize) -> u64 {
    u64::MAX.checked_shr(64 - bytes as u32).unwrap_or(0)
}

in_order!(__m512i, zmm_reg, "avx512f");

impl Lanes for Vaes512 {
    type Vector = __m512i;
    type One = AesNi;
    const BLOCKS: usize = 4;

    #[inline(always)]
    fn one(self) -> AesNi {
        self.0
    }

    by_instructions! {
        fn load(self, bytes: &[u8]) -> __m512i = _mm512_loadu_si512(bytes[..64].as_ptr().cast());
        fn store(self, vector: __m512i, bytes: &mut [u8]) -> () = _mm512_storeu_si512(bytes[..64].as_mut_ptr().cast(), vector);
        fn load_part(self, bytes: &[u8]) -> __m512i = {
            assert!(bytes.len() <= 64);
            _mm512_maskz_loadu_epi8(mask(bytes.len()), bytes.as_ptr().cast())
        };
        fn store_part(self, vector: __m512i, bytes: &mut [u8]) -> () = {
            assert!(bytes.len() <= 64);
            _mm512_mask_storeu_epi8(bytes.as_mut_ptr().cast(), mask(bytes.len()), vector)
        };
        fn prefetch(self, address: *const u8) -> () = _mm_prefetch::<_MM_HINT_T0>(address.cast());
        fn zero(self) -> __m512i = _mm512_setzero_si512();
        fn first_bytes(self, vector: __m512i, bytes: usize) -> __m512i = _mm512_maskz_mov_epi8(mask(bytes), vector);
        fn broadcast(self, block: &[u8; 16]) -> __m512i = _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast()));
        fn number(self, n: u128) -> __m512i = _mm512_broadcast_i32x4(number(n));
        fn first(self, block: &[u8; 16]) -> __m512i = _mm512_zextsi128_si512(_mm_loadu_si128(block.as_ptr().cast()));

        fn and(self, a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        fn xor(self, a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i = _mm512_ternarylogic_epi64(a, b, c, 0x96);
        fn add32(self, a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn add64(self, a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi64(a, b);
        fn reverse(self, vector: __m512i) -> __m512i = {
            let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_shuffle_epi8(vector, _mm512_broadcast_i32x4(order))
        };
        fn swap_halves(self, vector: __m512i) -> __m512i = _mm512_shuffle_epi32(vector, 0x4e);
        fn low_to_high(self, vector: __m512i) -> __m512i = _mm512_bslli_epi128(vector, 8);
        fn up(self, vector: __m512i) -> __m512i = _mm512_bslli_epi128(vector, 4);
        fn above(self, vector: __m512i) -> __m512i = _mm512_bsrli_epi128(vector, 12);
        fn with_first_columns(self, others: __m512i, columns: __m512i) -> [__m512i; 4] = [
            _mm512_mask_mov_epi32(others, 0x1111, columns),
            _mm512_mask_shuffle_epi32(others, 0x1111, columns, 0x55),
            _mm512_mask_shuffle_epi32(others, 0x1111, columns, 0xaa),
            _mm512_mask_shuffle_epi32(others, 0x1111, columns, 0xff),
        ];
        fn sum(self, vector: __m512i) -> __m512i = {
            let two = _mm256_xor_si256(_mm512_castsi512_si256(vector), _mm512_extracti64x4_epi64(vector, 1));
            let one = _mm_xor_si128(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
            _mm512_zextsi128_si512(one)
        };

        fn encrypt(self, state: __m512i, key: __m512i) -> __m512i = _mm512_aesenc_epi128(state, key);
        fn encrypt_last(self, state: __m512i, key: __m512i) -> __m512i = _mm512_aesenclast_epi128(state, key);
        fn decrypt(self, state: __m512i, key: __m512i) -> __m512i = _mm512_aesdec_epi128(state, key);
        fn decrypt_last(self, state: __m512i, key: __m512i) -> __m512i = _mm512_aesdeclast_epi128(state, key);

        fn in_order(self, vectors: [__m512i; 2]) -> [__m512i; 2] = in_order(vectors);

        fn multiply_low(self, a: __m512i, b: __m512i) -> __m512i = _mm512_clmulepi64_epi128(a, b, 0x00);
        fn multiply_high(self, a: __m512i, b: __m512i) -> __m512i = _mm512_clmulepi64_epi128(a, b, 0x11);
        fn multiply_low_high(self, a: __m512i, b: __m512i) -> __m512i = _mm512_clmulepi64_epi128(a, b, 0x10);
        fn multiply_high_low(self, a: __m512i, b: __m512i) -> __m512i = _mm512_clmulepi64_epi128(a, b, 0x01);
    }
}
