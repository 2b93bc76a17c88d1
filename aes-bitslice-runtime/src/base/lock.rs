//! Locking a mutex whose state is whole at every moment, and so also after a panic; and a value that is made once, which may fail.

use crate::base::sync::{Mutex, MutexGuard, PoisonError};
use std::sync::OnceLock;

/// Locks a mutex, whoever panicked while it was locked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value in its place, made if there is none.
pub(crate) fn made_once<T, E>(place: &OnceLock<T>, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
    match place.get() {
        Some(value) => Ok(value),
        None => make().map(|value| place.get_or_init(|| value)),
    }
}
