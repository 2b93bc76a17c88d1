//! AES on bit-planes, run: ECB, CBC and CTR (SP 800-38A) on NVIDIA GPUs, on devices behind OpenCL, and on
//! CPUs.
//!
//! ```
//! use aes_bitslice_runtime::{Backend, Counter, CounterMode, Engine, Key};
//!
//! let engine = Engine::open(Backend::Auto)?;
//! let cipher = engine.cipher(&Key::from_hex("2b7e151628aed2a6abf7158809cf4f3c")?)?;
//! let mut data = *b"any number of bytes";
//! cipher.ctr_apply(&Counter::new(CounterMode::Ctr128BE, [0xf0; 16]), 0, &mut data)?;
//! # Ok::<(), aes_bitslice_runtime::Error>(())
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`Key`], [`Counter`] | what a caller brings: a secret, and where the keystream starts |
//! | [`Engine`], [`Cipher`] | a backend that was opened; a key on it, and the calls |
//! | [`HostBuffer`] | host memory that is fast for an engine |
//! | `work`, `parallel` | what a call asks for, cut into parts; its parts over the cores |
//! | `pipeline`, `schedule` | its parts over the slots of devices; which device takes which |
//! | [`submit`] | calls that return at once; which ways to call there are, and from which threads |
//! | `queue` | the threads behind them |
//! | `slots` | how the slots of a device are given out |
//! | `launches` | a call as launches of a kernel, and their arguments |
//! | `known_answer` | what a kernel must answer before its first use |
//! | `sources` | kernels that are compiled at run time, from files or printed |
//! | `cpu` | the `aes` and `ctr` crates, over threads |
//! | `cbc` | CBC on the CPU, over any block cipher |
//! | [`bitsliced`] | the generated engine on vectors of the CPU |
//! | [`cuda`] | the generated kernels on NVIDIA GPUs |
//! | [`opencl`] | the same on devices behind OpenCL |
//! | [`transpose`] | blocks to bit-planes and back, on the host |
//!
//! None of the modes authenticates: whoever can change ciphertext can change plaintext.
// `unsafe` lives in three modules only: the two for devices, and that for vector instructions.
#![deny(unsafe_code)]

pub mod bitsliced;
#[forbid(unsafe_code)]
mod cbc;
#[forbid(unsafe_code)]
mod cipher;
#[forbid(unsafe_code)]
mod counter;
#[forbid(unsafe_code)]
mod cpu;
#[allow(unsafe_code)]
pub mod cuda;
#[forbid(unsafe_code)]
mod engine;
#[forbid(unsafe_code)]
mod error;
#[forbid(unsafe_code)]
mod host_buffer;
#[forbid(unsafe_code)]
mod key;
#[forbid(unsafe_code)]
mod known_answer;
#[forbid(unsafe_code)]
mod launches;
#[allow(unsafe_code)]
pub mod opencl;
#[forbid(unsafe_code)]
mod parallel;
#[forbid(unsafe_code)]
mod pipeline;
#[forbid(unsafe_code)]
mod queue;
#[forbid(unsafe_code)]
mod schedule;
#[forbid(unsafe_code)]
mod slots;
#[forbid(unsafe_code)]
mod sources;
#[forbid(unsafe_code)]
pub mod submit;
#[forbid(unsafe_code)]
pub mod transpose;
#[forbid(unsafe_code)]
mod work;

pub use crate::cipher::Cipher;
pub use aes_bitslice_gen::aes::{Direction, KeyBits};
pub use aes_bitslice_gen::kernel::{BakedStrategy, Design, Mode};
pub use counter::{Counter, CounterMode};
pub use cuda::{Kernels, Shares, Transfers};
pub use engine::{Backend, Engine};
pub use error::Error;
pub use host_buffer::HostBuffer;
pub use key::Key;
pub use submit::{SubmitError, Submitted};
