//! A value of which each process has its own. A child of `fork` has none of its parent's threads, and a lock that one of them held stays
//! locked there, so the child begins with a new value and leaves the parent's alone.
//!
//! Three rare cases are not covered. If another thread of the parent is storing the parent's value at the moment of the fork, which takes a
//! few instructions, the child waits for ever. So does a child of which the parent was starting or ending a thread at that moment: Rust's
//! standard library locks a list meanwhile. And a child with the process number of an ancestor, which has ended, takes that ancestor's
//! value, such as a pool without threads, for which it waits for ever.

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
                // Made before the place is locked: a fork by another thread while it is made finds the place empty.
                None => drop(place.0.set(Box::new(Of { process, value: new(), child: Self::new() }))),
            }
        }
    }
}
