//! The sets of instructions that AES on a core can run on: which the processor has, and the kernel of each.

#[cfg(target_arch = "x86_64")]
use crate::cpu::aesni::AesNi;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
use crate::cpu::armv8::Armv8;
use crate::cpu::kernel::Kernel;
#[cfg(target_arch = "x86_64")]
use crate::cpu::vaes256::Vaes256;
#[cfg(target_arch = "x86_64")]
use crate::cpu::vaes512::Vaes512;
use std::fmt;
use std::sync::OnceLock;

/// The instructions that AES on a core can run on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Instructions {
    /// AVX-512, VAES and VPCLMULQDQ: four blocks in a vector.
    Vaes512,
    /// AVX2, VAES and VPCLMULQDQ: two blocks in a vector.
    Vaes256,
    /// AES-NI and PCLMULQDQ.
    AesNi,
    /// AES, PMULL and SHA3 of Armv8.
    Armv8Sha3,
    /// AES and PMULL of Armv8.
    Armv8,
    /// The crate `aes`, which is software in constant time where it finds no instructions itself, and GHASH by multiplications of integers.
    Portable,
}

impl Instructions {
    /// Those that this processor has, fastest first.
    pub fn available() -> Vec<Self> {
        let all = [Self::Vaes512, Self::Vaes256, Self::AesNi, Self::Armv8Sha3, Self::Armv8, Self::Portable];
        all.into_iter().filter(|&set| set == Self::Portable || set.kernel().is_some()).collect()
    }

    /// The first of [`available`](Self::available), used unless another is requested.
    pub fn best() -> Self {
        static BEST: OnceLock<Instructions> = OnceLock::new();
        *BEST.get_or_init(|| Self::available()[0])
    }

    /// The maximum number of bytes of a call that one core performs alone: what it does in some 100 microseconds. Cores that sleep take half
    /// of that to wake up.
    pub(crate) fn alone(self) -> usize {
        match self {
            Self::Vaes512 | Self::Vaes256 => 1 << 20,
            Self::AesNi | Self::Armv8Sha3 | Self::Armv8 => 512 << 10,
            Self::Portable => 256 << 10,
        }
    }

    /// The kernel for them, if the processor has them; `None` for software.
    pub(crate) fn kernel(self) -> Option<&'static dyn Kernel> {
        /// A value without bytes: nothing is allocated.
        #[cfg(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")))]
        fn forever<K: Kernel + 'static>(kernel: K) -> &'static dyn Kernel {
            Box::leak(Box::new(kernel))
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Vaes512 => Vaes512::detect().map(forever),
            #[cfg(target_arch = "x86_64")]
            Self::Vaes256 => Vaes256::detect().map(forever),
            #[cfg(target_arch = "x86_64")]
            Self::AesNi => AesNi::detect().map(forever),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Armv8Sha3 => Armv8::<true>::detect().map(forever),
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            Self::Armv8 => Armv8::<false>::detect().map(forever),
            _ => None,
        }
    }
}

impl fmt::Display for Instructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vaes512 => "VAES-512",
            Self::Vaes256 => "VAES-256",
            Self::AesNi => "AES-NI",
            Self::Armv8Sha3 => "Armv8 AES with SHA3",
            Self::Armv8 => "Armv8 AES",
            Self::Portable => "the crate aes",
        })
    }
}
