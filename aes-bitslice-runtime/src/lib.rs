//! AES on bit-planes, run: on NVIDIA GPUs, on devices behind OpenCL, and on CPUs.
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
//! What is done with data is a value, an [`Operation`], and each kind of memory has one call for those that it has:
//!
//! | the data is in | the call |
//! |---|---|
//! | host memory | [`Cipher::run`], [`Cipher::submit`] |
//! | memory of a CUDA GPU | [`cuda::DeviceCipher::run`], and [`run_with_output`](cuda::DeviceCipher::run_with_output) for what returns a value |
//! | memory sharded over several of them | [`cuda::ShardedCipher::run`] |
//! | host memory, or that of a CUDA GPU, under many keys | [`Engine::run_jobs`], [`Engine::device_jobs`], with [`Jobs`] or [`EachKey`] |
//! | OpenCL buffers | [`opencl::BufferCipher::run`] |
//!
//! Each folder uses those below it, and none above:
//!
//! | folder | idea |
//! |---|---|
//! | `api` | what a caller has: engines, ciphers, calls |
//! | `backend` | where operations are done: a folder for each |
//! | `exec` | how calls are carried out, whatever the operation and the backend |
//! | `op` | operations: one file is one operation |
//! | `base` | errors, keys, counters, names of backends |
//!
//! Features: `cuda` and `opencl` (both on unless asked otherwise) have those backends; `bake` has the generator, which prints kernels
//! with a key baked in at run time. Without them the CPU remains.
//!
//! To encrypt, take [`GcmEncrypt`], which authenticates. The raw modes, ECB, CBC, CTR and XTS, are for interoperating: if
//! somebody changes ciphertext, plaintext changes and nothing tells.
// `unsafe` lives in three modules only: those for devices, and that for vector instructions.
#![deny(unsafe_code)]
// What only devices use is there in every build, and checked in every build.
#![cfg_attr(not(all(feature = "cuda", feature = "opencl")), allow(dead_code))]

#[forbid(unsafe_code)]
mod api;
mod backend;
#[forbid(unsafe_code)]
mod base;
#[forbid(unsafe_code)]
mod exec;
#[forbid(unsafe_code)]
mod op;

pub use aes_bitslice_core::aes::{Direction, KeyBits};
pub use aes_bitslice_core::manifest::{Manifest, Printed};
pub use aes_bitslice_core::mode::Mode;
pub use aes_bitslice_core::named::UnknownName;
pub use aes_bitslice_core::strategy::BakedStrategy;
pub use api::cipher::Cipher;
pub use api::engine::Engine;
pub use api::host_buffer::HostBuffer;
pub use api::rng::KeystreamRng;
pub use api::submit::{self, SubmitError, Submitted};
pub use backend::bitsliced::{self, transpose};
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
pub use base::scrubbed::{DERIVED, scrubbed};
pub use base::tag::Tag;
pub use base::threads::threads;
#[doc(hidden)]
pub use exec::at_once::at_once;
pub use exec::choice::{Call, Choice, Kernels};
pub use exec::transfers::Transfers;
pub use op::names::*;
