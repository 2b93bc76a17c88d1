//! Armv8 with AES and PMULL: one block in a vector. With SHA3, the compiler makes sums of three one instruction, EOR3.

use crate::cpu::kernel::kernel;
use crate::cpu::lanes::{Lanes, OneBlock, by_instructions};
use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

/// Proof that the processor has the instructions, also those of SHA3 if that is said.
#[derive(Clone, Copy)]
pub(super) struct Armv8<const SHA3: bool>(());

impl<const SHA3: bool> Armv8<SHA3> {
    pub(super) fn detect() -> Option<Self> {
        // `aes` includes PMULL of 64 bits.
        let is_there = is_aarch64_feature_detected!("neon")
            && is_aarch64_feature_detected!("aes")
            && (!SHA3 || is_aarch64_feature_detected!("sha3"));
        is_there.then_some(Self(()))
    }
}

kernel!(Armv8<false>, "neon,aes");
kernel!(Armv8<true>, "neon,aes,sha3");

impl<const SHA3: bool> Lanes for Armv8<SHA3> {
    type Vector = uint8x16_t;
    type One = Self;
    const BLOCKS: usize = 1;

    #[inline(always)]
    fn one(self) -> Self {
        self
    }

    by_instructions! {
        fn load(self, bytes: &[u8]) -> uint8x16_t = vld1q_u8(bytes[..16].as_ptr());
        fn store(self, vector: uint8x16_t, bytes: &mut [u8]) -> () = vst1q_u8(bytes[..16].as_mut_ptr(), vector);
        fn zero(self) -> uint8x16_t = vdupq_n_u8(0);
        fn broadcast(self, block: &[u8; 16]) -> uint8x16_t = vld1q_u8(block.as_ptr());
        fn first(self, block: &[u8; 16]) -> uint8x16_t = vld1q_u8(block.as_ptr());

        fn and(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = vandq_u8(a, b);
        fn xor(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t = veorq_u8(a, b);
        fn xor3(self, a: uint8x16_t, b: uint8x16_t, c: uint8x16_t) -> uint8x16_t = veorq_u8(veorq_u8(a, b), c);
        fn add32(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
        fn add64(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            vreinterpretq_u8_u64(vaddq_u64(vreinterpretq_u64_u8(a), vreinterpretq_u64_u8(b)));
        fn reverse(self, vector: uint8x16_t) -> uint8x16_t = {
            let halves = vrev64q_u8(vector);
            vextq_u8(halves, halves, 8)
        };
        fn swap_halves(self, vector: uint8x16_t) -> uint8x16_t = vextq_u8(vector, vector, 8);
        fn low_to_high(self, vector: uint8x16_t) -> uint8x16_t = vextq_u8(vdupq_n_u8(0), vector, 8);
        fn up(self, vector: uint8x16_t) -> uint8x16_t = vextq_u8(vdupq_n_u8(0), vector, 15);
        fn above(self, vector: uint8x16_t) -> uint8x16_t = vextq_u8(vector, vdupq_n_u8(0), 15);
        fn with_first_columns(self, others: uint8x16_t, columns: uint8x16_t) -> [uint8x16_t; 4] = {
            let (others, columns) = (vreinterpretq_u32_u8(others), vreinterpretq_u32_u8(columns));
            [
                vreinterpretq_u8_u32(vcopyq_laneq_u32::<0, 0>(others, columns)),
                vreinterpretq_u8_u32(vcopyq_laneq_u32::<0, 1>(others, columns)),
                vreinterpretq_u8_u32(vcopyq_laneq_u32::<0, 2>(others, columns)),
                vreinterpretq_u8_u32(vcopyq_laneq_u32::<0, 3>(others, columns)),
            ]
        };
        fn sum(self, vector: uint8x16_t) -> uint8x16_t = vector;

        fn encrypt(self, state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = encrypt(state, key);
        fn encrypt_last(self, state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = encrypt_last(state, key);
        fn decrypt(self, state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = decrypt(state, key);
        fn decrypt_last(self, state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = decrypt_last(state, key);

        fn multiply_low(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            product(half::<0>(a), half::<0>(b));
        fn multiply_high(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            product(half::<1>(a), half::<1>(b));
        fn multiply_low_high(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            product(half::<0>(a), half::<1>(b));
        fn multiply_high_low(self, a: uint8x16_t, b: uint8x16_t) -> uint8x16_t =
            product(half::<1>(a), half::<0>(b));
    }
}

/// Functions for which the instructions are enabled, so that those are inlined into them.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $body:expr;)*) => { $(
        #[inline]
        #[target_feature(enable = "neon,aes")]
        fn $name($($argument: $type),*) -> $result {
            $body
        }
    )* };
}
functions! {
    // AESE and AESD add a key before the round, here zeros, and here it is added after.
    fn encrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t =
        veorq_u8(vaesmcq_u8(vaeseq_u8(state, vdupq_n_u8(0))), key);
    fn encrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = veorq_u8(vaeseq_u8(state, vdupq_n_u8(0)), key);
    fn decrypt(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t =
        veorq_u8(vaesimcq_u8(vaesdq_u8(state, vdupq_n_u8(0))), key);
    fn decrypt_last(state: uint8x16_t, key: uint8x16_t) -> uint8x16_t = veorq_u8(vaesdq_u8(state, vdupq_n_u8(0)), key);
    fn inverse_mix_columns(block: uint8x16_t) -> uint8x16_t = vaesimcq_u8(block);
    fn product(a: u64, b: u64) -> uint8x16_t = vreinterpretq_u8_p128(vmull_p64(a, b));
}

/// One half of a block.
#[inline]
#[target_feature(enable = "neon")]
fn half<const HALF: i32>(block: uint8x16_t) -> u64 {
    vgetq_lane_u64::<HALF>(vreinterpretq_u64_u8(block))
}

impl<const SHA3: bool> OneBlock for Armv8<SHA3> {
    by_instructions! {
        fn inverse_mix_columns(self, block: uint8x16_t) -> uint8x16_t = inverse_mix_columns(block);
        fn shuffle(self, block: uint8x16_t, from: &[u8; 16]) -> uint8x16_t = vqtbl1q_u8(block, vld1q_u8(from.as_ptr()));
    }
}
