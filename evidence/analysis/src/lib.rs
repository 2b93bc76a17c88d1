//! Analyses of compiled kernels, without a GPU.
//!
//! | module | idea |
//! |---|---|
//! | [`ptx`] | reads PTX, NVIDIA's assembly for GPUs, into functions of statements |
//! | [`taint`] | finds branches, addresses and times that depend on secrets, in PTX and in machine code |
//! | [`proof`] | proves that PTX computes AES and GHASH, by running it on formal sums of bits |
//!
//! `taint` and `proof` use `ptx`, and neither uses the other.
#![forbid(unsafe_code)]

pub mod proof;
pub mod ptx;
pub mod taint;
