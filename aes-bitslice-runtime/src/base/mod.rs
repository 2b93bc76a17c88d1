//! What everything else speaks of.
//!
//! | file | idea |
//! |---|---|
//! | `error` | everything that can go wrong, each with what to do about it |
//! | `key` | a secret that is wiped and never printed |
//! | `scrubbed` | work that leaves no key on the stack |
//! | `counter` | where a key stream starts |
//! | `nonce` | what is new for every message of GCM |
//! | `tag` | authentication tags, compared in constant time |
//! | `backend` | where to compute, by name |
//! | `sync` | what threads share state with |
//! | `threads` | how many threads share a call's work |

pub mod backend;
pub mod counter;
pub mod error;
pub mod key;
pub mod nonce;
pub(crate) mod scrubbed;
pub(crate) mod sync;
pub mod tag;
pub mod threads;
