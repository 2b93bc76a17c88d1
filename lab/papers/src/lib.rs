//! The kernels of the papers' tables, for others to use. This package's program measures them.
#![forbid(unsafe_code)]

pub mod kernels;
