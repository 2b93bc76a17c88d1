//! What threads share state with: what waits for other threads takes it from here, so that a checker of all their orders can stand
//! in for it (`loom/` at the top of the repository).

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread;
