//! AES and GHASH on a core of the CPU, as operations use them.
//!
//! ```text
//! key            a key on a core                       block      blocks, and the block cipher
//! bitsliced      the generated engine                  portable   each mode by the block cipher alone
//! instructions   the sets, and the kernel of each      hash_key   H, and what is computed with it
//! kernel         the modes on one set, as a table      carryless  GHASH by multiplications of integers
//! modes          their loops, written once for every set
//! lanes          what the loops need of a set          vaes512, vaes256, aesni, armv8
//! ```

#[allow(unsafe_code)]
pub mod bitsliced;
pub(crate) mod block;
mod carryless;
pub(crate) mod hash_key;
pub(crate) mod instructions;
pub(crate) mod kernel;
pub(crate) mod key;
pub(crate) mod portable;

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod aesni;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[allow(unsafe_code)]
mod armv8;
mod lanes;
mod modes;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod vaes256;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod vaes512;
