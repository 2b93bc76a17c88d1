//! The generated engine on the CPU: AES as a Boolean circuit over bit-planes, one block a lane of a vector.
//!
//! Its time depends on the number of blocks alone: no branch, address or table index depends on key or data once the
//! key is expanded. A processor with AES instructions is faster with those (`Backend::Cpu`).
//!
//! [`BitslicedAes128`] and its siblings are block ciphers to the [`cipher`] crate, and so work with everything
//! that is written against its traits.
//!
//! | file | idea |
//! |---|---|
//! | `batch` | ECB and CTR over a batch of blocks, for any vector |
//! | `x86` | AVX2 and AVX-512 vectors |
//! | `portable` | 64 lanes in a word of any processor |
//! | `block_cipher` | the traits of the `cipher` crate |

#[forbid(unsafe_code)]
mod batch;
#[forbid(unsafe_code)]
mod block_cipher;
#[forbid(unsafe_code)]
mod portable;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
mod x86;

pub use block_cipher::{BitslicedAes, BitslicedAes128, BitslicedAes192, BitslicedAes256, Ctr128BE, KeySize};

use crate::engine::BlockEngine;
use crate::parallel::Buffers;
use crate::work::Work;
use crate::{Direction, Error, cbc};
use ::cipher::inout::InOutBuf;
use aes_bitslice_gen::aes::KeySchedule;
use aes_bitslice_gen::basis::Basis;
use aes_bitslice_gen::layout;
use batch::{Block, Functions};
use std::fmt;
use zeroize::Zeroizing;

/// The vector instructions that the bitsliced engine can run on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// 512 lanes; three-input gates are one instruction, `VPTERNLOG`.
    Avx512,
    /// 256 lanes.
    Avx2,
    /// 64 lanes, on every processor.
    Portable,
}

impl Isa {
    /// What this processor has, fastest first.
    pub fn available() -> Vec<Self> {
        [Self::Avx512, Self::Avx2, Self::Portable].into_iter().filter(|isa| isa.functions().is_some()).collect()
    }

    /// The first of [`available`](Self::available): what is used unless something else is asked for.
    pub fn best() -> Self {
        Self::available()[0]
    }

    fn functions(self) -> Option<&'static Functions> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => x86::avx512(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => x86::avx2(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => None,
            Self::Portable => Some(&portable::FUNCTIONS),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "64-bit words",
        })
    }
}

/// A key of any length as planes, and the functions that use it.
#[derive(Clone)]
pub(crate) struct Bitsliced {
    functions: &'static Functions,
    /// Round keys in the order of use, a word of 0 or `!0` a key bit.
    encrypt: Zeroizing<Vec<[u32; 128]>>,
    decrypt: Zeroizing<Vec<[u32; 128]>>,
}

impl Bitsliced {
    /// # Errors
    /// [`Error::IsaUnavailable`] if the processor lacks the instructions.
    ///
    /// # Panics
    /// If the key has not 16, 24 or 32 bytes.
    pub(crate) fn new(key: &[u8], isa: Isa) -> Result<Self, Error> {
        let functions = isa.functions().ok_or(Error::IsaUnavailable { isa })?;
        let planes = |direction| {
            let schedule = KeySchedule::new(key, direction).expect("16, 24 or 32 bytes");
            Zeroizing::new(layout::schedule_planes(&schedule, Basis::STANDARD))
        };
        Ok(Self { functions, encrypt: planes(Direction::Encrypt), decrypt: planes(Direction::Decrypt) })
    }

    fn process(&self, direction: Direction, blocks: InOutBuf<'_, '_, Block>) {
        let keys = match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        };
        (self.functions.ecb)(direction, keys, blocks);
    }
}

impl BlockEngine for Bitsliced {
    fn run(&self, work: Work, data: Buffers<'_>) -> Result<(), Error> {
        match work {
            Work::Ecb(direction) => self.process(direction, data.into_blocks()),
            Work::CbcDecrypt { iv } => {
                cbc::decrypt(&iv, data.into(), |blocks| self.process(Direction::Decrypt, blocks))
            }
            Work::Ctr { counter, skip } => (self.functions.ctr)(&self.encrypt, counter, skip, data.into()),
        }
        Ok(())
    }

    fn runs_on_cores(&self) -> bool {
        true
    }
}
