//! Synchronization of threads: imported from here, so that a checker of all their orders can stand in for it (`evidence/loom`, at the top of the
//! repository).

pub use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
