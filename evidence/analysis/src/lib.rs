//! Analyses of compiled kernels, without a GPU.
//!
//! | module | idea |
//! |---|---|
//! | [`ptx`] | reads PTX, NVIDIA's assembly for GPUs, into functions of statements |
//! | [`sass`] | finds the disassembler of machine code, and reads what it prints |
//! | [`taint`] | finds branches, addresses and times that depend on secrets, in PTX and in machine code |
//! | [`proof`] | proves that PTX and machine code compute AES and GHASH, by running them on formal sums of bits |
//!
//! `taint` and `proof` use `ptx` and `sass`, and neither uses the other.
#![forbid(unsafe_code)]

pub mod proof;
pub mod ptx;
pub mod sass;
pub mod taint;
