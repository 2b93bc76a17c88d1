//! Which chunks are done. A thread can wait for all before its own: of several that fail, the first is reported.

use std::collections::BTreeSet;

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The numbers that are done.
#[derive(Default)]
pub struct Done {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All below are done.
    below: u64,
    /// The numbers above that which are done.
    others: BTreeSet<u64>,
    cancelled: bool,
}

impl Done {
    /// `number` is done.
    pub fn add(&self, number: u64) {
        let mut state = self.lock();
        state.others.insert(number);
        let before = state.below;
        while state.others.first() == Some(&state.below) {
            state.others.pop_first();
            state.below += 1;
        }
        if state.below > before {
            self.changed.notify_all();
        }
    }

    /// Waits until all below `number` are done, or it is cancelled.
    pub fn wait_below(&self, number: u64) {
        let is_waiting = |state: &mut State| !state.cancelled && state.below < number;
        drop(self.changed.wait_while(self.lock(), is_waiting).unwrap_or_else(PoisonError::into_inner));
    }

    /// Wakes all waiting threads; from now on none waits.
    pub fn cancel(&self) {
        self.lock().cancelled = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
    fn who_waits_goes_on_when_all_below_are_done_or_it_is_cancelled() {
        for cancelled in [false, true] {
            let done = Done::default();
            let (tell, told) = mpsc::channel();
            done.wait_below(0);
            thread::scope(|scope| {
                let done = &done;
                scope.spawn(move || {
                    done.wait_below(3);
                    tell.send(()).unwrap();
                });
                for number in [2, 4, 0] {
                    done.add(number);
                }
                assert!(told.recv_timeout(Duration::from_millis(50)).is_err(), "1 is not done");
                if cancelled {
                    done.cancel()
                } else {
                    done.add(1)
                }
                let gone_on = told.recv_timeout(Duration::from_secs(60));
                // Whatever went wrong, the thread ends.
                done.cancel();
                gone_on.unwrap();
            });
            let state = done.lock();
            let others = Vec::from_iter(state.others.iter().copied());
            assert_eq!((state.below, others), if cancelled { (1, vec![2, 4]) } else { (3, vec![4]) });
        }
    }
}
