//! The vector instructions that the bitsliced engine can run on.

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::cpu::bitsliced::arm;
use crate::cpu::bitsliced::batch::Functions;
use crate::cpu::bitsliced::portable;
#[cfg(target_arch = "x86_64")]
use crate::cpu::bitsliced::x86;
use std::fmt;

/// The vector instructions that the bitsliced engine can run on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Isa {
    /// 512 lanes; three-input gates are one instruction, `VPTERNLOG`.
    Avx512,
    /// 256 lanes.
    Avx2,
    /// 128 lanes, on Arm.
    Neon,
    /// 64 lanes, on every processor.
    Portable,
}

impl Isa {
    /// The instructions that this processor has, fastest first.
    pub fn available() -> Vec<Self> {
        let all = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];
        all.into_iter().filter(|isa| isa.functions().is_some()).collect()
    }

    /// The first of [`available`](Self::available), used unless another is requested.
    pub fn best() -> Self {
        Self::available()[0]
    }

    pub(super) fn functions(self) -> Option<&'static Functions> {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => x86::avx512(),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => x86::avx2(),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Neon => arm::neon(),
            Self::Portable => Some(&portable::FUNCTIONS),
            _ => None,
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Neon => "Neon",
            Self::Portable => "64-bit words",
        })
    }
}
