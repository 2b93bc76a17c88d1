//! Kernels for run-time keys, written by `cargo xtask gen`.
#![forbid(unsafe_code)]
