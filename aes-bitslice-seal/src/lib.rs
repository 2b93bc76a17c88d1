//! Files that are encrypted and authenticated.
//!
//! A **sealed file** says what it is: magic, version, how its key was made, and a commitment to the key; then comes a stream in an
//! existing format, **Tink's AES-GCM-HKDF streaming AEAD** (AES-256, segments of 1 MiB, HKDF with SHA-256). The stream alone can be
//! read and written, too, with a Tink keyset as the key.
//!
//! How many files one key may seal is no concern: each has a key of its own, made with 32 random bytes. For single messages with random
//! nonces under one key, GCM is good for 2^32 (SP 800-38D, section 8.3), and XAES-256-GCM, `XaesEncrypt` of the runtime, for 2^80.
//!
//! ```
//! use aes_bitslice_runtime::{Backend, Engine, Key, KeyBits};
//! use aes_bitslice_seal::{Secret, open, seal};
//!
//! let engine = Engine::open(Backend::Cpu)?;
//! let key = Key::generate(KeyBits::Aes256)?;
//! let (mut sealed, mut opened) = (Vec::new(), Vec::new());
//! seal(&engine, Secret::Key(&key), &b"a message"[..], &mut sealed)?;
//! open(&engine, Secret::Key(&key), &sealed[..], &mut opened)?;
//! assert_eq!(opened, b"a message");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `sealed` | sealed files from a reader to a writer |
//! | `sealing` | a file that is being sealed or opened: chunks of its segments in any order, or all of it |
//! | `header` | the header's bytes |
//! | `secret` | what a file is sealed with, and the keys derived from it |
//! | `passphrase` | how a passphrase becomes a key |
//! | `tink` | the stream alone |
//! | `keyset` | Tink's keysets |
//! | `start` | what a file begins with: which of the two formats it has |
//! | `stream` | the stream's segments: their nonces and keys |
//! | `places` | where segments are in the file, and their plaintext in the message |
//! | `chunk` | several segments in one buffer, on their way from a reader to a writer |
//! | `segments` | how they are sealed and opened, at once |
//! | `gpus` | chunks on CUDA GPUs |
//! | `pipeline` | chunks read, worked on by all cores, and written, at the same time; or one after another |
//! | `error` | everything that can go wrong |
//! | [`access`] | who may use a new file: no more users than its source or the file it replaces |
//! | [`naming`] | how it gets its name, once it is complete |
//!
//! No byte of a segment is written before its tag is checked. The output is dropped at the first failure; a call returns when the read in
//! progress has returned.
#![forbid(unsafe_code)]

/// For the command line and the bindings.
#[doc(hidden)]
pub mod access;
mod chunk;
mod error;
#[cfg(feature = "cuda")]
mod gpus;
mod header;
mod keyset;
/// For the command line and the bindings.
#[doc(hidden)]
pub mod naming;
mod passphrase;
mod pipeline;
mod places;
mod sealed;
mod sealing;
mod secret;
mod segments;
mod start;
mod stream;
pub mod tink;

pub use error::Error;
pub use passphrase::PassphraseCost;
pub use places::{Part, Places};
pub use sealed::{message_bytes, open, open_range, seal, seal_with};
pub use sealing::{Opening, Sealing};
pub use secret::Secret;
pub use start::is_sealed;
/// For the command line.
#[doc(hidden)]
pub use start::of_openssl;
