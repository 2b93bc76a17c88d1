//! A kernel that cannot be printed.

use crate::kernel::spec::KernelSpec;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;

/// A kernel that cannot be printed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoSuchKernel {
    /// The mode has no bitsliced kernel with this strategy in this layout.
    #[error("the mode `{mode}` has no kernel by {layout} with the strategy `{strategy}`")]
    Bitsliced {
        /// The mode.
        mode: Mode,
        /// The strategy.
        strategy: KeyStrategy,
        /// The layout.
        layout: Layout,
    },
    /// The kernel is not printed in OpenCL C.
    #[error("there is no {kernel} in OpenCL C: its tables are laid out for the memory of NVIDIA's GPUs")]
    OpenCl {
        /// The kernel's name.
        kernel: String,
    },
}

impl NoSuchKernel {
    pub(super) fn bitsliced(spec: &KernelSpec) -> Self {
        Self::Bitsliced { mode: spec.mode, strategy: spec.round_keys.strategy(), layout: spec.layout }
    }
}
