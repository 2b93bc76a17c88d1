//! What the papers' tables are made of that others can use: the kernels. The program of this package measures them.
#![forbid(unsafe_code)]

pub mod kernels;
