//! The generated engine on the CPU: AES as a Boolean circuit over bit-planes, one block per lane of a vector.
//!
//! Its time depends only on the number of blocks: no branch, address or table index depends on key or data once the key
//! is expanded. A processor with AES instructions is faster with those (`Backend::Cpu`).
//!
//! [`BitslicedAes128`] and its siblings are block ciphers of the [`cipher`] crate, and so work with everything written
//! against its traits.
//!
//! | file | idea |
//! |---|---|
//! | `isa` | the vector instructions it can run on |
//! | `key` | a key as planes |
//! | `batch` | ECB and CTR over a batch of blocks, for any vector |
//! | `transpose` | blocks to bit-planes and back |
//! | `registers` | a batch in vector registers |
//! | `x86`, `arm` | the registers of AVX2 and AVX-512, and of Neon |
//! | `portable` | 64 lanes in a word of any processor |
//! | `block_cipher` | the traits of the `cipher` crate |

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
#[allow(unsafe_code)]
mod arm;
#[forbid(unsafe_code)]
mod batch;
#[forbid(unsafe_code)]
mod block_cipher;
#[forbid(unsafe_code)]
pub(crate) mod isa;
#[forbid(unsafe_code)]
pub(crate) mod key;
#[forbid(unsafe_code)]
mod portable;
#[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
#[allow(unsafe_code)]
mod registers;
#[forbid(unsafe_code)]
pub mod transpose;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86;

pub use block_cipher::{BitslicedAes, BitslicedAes128, BitslicedAes192, BitslicedAes256, KeySize};
pub use isa::Isa;
