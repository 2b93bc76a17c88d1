//! Kernels as the generator prints them.

use aes_bitslice_core::dialect::Dialect;
use aes_bitslice_core::manifest::Printed;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_gen::emit::{cuda, opencl};
use aes_bitslice_gen::kernel::Design;

/// The modes that have every kind of kernel. Others have some.
pub const COMPLETE: [Mode; 4] = [Mode::EcbEncrypt, Mode::EcbDecrypt, Mode::Ctr, Mode::CbcDecrypt];

/// A kernel as it is printed; `None` if its mode has no such kernel.
///
/// # Panics
/// If a mode lacks a kernel that should have every kind of it.
pub fn print(design: impl Into<Design>, dialect: Dialect) -> Option<Printed> {
    let design = design.into();
    let printed = match dialect {
        Dialect::Cuda => cuda::print(&design, "a test"),
        Dialect::OpenCl => opencl::print(&design, "a test"),
    };
    match printed {
        Ok(printed) => Some(printed),
        Err(e) => {
            assert!(!COMPLETE.contains(&design.mode()), "{e}");
            None
        }
    }
}
