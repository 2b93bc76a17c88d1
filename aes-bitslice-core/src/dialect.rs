//! The languages that kernels are printed in.

crate::named::named_enum! {
    /// A language for kernels.
    #[derive(Default)]
    Dialect, "dialect" {
        /// CUDA C that is also plain C11: the same text runs on a GPU and, for checks, on a CPU.
        #[default]
        Cuda = "cuda",
        /// OpenCL C 1.2, with inline PTX where the compiler is NVIDIA's.
        OpenCl = "opencl",
    }
}

impl Dialect {
    /// The file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Cuda => "cu",
            Self::OpenCl => "cl",
        }
    }
}
