//! The languages that kernels are printed in. What differs between them is a page in front of the text: address spaces,
//! indices of threads, barriers, how data is found, how words go from thread to thread, how a LUT3 is spelt.

use super::lut3;
use crate::kernel::named;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A language for kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// CUDA C, which is plain C11 too: the same text runs on a GPU and, to be checked, on a CPU.
    #[default]
    Cuda,
    /// OpenCL C 1.2, with inline PTX where the compiler is NVIDIA's.
    #[serde(rename = "opencl")]
    OpenCl,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Cuda, Self::OpenCl];

    /// The name on command lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::OpenCl => "opencl",
        }
    }

    /// How the names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Cuda => "cu",
            Self::OpenCl => "cl",
        }
    }

    /// The page in front of a text.
    pub(super) fn page(self, text: &str) -> String {
        let common = include_str!("dialect/common.h");
        match self {
            Self::Cuda => [include_str!("dialect/cuda.h"), common].concat(),
            Self::OpenCl => {
                let mut page = String::from(include_str!("dialect/opencl.h"));
                for table in 0..=255 {
                    // Whatever else ends like that costs a definition that nobody uses.
                    if text.contains(&format!(", {table:#04x})")) {
                        let _ = writeln!(page, "DEFINE_LUT3({table:#04x}, {})", lut3::expression(table));
                    }
                }
                page + common
            }
        }
    }
}

named!(Dialect, "dialect");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_have_the_names_of_command_lines() {
        for dialect in Dialect::ALL {
            assert_eq!(serde_json::to_string(&dialect).unwrap(), format!("\"{dialect}\""));
            assert_eq!(dialect.name().parse(), Ok(dialect));
        }
    }
}
