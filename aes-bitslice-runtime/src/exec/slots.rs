//! Allocation of the slots of a device, whatever drives the device: a bounded number, kept from call to call, some of
//! them reserved for callers that have none.

use crate::base::lock::lock;
use crate::base::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The slots of a device; each holds an `R`.
pub(crate) struct Slots<R> {
    most: usize,
    reserve: usize,
    state: Mutex<State<R>>,
    returned: Condvar,
}

struct State<R> {
    kept: Vec<R>,
    leased: usize,
}

/// A slot that is in use: it goes back on drop.
pub(crate) struct Lease<'s, R> {
    slots: &'s Slots<R>,
    /// `None` if the slot is new. Anything here on drop is kept.
    pub(crate) resources: Option<R>,
}

impl<R> Slots<R> {
    /// At most `most` slots. Only [`take`](Self::take) hands out the last `reserve` of them, so that a large call
    /// leaves some for small ones.
    pub(crate) fn new(most: usize, reserve: usize) -> Self {
        let state = Mutex::new(State { kept: Vec::new(), leased: 0 });
        Self { most, reserve, state, returned: Condvar::new() }
    }

    /// Takes a slot: a kept one that fits, else any kept one, else a new one. Waits while all are in use: a thread that
    /// already has one must not call it.
    pub(crate) fn take(&self, fits: impl Fn(&R) -> bool) -> Lease<'_, R> {
        let mut state = self.lock();
        while state.leased == self.most {
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.lease(state, fits)
    }

    /// Takes a slot without waiting: `None` unless more slots are free than the reserve.
    pub(crate) fn try_take(&self, fits: impl Fn(&R) -> bool) -> Option<Lease<'_, R>> {
        let state = self.lock();
        (state.leased + self.reserve < self.most).then(|| self.lease(state, fits))
    }

    fn lease(&self, mut state: MutexGuard<'_, State<R>>, fits: impl Fn(&R) -> bool) -> Lease<'_, R> {
        state.leased += 1;
        let resources = match state.kept.iter().position(fits) {
            Some(index) => Some(state.kept.swap_remove(index)),
            None => state.kept.pop(),
        };
        Lease { slots: self, resources }
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        lock(&self.state)
    }
}

impl<R> Drop for Lease<'_, R> {
    fn drop(&mut self) {
        let mut state = self.slots.lock();
        state.leased -= 1;
        state.kept.extend(self.resources.take());
        drop(state);
        self.slots.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_bounded_and_some_are_for_those_who_have_none() {
        let slots = Slots::<u32>::new(7, 3);
        let mut taken: Vec<_> = (0..).map_while(|_| slots.try_take(|_| true)).collect();
        assert_eq!(taken.len(), 4);
        taken.extend((0..3).map(|_| slots.take(|_| true)));
        assert!(slots.try_take(|_| true).is_none());
        let had = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                drop(slots.take(|_| true));
                had.store(true, std::sync::atomic::Ordering::SeqCst);
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!had.load(std::sync::atomic::Ordering::SeqCst), "all slots were in use");
            drop(taken);
            waiting.join().unwrap();
        });
    }

    #[test]
    fn what_a_slot_has_is_kept_unless_it_was_taken_out() {
        let slots = Slots::new(4, 0);
        let mut leases: Vec<_> = (0..3).map(|_| slots.take(|_| true)).collect();
        for (number, lease) in leases.iter_mut().enumerate() {
            assert_eq!(lease.resources.replace(number), None);
        }
        leases[1].resources = None;
        drop(leases);
        assert_eq!(slots.lock().kept, [0, 2]);
        assert_eq!(slots.take(|&kept| kept == 0).resources, Some(0), "the one that fits");
        assert!(slots.take(|&kept| kept == 1).resources.is_some(), "or any");
        let state = slots.lock();
        assert_eq!((state.kept.len(), state.leased), (2, 0));
    }
}
