//! The hash key of GCM and of AES-GCM-SIV, and what is computed with it.
//!
//! POLYVAL (RFC 8452) is GHASH of blocks with their bytes reversed (`aes_bitslice_core::ghash::Blocks`), and is treated here as a hash of
//! such blocks.

use crate::base::scrubbed::{DERIVED, scrubbed};
use crate::cpu::block::{BlockCipher, encrypt_block};
use crate::cpu::carryless;
use crate::cpu::instructions::Instructions;
use crate::cpu::kernel::{Kernel, STACK_OF_KERNEL};
use crate::cpu::modes::ghash::Powers;
use aes_bitslice_core::ghash::Blocks;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The hash key, H: the encryption of a block of zeros (SP 800-38D, section 7.1), or for POLYVAL the equivalent key of GHASH. It stays in
/// place when the value moves, is wiped with the last clone, and is never printed.
#[derive(Clone)]
pub struct HashKey(Arc<Of>);

struct Of {
    key: Zeroizing<[u8; 16]>,
    /// How it reads blocks.
    blocks: Blocks,
    /// The kernel that hashes, if there is one, what it runs on, and its powers of H.
    kernel: Option<&'static dyn Kernel>,
    instructions: Instructions,
    powers: Powers,
}

impl HashKey {
    /// The key of GHASH under a key of AES, on these instructions.
    pub(crate) fn new(cipher: &impl BlockCipher, instructions: Instructions) -> Self {
        let mut key = Zeroizing::new([0; 16]);
        encrypt_block(cipher, &mut key);
        Self::of(&key, Blocks::AsTheyAre, instructions)
    }

    /// A POLYVAL key, on these instructions.
    pub(crate) fn of_polyval(key: &[u8; 16], instructions: Instructions) -> Self {
        Self::of(&Zeroizing::new(Blocks::Reversed.key(*key).to_block()), Blocks::Reversed, instructions)
    }

    /// The key with this H.
    #[cfg_attr(not(any(feature = "cuda", feature = "opencl")), allow(dead_code))]
    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::of(&bytes, Blocks::AsTheyAre, Instructions::best())
    }

    /// Written where it stays.
    fn of(key: &[u8; 16], blocks: Blocks, instructions: Instructions) -> Self {
        let kernel = instructions.kernel();
        let mut all =
            Arc::new(Of { key: Zeroizing::default(), blocks, kernel, instructions, powers: Powers::default() });
        let of = Arc::get_mut(&mut all).expect("nobody else has it");
        of.key.copy_from_slice(key);
        if let Some(kernel) = kernel {
            kernel.powers(key, &mut of.powers);
        }
        Self(all)
    }

    /// The powers of H for the kernel on these instructions, if that has computed them.
    pub(super) fn powers(&self, instructions: Instructions) -> Option<&Powers> {
        self.0.kernel.filter(|_| self.0.instructions == instructions).map(|_| &self.0.powers)
    }

    /// How it reads blocks.
    pub(crate) fn blocks(&self) -> Blocks {
        self.0.blocks
    }

    /// Does work that computes with it, and leaves nothing of it on the stack.
    pub(crate) fn scrubbed<R>(&self, work: impl FnOnce() -> R) -> R {
        match self.0.kernel {
            Some(_) => scrubbed::<STACK_OF_KERNEL, _>(work),
            None => scrubbed::<DERIVED, _>(work),
        }
    }

    /// H itself, for values derived from it: never keep it in memory that is not wiped.
    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0.key
    }

    /// Continues a hash with bytes, the last block padded with zeros.
    pub(crate) fn update(&self, hash: &mut [u8; 16], bytes: &[u8]) {
        match self.0.kernel {
            Some(kernel) => kernel.hash(&self.0.powers, self.blocks(), hash, bytes),
            None => carryless::hash(&self.0.key, self.blocks(), hash, bytes),
        }
    }

    /// The hash of bytes, the last block padded with zeros.
    pub(crate) fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        let mut hash = [0; 16];
        self.update(&mut hash, bytes);
        hash
    }

    /// H^n.
    pub(crate) fn power(&self, n: u64) -> Zeroizing<[u8; 16]> {
        if n == 0 { Zeroizing::new(ONE) } else { self.to_the_power(&self.0.key, n) }
    }

    /// The hash of two concatenated messages, the second of which has `blocks` blocks of 16 bytes.
    pub(crate) fn append(&self, first: &[u8; 16], second: &[u8; 16], blocks: u64) -> [u8; 16] {
        let moved = self.product(first, &self.power(blocks));
        std::array::from_fn(|i| moved[i] ^ second[i])
    }

    /// The hash of a message of whole blocks with this hash, followed by one more block.
    pub(crate) fn append_block(&self, hash: &[u8; 16], block: &[u8; 16]) -> [u8; 16] {
        let sum = Zeroizing::new(std::array::from_fn(|i| hash[i] ^ block[i]));
        *self.product(&sum, &self.0.key)
    }

    /// The powers of H^-1 with which [`times`](Self::times) multiplies, with H^-1 taken for 0 if H is 0.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn inverse_powers(&self) -> PowersByDigits {
        let mut first = self.inverse();
        let mut powers = Zeroizing::new(Vec::with_capacity(DIGITS * VALUES));
        for _ in 0..DIGITS {
            let mut power = Zeroizing::new(ONE);
            for _ in 0..VALUES {
                powers.push(*power);
                power = self.product(&power, &first);
            }
            first = power;
        }
        PowersByDigits(powers)
    }

    /// H^-1, which is H^(2^128 - 2); 0 if H is 0.
    fn inverse(&self) -> Zeroizing<[u8; 16]> {
        let (mut result, mut square) = (Zeroizing::new(ONE), self.0.key.clone());
        for _ in 1..128 {
            square = self.product(&square, &square);
            result = self.product(&result, &square);
        }
        result
    }

    /// An element times x^n, from the powers of x. Time and addresses depend only on n, which is a length.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code))]
    pub(crate) fn times(&self, element: &[u8; 16], powers: &PowersByDigits, n: u32) -> Zeroizing<[u8; 16]> {
        let of_digits = powers.0.chunks(VALUES).enumerate().map(|(i, of)| (n as usize >> (4 * i) & 15, of));
        let of_digits = of_digits.filter(|(digit, _)| *digit != 0);
        of_digits.fold(Zeroizing::new(*element), |product, (digit, of)| self.product(&product, &of[digit]))
    }

    /// x^n by squaring, for n of at least 1. The time depends only on n, which is a length.
    fn to_the_power(&self, x: &[u8; 16], mut n: u64) -> Zeroizing<[u8; 16]> {
        let (mut result, mut square) = (None::<Zeroizing<[u8; 16]>>, Zeroizing::new(*x));
        loop {
            if n & 1 == 1 {
                result = Some(result.map_or_else(|| square.clone(), |result| self.product(&result, &square)));
            }
            n >>= 1;
            if n == 0 {
                return result.expect("n is at least 1");
            }
            square = self.product(&square, &square);
        }
    }

    /// The product of two elements of GHASH's field.
    pub(crate) fn product(&self, x: &[u8; 16], y: &[u8; 16]) -> Zeroizing<[u8; 16]> {
        Zeroizing::new(self.0.kernel.map_or_else(|| carryless::multiply(x, y), |kernel| kernel.multiply(x, y)))
    }
}

/// x^(16^i d), for i below 8 and d below 16: with them x^n takes a product for each hexadecimal digit of n, and not for each bit.
#[cfg_attr(not(feature = "cuda"), allow(dead_code))]
pub(crate) struct PowersByDigits(Zeroizing<Vec<[u8; 16]>>);

const VALUES: usize = 16;
const DIGITS: usize = 8;

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey")
    }
}

/// The element 1 of GHASH's field.
pub(crate) const ONE: [u8; 16] = [0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_the_inverse_undo_powers() {
        let key = HashKey::from_bytes(std::array::from_fn(|i| (31 * i + 5) as u8));
        let (element, inverses) = ([0x6b; 16], key.inverse_powers());
        for n in [0, 1, 2, 3, 15, 16, 255, 0xf0a5, 1 << 31, u32::MAX] {
            let undone = key.times(&element, &inverses, n);
            assert_eq!(*key.product(&undone, &key.power(n.into())), element, "H^{n}");
        }
    }
}
