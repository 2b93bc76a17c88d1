//! Runs bitsliced AES on NVIDIA GPUs, on OpenCL devices, and on CPUs.
//!
//! ```
//! use aes_bitslice_runtime::{Backend, Engine, GcmDecrypt, GcmEncrypt, Key, KeyBits, Nonce};
//!
//! let cipher = Engine::open(Backend::Auto)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
//! let nonce = Nonce::random()?; // a new one for every message, kept with it
//! let mut message = *b"any number of bytes";
//! let tag = cipher.run(GcmEncrypt::new(&nonce, b"a header"), &mut message)?;
//! cipher.run(GcmDecrypt::new(&nonce, b"a header", &tag), &mut message)?;
//! # Ok::<(), aes_bitslice_runtime::Error>(())
//! ```
//!
//! An [`Operation`] is a value that says how to process data. Each kind of memory has one call for the operations that
//! it supports:
//!
//! | the data is in | the call |
//! |---|---|
//! | host memory | [`Cipher::run`], [`Cipher::submit`] |
//! | memory of a CUDA GPU | [`cuda::DeviceCipher::run`], or [`run_with_output`](cuda::DeviceCipher::run_with_output) for a returned value |
//! | memory sharded over several CUDA GPUs | [`cuda::ShardedCipher::run`] |
//! | host memory or memory of a CUDA GPU, under many keys | [`Engine::under_own_keys`] as a cipher, with [`Jobs`] or [`GcmJobs`]; [`Engine::run_each_key`], [`cuda::DeviceCipher::run_each_key`]; [`cuda::JobLayout`] and [`cuda::GcmJobLayout`] for keys in its memory |
//! | OpenCL buffers | [`opencl::BufferCipher::run`] |
//!
//! Each folder uses only the folders below it in this table:
//!
//! | folder | idea |
//! |---|---|
//! | `api` | the caller's types: engines, ciphers, calls |
//! | `backend` | where operations run: a folder for each backend |
//! | `exec` | how calls are executed, independent of the operation and the backend |
//! | `op` | operations: one file is one operation |
//! | `cpu` | AES and GHASH on a core of the CPU |
//! | `base` | errors, keys, counters, names of backends |
//!
//! Features: `cuda` and `opencl` (both on by default) add those backends; `bake` adds the generator, which prints kernels with a key baked
//! in at run time. Without them only the CPU remains.
//!
//! To encrypt, use [`GcmEncrypt`], which authenticates. The raw modes, ECB, CBC, CTR and XTS, are for interoperability: if the ciphertext
//! is modified, the plaintext changes undetected.
// `unsafe` is confined to four modules of `backend`, the three for devices and that for writes past the caches, and to the instructions
// in `cpu`.
#![deny(unsafe_code)]
// Code that only devices use is compiled, and thus checked, in every build. What it is documented with may link to what
// is not there.
#![cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code, rustdoc::broken_intra_doc_links))]

#[forbid(unsafe_code)]
mod api;
mod backend;
#[forbid(unsafe_code)]
mod base;
mod cpu;
#[forbid(unsafe_code)]
mod exec;
#[forbid(unsafe_code)]
mod op;

pub use aes_bitslice_core::aes::{Direction, KeyBits};
#[cfg(feature = "manifest")]
pub use aes_bitslice_core::manifest::{Manifest, Printed};
pub use aes_bitslice_core::mode::Mode;
pub use aes_bitslice_core::named::UnknownName;
#[cfg(feature = "aead")]
pub use api::aead;
pub use api::cipher::Cipher;
pub use api::engine::Engine;
pub use api::host_buffer::HostBuffer;
#[cfg(feature = "rand_core")]
pub use api::rng::KeystreamRng;
pub use api::submit::{self, SubmitError, Submitted};
#[cfg(feature = "cuda")]
pub use backend::cuda;
#[cfg(feature = "opencl")]
pub use backend::opencl;
pub use base::backend::Backend;
pub use base::counter::{Counter, CounterMode};
pub use base::error::Error;
pub use base::key::Key;
pub use base::nonce::Nonce;
#[doc(hidden)]
pub use base::own_thread::own_thread;
#[doc(hidden)]
pub use base::scrubbed::{DERIVED, scrubbed};
pub use base::stop::Stop;
pub use base::tag::Tag;
#[doc(hidden)]
pub use base::threads::divided;
pub use base::threads::{set_threads, threads};
pub use cpu::bitsliced::{self, transpose};
#[doc(hidden)]
pub use cpu::instructions::Instructions;
#[doc(hidden)]
pub use exec::at_once::at_once;
pub use exec::choice::{Call, Choice, Kernels};
pub use exec::transfers::Transfers;
pub use op::names::*;
