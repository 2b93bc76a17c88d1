//! The generated engine on the CPU: AES as a Boolean circuit over bit-planes, one block a lane of a vector.

use crate::engine::BlockEngine;
use crate::{Direction, Error};
use ::cipher::inout::InOutBuf;
use aes_bitslice_gen::aes::{KeySchedule, cipher};
use std::fmt;

/// The vector instructions that the bitsliced engine can run on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// 512 lanes, three-input gates as one instruction (`VPTERNLOG`).
    Avx512,
    /// 256 lanes.
    Avx2,
    /// 64 lanes, on every processor.
    Portable,
}

impl Isa {
    /// What this processor has, best first.
    pub fn available() -> Vec<Isa> {
        vec![Isa::Portable]
    }

    /// The first of [`available`](Self::available).
    pub(crate) fn best() -> Self {
        Self::available()[0]
    }

    pub(crate) fn checked(self) -> Result<Self, Error> {
        if Self::available().contains(&self) { Ok(self) } else { Err(Error::IsaUnavailable { isa: self }) }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Portable => "portable 64-bit words",
        })
    }
}

pub(crate) struct Bitsliced {
    encrypt: KeySchedule,
    decrypt: KeySchedule,
}

impl Bitsliced {
    pub(crate) fn new(key: &[u8], _isa: Isa) -> Self {
        let schedule = |direction| KeySchedule::new(key, direction).expect("16, 24 or 32 bytes");
        Self { encrypt: schedule(Direction::Encrypt), decrypt: schedule(Direction::Decrypt) }
    }
}

impl BlockEngine for Bitsliced {
    fn ecb(&self, direction: Direction, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        let schedule = match direction {
            Direction::Encrypt => &self.encrypt,
            Direction::Decrypt => &self.decrypt,
        };
        let (blocks, _) = data.into_chunks::<::cipher::consts::U16>();
        for mut block in blocks {
            let out = cipher::process(block.get_in().0, schedule, direction);
            block.get_out().0 = out;
        }
        Ok(())
    }

    fn ctr(&self, counter: u128, skip: usize, data: InOutBuf<'_, '_, u8>) -> Result<(), Error> {
        let keystream: Vec<u8> = (0..(skip + data.len()).div_ceil(16) as u128)
            .flat_map(|i| cipher::process(counter.wrapping_add(i).to_be_bytes(), &self.encrypt, Direction::Encrypt))
            .collect();
        let mut data = data;
        let len = data.len();
        data.xor_in2out(&keystream[skip..][..len]);
        Ok(())
    }

    fn runs_on_cores(&self) -> bool {
        true
    }
}
