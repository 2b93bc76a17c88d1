//! The `aes` and `ctr` crates: what a caller should get where there is no GPU, and what is serial wherever there is one.
//!
//! | file | idea |
//! |---|---|
//! | `key` | a key on the CPU |
//! | `instructions` | what the processor has for AES |

pub(crate) mod instructions;
pub(crate) mod key;
