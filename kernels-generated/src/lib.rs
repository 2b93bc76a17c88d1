//! Kernels for run-time keys, written by `cargo xtask gen`, and the little that they are written against.
//!
//! The features `cuda` and `opencl` hold the kernels for GPUs; without them, what is left is the cipher for the CPU.
#![forbid(unsafe_code)]

use std::ops::{BitAnd, BitOr, BitXor, Not};

/// A word whose bits are lanes: bitwise operators act on all of them at once.
pub trait Lanes:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The word with every lane set as in `mask`, which is 0 or `!0`.
    fn splat(mask: u32) -> Self;

    /// A function of three inputs by its truth table: bit `4a + 2b + c` is the output for `a, b, c`, as in AVX-512's
    /// `VPTERNLOG`, whose intrinsic wants it as `i32`.
    ///
    /// Made of two-input operators here, which the compiler chooses by `TABLE`; a word that has an instruction for
    /// it overrides this.
    #[inline(always)]
    fn lut3<const TABLE: i32>(a: Self, b: Self, c: Self) -> Self {
        match TABLE {
            0x96 => a ^ b ^ c,
            _ => {
                let minterm = |i: u32, word: Self| if TABLE >> i & 1 == 1 { word } else { Self::splat(0) };
                let without_a = minterm(0, !b & !c) | minterm(1, !b & c) | minterm(2, b & !c) | minterm(3, b & c);
                let with_a = minterm(4, !b & !c) | minterm(5, !b & c) | minterm(6, b & !c) | minterm(7, b & c);
                (!a & without_a) | (a & with_a)
            }
        }
    }
}

impl Lanes for u32 {
    #[inline(always)]
    fn splat(mask: u32) -> Self {
        mask
    }
}

impl Lanes for u64 {
    #[inline(always)]
    fn splat(mask: u32) -> Self {
        u64::from(mask) << 32 | u64::from(mask)
    }
}

/// A kernel that takes its round keys at launch, as source and compiled.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// What must be known to launch it: the JSON of `aes_bitslice_core::manifest::Manifest`.
    pub manifest: &'static str,
    /// CUDA C.
    pub source: &'static str,
    /// PTX for compute capability 7.5, which the driver compiles for that and all later ones.
    pub ptx: &'static str,
    /// Machine code by architecture, such as `sm_90`.
    pub cubins: &'static [(&'static str, &'static [u8])],
}

/// A kernel of a hash, as source and compiled.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub struct HashKernel {
    /// Its name.
    pub name: &'static str,
    /// What must be known to launch it: the JSON of `aes_bitslice_core::manifest::Manifest<Hash>`.
    pub manifest: &'static str,
    /// CUDA C.
    pub source: &'static str,
    /// PTX for the first compute capability that the manifest names, which the driver compiles for that and all later ones, where
    /// they have its instructions.
    pub ptx: Option<&'static str>,
    /// Machine code by architecture, such as `sm_90a`.
    pub cubins: &'static [(&'static str, &'static [u8])],
}

/// A kernel for OpenCL, which takes its keys at launch: as source, which is compiled where it runs.
#[cfg(feature = "opencl")]
#[derive(Debug)]
pub struct OpenClKernel {
    /// Its name.
    pub name: &'static str,
    /// What must be known to launch it: the JSON of `aes_bitslice_core::manifest::Manifest`, of a hash that of
    /// `aes_bitslice_core::manifest::Manifest<Hash>`.
    pub manifest: &'static str,
    /// OpenCL C 1.2.
    pub source: &'static str,
}

/// A kernel with a key in it that everybody knows, for CUDA: as source, to be read, and to be tried with an engine's `cipher_of`.
#[cfg(feature = "cuda")]
#[derive(Debug)]
pub struct BakedKernel {
    /// Its name.
    pub name: &'static str,
    /// What must be known to launch it: the JSON of `aes_bitslice_core::manifest::Manifest`.
    pub manifest: &'static str,
    /// CUDA C.
    pub source: &'static str,
}

#[cfg(feature = "cuda")]
#[rustfmt::skip]
mod cuda;
#[cfg(feature = "cuda")]
#[rustfmt::skip]
mod published;
#[cfg(feature = "opencl")]
#[rustfmt::skip]
mod opencl;

#[cfg(feature = "cuda")]
pub use cuda::{HASHES, KERNELS};
#[cfg(feature = "opencl")]
pub use opencl::{OPENCL_HASHES, OPENCL_KERNELS};
#[cfg(feature = "cuda")]
pub use published::PUBLISHED_KERNELS;

/// The cipher for the CPU, over any word with [`Lanes`].
///
/// Plane `8 * j + b` of a state holds bit `b` (0 = least significant) of byte `j` of every block, one block a lane;
/// round keys come as planes too, in the order of use. No branch and no index depends on either.
pub mod rust {
    #[rustfmt::skip]
    pub mod lut3;
    #[rustfmt::skip]
    pub mod two_input;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookup_tables_of_operators() {
        // The three inputs in all eight combinations, combination `i` in lane `i`: the result is the table itself.
        fn check<const TABLE: i32>() {
            assert_eq!(u32::lut3::<TABLE>(0xf0, 0xcc, 0xaa) & 0xff, TABLE as u32, "{TABLE:#x}");
            assert_eq!(u64::lut3::<TABLE>(0xf0, 0xcc, 0xaa) & 0xff, TABLE as u64, "{TABLE:#x}");
        }
        // All 256 tables.
        macro_rules! check_rows { ($($high:literal)*) => { $(
            check::<{ $high << 4 }>(); check::<{ $high << 4 | 1 }>(); check::<{ $high << 4 | 2 }>();
            check::<{ $high << 4 | 3 }>(); check::<{ $high << 4 | 4 }>(); check::<{ $high << 4 | 5 }>();
            check::<{ $high << 4 | 6 }>(); check::<{ $high << 4 | 7 }>(); check::<{ $high << 4 | 8 }>();
            check::<{ $high << 4 | 9 }>(); check::<{ $high << 4 | 10 }>(); check::<{ $high << 4 | 11 }>();
            check::<{ $high << 4 | 12 }>(); check::<{ $high << 4 | 13 }>(); check::<{ $high << 4 | 14 }>();
            check::<{ $high << 4 | 15 }>();
        )* } }
        check_rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    }

    #[test]
    fn splats() {
        assert_eq!([u32::splat(0), u32::splat(!0)], [0, !0]);
        assert_eq!([u64::splat(0), u64::splat(!0)], [0, !0]);
    }
}
