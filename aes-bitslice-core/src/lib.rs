//! The code that the generator and the runtime share: AES by its definitions, the layout of bit-planes, and descriptions of kernels.
//!
//! | module | idea |
//! |---|---|
//! | [`aes`] | FIPS 197 from its definitions: the field, the S-box, the key schedule, the cipher on one block |
//! | [`basis`] | bytes as z = Q x: a basis over GF(2) |
//! | [`column_basis`] | columns of round keys in a basis over GF(2) |
//! | [`ghash`](mod@ghash) | GHASH: the field, and a kernel's tables for a hash key |
//! | [`layout`] | which bit-plane holds which bit, and how many threads share the planes |
//! | [`mode`] | the function that a kernel computes |
//! | [`reference`](mod@reference) | the modes by their definitions, for checks |
//! | [`self_test`] | the known-answer test that a kernel passes before it is used |
//! | [`strategy`] | where a bitsliced kernel keeps its round keys |
//! | [`dialect`] | the languages that kernels are printed in |
//! | `protocol` | how a kernel is launched: [`argument`], [`entry`], [`grid`], [`signature`], [`manifest`], [`key_source`], [`messages`], [`cmac`](mod@cmac), [`order`], [`jobs`] |
//! | [`digest`] | SHA-256 in hexadecimal |
//! | [`named`](mod@named) | values with names, written and read |
//! | [`count`](mod@count) | numbers of things in messages |
//! | [`memory`](mod@memory) | memory for as many values as a caller asks for |
//! | [`sync`](mod@sync) | files that are to be on the disk |
//!
//! With the feature `manifest`, the crate has the modules [`manifest`], [`signature`] and [`digest`], and types that occur in a manifest
//! are read and written by `serde`.
#![forbid(unsafe_code)]

pub mod aes;
pub mod basis;
pub mod column_basis;
pub mod count;
pub mod dialect;
#[cfg(feature = "manifest")]
pub mod digest;
pub mod ghash;
pub mod layout;
pub mod memory;
pub mod mode;
pub mod named;
mod protocol;
pub mod reference;
pub mod self_test;
pub mod strategy;
pub mod sync;

pub use protocol::{argument, cmac, described, entry, grid, jobs, key_source, messages, order};
#[cfg(feature = "manifest")]
pub use protocol::{manifest, signature};
