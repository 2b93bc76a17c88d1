//! The languages that kernels are printed in.

use serde::{Deserialize, Serialize};

/// A language for kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// CUDA C that is also plain C11: the same text runs on a GPU and, for checks, on a CPU.
    #[default]
    Cuda,
    /// OpenCL C 1.2, with inline PTX where the compiler is NVIDIA's.
    #[serde(rename = "opencl")]
    OpenCl,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 2] = [Self::Cuda, Self::OpenCl];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::OpenCl => "opencl",
        }
    }

    /// The file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Cuda => "cu",
            Self::OpenCl => "cl",
        }
    }
}

crate::named!(Dialect, "dialect");
