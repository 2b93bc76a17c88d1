//! The C interface: opaque handles, integer codes, and one message per thread. cbindgen generates `include/aes_bitslice.h` from here, with
//! these comments; its introduction, with the rules for pointers of all functions, is in `cbindgen.toml`.
//!
//! | file | idea |
//! |---|---|
//! | `status` | the codes, and the code of each error |
//! | `border` | the wrapper of every function: catches panics, keeps the message |
//! | `memory` | the caller's pointers, checked as far as possible |
//! | `context` | keeps a thread's CUDA context as it was |
//! | `about` | versions, messages, threads, random bytes |
//! | `handles` | keys, engines, ciphers |
//! | `operation` | an operation as a value: what the caller says, as the library's type |
//! | `batch` | many messages: what the caller says, in the library's types |
//! | `outcome` | what a call returns beside its data |
//! | `run` | the calls of an operation: on host memory, and on GPU memory, on the caller's stream |
//! | `described` | the call on messages that arrays in GPU memory describe |
//! | `many_keys` | the calls under many keys, in the same two ways |
//! | `under_keys` | the calls on messages of GCM under keys of their own, in the same two ways |
//! | `layout` | the call on jobs and messages that were described to a GPU before |
//! | `pending` | the result of a call on a stream, which comes later |
//! | `files` | sealed data: in files, in memory, and through functions |
//!
//! Nothing here decides anything about AES: a function checks pointers and calls the library once.
#![allow(clippy::missing_safety_doc, reason = "what holds for all pointers is said once, in the head of the header")]

mod border;
mod context;
mod memory;

// In the order of the header.
pub mod status;

pub mod about;

pub mod handles;

pub mod operation;

pub mod batch;

pub mod outcome;

pub mod run;

pub mod described;

pub mod many_keys;

pub mod under_keys;

pub mod layout;

pub mod pending;

pub mod files;
