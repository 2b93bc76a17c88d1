//! Loom's locks and threads under the standard library's names, with what loom's condition variable lacks.

use std::cell::Cell;
use std::sync::LockResult;
use std::time::Duration;

pub use loom::sync::{Arc, Mutex, MutexGuard};
pub use loom::thread;
pub use std::sync::PoisonError;

thread_local! {
    // Loom runs all threads of a model on one.
    static HAS_ENDED: Cell<bool> = const { Cell::new(false) };
}

/// Starts time, which stands still: a wait with a limit is like one without.
pub fn start_of_time() {
    HAS_ENDED.set(false);
}

/// From now on a wait with a limit ends when it is woken, and one that begins ends at once.
pub fn end_of_time() {
    HAS_ENDED.set(true);
}

/// A condition variable.
pub struct Condvar(loom::sync::Condvar);

/// Whether a wait ended before it was woken.
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub fn new() -> Self {
        Self(loom::sync::Condvar::new())
    }

    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.0.wait(guard)
    }

    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.0.wait(guard)?;
        }
        Ok(guard)
    }

    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        if HAS_ENDED.get() {
            return Ok((guard, WaitTimeoutResult(true)));
        }
        let guard = self
            .0
            .wait(guard)
            .map_err(|poisoned| PoisonError::new((poisoned.into_inner(), WaitTimeoutResult(false))))?;
        Ok((guard, WaitTimeoutResult(HAS_ENDED.get())))
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}
