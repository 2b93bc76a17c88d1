//! How a kernel is launched: what printers, checks, proofs and drivers of devices agree on. An entry point or an argument is added here and
//! in the templates of kernels; everything else iterates over these lists, or does not compile without it.
//!
//! | module | idea |
//! |---|---|
//! | [`argument`] | what a launch gives a kernel, by name |
//! | [`entry`] | the entry points that kernels have, and the arguments of each |
//! | [`grid`] | the size of a launch |
//! | [`signature`] | the parameters of an entry point, read from its source |
//! | [`manifest`] | the information needed to launch a kernel, as JSON |
//! | [`key_source`] | how a key reaches a kernel, and the words that the kernel is launched with |
//! | [`messages`] | batches of GCM messages, as described to kernels in memory |
//! | [`described`] | batches of GCM messages, as arrays in device memory describe them to kernels |
//! | [`cmac`] | batches of CMAC messages, as described to kernels in memory |
//! | [`order`] | the order in which messages of a batch are processed side by side |
//! | [`jobs`] | many keys at a time, as described to kernels in memory |

pub mod argument;
pub mod cmac;
pub mod described;
pub mod entry;
pub mod grid;
pub mod jobs;
pub mod key_source;
#[cfg(feature = "manifest")]
pub mod manifest;
pub mod messages;
pub mod order;
#[cfg(feature = "manifest")]
pub mod signature;
