//! Basic types that everything else uses.
//!
//! | file | idea |
//! |---|---|
//! | `error` | everything that can go wrong, each error with a remedy |
//! | `key` | a secret that is wiped and never printed |
//! | `scrubbed` | work that leaves no key on the stack |
//! | `counter` | where a key stream starts |
//! | `nonce` | the value that is new for every GCM message |
//! | `tag` | authentication tags, compared in constant time |
//! | `backend` | the backends, by name |
//! | `sync` | primitives for state shared between threads |
//! | `lock` | locking a mutex, whoever panicked |
//! | `own_thread` | the threads that the library starts |
//! | `per_process` | a value of which each process has its own |
//! | `threads` | the threads that share a call's work |
//! | `stop` | stopping a call from another thread |

pub mod backend;
pub mod counter;
pub mod error;
pub mod key;
pub(crate) mod lock;
pub mod nonce;
pub mod own_thread;
pub(crate) mod per_process;
pub(crate) mod scrubbed;
pub mod stop;
pub(crate) mod sync;
pub mod tag;
pub mod threads;
