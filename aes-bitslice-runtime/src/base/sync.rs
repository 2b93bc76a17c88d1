//! Primitives for state shared between threads. Code that waits for other threads takes them from here, so that a checker of all thread
//! interleavings can replace them (`evidence/loom`, at the top of the repository).

pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread;
