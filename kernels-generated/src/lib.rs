//! Kernels for run-time keys, written by `cargo xtask gen`.
#![forbid(unsafe_code)]

/// A kernel for NVIDIA GPUs, as stored.
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its manifest, JSON.
    pub manifest: &'static str,
    /// Its source, CUDA C.
    pub source: &'static str,
    /// Its PTX.
    pub ptx: &'static str,
    /// Machine code by architecture, such as `sm_90`.
    pub cubins: &'static [(&'static str, &'static [u8])],
}

/// All of them.
pub static KERNELS: &[Kernel] = &[];
