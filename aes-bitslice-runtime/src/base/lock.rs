//! Locking a mutex whose state is whole at every moment, and so also after a panic.

use crate::base::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whoever panicked while it was locked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
