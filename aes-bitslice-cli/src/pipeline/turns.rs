//! Lets threads pass one after the other, in the order of their numbers.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value that only the thread whose turn it is may use.
pub struct Turns<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    /// Whose turn it is, or will be when `value` is back.
    turn: u64,
    cancelled: bool,
    /// `None` while a thread has it, which does not hold the lock meanwhile: it may be blocked for good.
    value: Option<T>,
}

impl<T> Turns<T> {
    /// From turn 0 on.
    pub fn new(value: T) -> Self {
        Turns { state: Mutex::new(State { turn: 0, cancelled: false, value: Some(value) }), changed: Condvar::new() }
    }

    /// Waits for turn `turn`, does `work` and gives the turn to the next; returns `None` if the turns were cancelled first.
    ///
    /// Every turn must be taken, or those after it wait until they are cancelled.
    pub fn pass<R>(&self, turn: u64, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let is_waiting = |state: &mut State<T>| !state.cancelled && (state.turn != turn || state.value.is_none());
        let mut state = self.changed.wait_while(self.lock(), is_waiting).unwrap_or_else(PoisonError::into_inner);
        if state.cancelled {
            return None;
        }
        let mut value = state.value.take()?;
        drop(state);
        let result = work(&mut value);
        let mut state = self.lock();
        (state.value, state.turn) = (Some(value), turn + 1);
        self.changed.notify_all();
        Some(result)
    }

    /// Wakes all waiting threads; from now on none passes.
    pub fn cancel(&self) {
        self.lock().cancelled = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn turns_come_in_order_if_threads_do_not() {
        let turns = Turns::new(Vec::new());
        thread::scope(|scope| {
            for turn in (0..16).rev() {
                let turns = &turns;
                scope.spawn(move || turns.pass(turn, |seen| seen.push(turn)));
            }
        });
        assert_eq!(turns.pass(16, |seen| seen.clone()), Some((0..16).collect()));
    }

    /// One thread is blocked in its turn, another waits for its own: cancelling waits for neither, and wakes the second.
    #[test]
    fn a_turn_that_never_ends_does_not_keep_the_others() {
        let turns = Turns::new(());
        let (unblock, blocked) = mpsc::channel::<()>();
        let (inside, is_inside) = mpsc::channel();
        let (left, has_left) = mpsc::channel();
        thread::scope(|scope| {
            let turns = &turns;
            let first = scope.spawn(move || {
                turns.pass(0, |()| {
                    inside.send(()).unwrap();
                    _ = blocked.recv();
                })
            });
            is_inside.recv().unwrap();
            scope.spawn(move || left.send(turns.pass(1, |()| ())));
            turns.cancel();
            let second = has_left.recv_timeout(Duration::from_secs(60));
            unblock.send(()).unwrap();
            assert_eq!((first.join().unwrap(), second), (Some(()), Ok(None)));
        });
        assert_eq!(turns.pass(1, |()| ()), None);
    }
}
