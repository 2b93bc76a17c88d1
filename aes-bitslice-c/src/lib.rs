//! The C interface: opaque handles, integer codes, and a message for each thread. `include/aes_bitslice.h` is printed from here by
//! cbindgen, with these comments; the head of it, with what every function asks of its pointers, is in `cbindgen.toml`.
//!
//! | file | idea |
//! |---|---|
//! | `status` | the codes, and which error has which |
//! | `border` | what every function goes through: panics are caught, the message is kept |
//! | `memory` | pointers of a caller, checked, as far as that can be |
//! | `context` | a thread's CUDA context stays what it was |
//! | `about` | versions, messages, random bytes |
//! | `handles` | keys, engines, ciphers |
//! | `host` | operations on host memory |
//! | `authenticated` | the same, of those with a tag |
//! | `batch` | many messages in one call |
//! | `stream` | operations on memory of a GPU, on a stream of the caller's |
//! | `many_keys` | calls under many keys, in host memory and on a stream |
//! | `pending` | what a call on a stream returns, which comes later |
//! | `files` | sealed files |
//!
//! Nothing here decides anything about AES: a function checks pointers and makes one call of the library.
#![allow(clippy::missing_safety_doc, reason = "what holds for all pointers is said once, in the head of the header")]

mod border;
mod context;
mod memory;

// In the order of the header.
pub mod status;

pub mod about;

pub mod handles;

pub mod host;

pub mod authenticated;

pub mod batch;

pub mod stream;

pub mod many_keys;

pub mod pending;

pub mod files;
