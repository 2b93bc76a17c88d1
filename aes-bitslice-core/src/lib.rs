//! The code that the generator and the runtime share: AES by its definitions, the layout of bit-planes, and descriptions of kernels.
//!
//! | module | idea |
//! |---|---|
//! | [`aes`] | FIPS 197 from its definitions: the field, the S-box, the key schedule, the cipher on one block |
//! | [`basis`] | bytes as z = Q x: a basis over GF(2) |
//! | [`column_basis`] | columns of round keys in a basis over GF(2) |
//! | [`ghash`](mod@ghash) | GHASH: the field, and a kernel's tables for a hash key |
//! | [`layout`] | which bit-plane holds which bit, and how many threads share the planes |
//! | [`cmac`](mod@cmac) | batches of CMAC messages, as described to kernels in memory |
//! | [`messages`] | the same for GCM |
//! | [`mode`] | the function that a kernel computes |
//! | [`reference`](mod@reference) | the modes by their definitions, for checks |
//! | [`self_test`] | the known-answer test that a kernel passes before it is used |
//! | [`strategy`] | where a bitsliced kernel keeps its round keys |
//! | [`key_source`] | how a key reaches a kernel, and the words that the kernel is launched with |
//! | [`dialect`] | the languages that kernels are printed in |
//! | [`signature`] | the parameters of an entry point, read from its source |
//! | [`manifest`] | the information needed to launch a kernel, as JSON |
//! | [`hash_manifest`] | the same for a hash kernel |
//! | [`digest`] | SHA-256 in hexadecimal |
//! | [`named`](mod@named) | values with names, written and read |
//! | [`count`](mod@count) | numbers of things in messages |
#![forbid(unsafe_code)]

pub mod aes;
pub mod basis;
pub mod cmac;
pub mod column_basis;
pub mod count;
pub mod dialect;
pub mod digest;
pub mod ghash;
pub mod hash_manifest;
pub mod jobs;
pub mod key_source;
pub mod layout;
pub mod manifest;
pub mod messages;
pub mod mode;
pub mod named;
pub mod reference;
pub mod self_test;
pub mod signature;
pub mod strategy;
