//! A value of which each process has its own. A child of `fork` has none of its parent's threads, and a lock that one of them held stays
//! locked there, so the child begins with a new value and leaves the parent's alone.

use std::process;
use std::sync::OnceLock;

/// The value of this process, after those of the processes it descends from.
pub(crate) struct PerProcess<T>(OnceLock<Box<Of<T>>>);

struct Of<T> {
    process: u32,
    value: T,
    child: PerProcess<T>,
}

impl<T> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The value of this process, made by `new` if there is none. Several threads may make one at the same time; the first is kept.
    pub(crate) fn get(&self, new: impl Fn() -> T) -> &T {
        let (process, mut place) = (process::id(), self);
        loop {
            match place.0.get() {
                Some(of) if of.process == process => return &of.value,
                Some(of) => place = &of.child,
                // Made before the place is locked: a fork by another thread meanwhile finds it empty.
                None => drop(place.0.set(Box::new(Of { process, value: new(), child: Self::new() }))),
            }
        }
    }
}
