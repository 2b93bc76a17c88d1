//! Stopping calls on host memory that take long, from another thread than the one that makes them.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    /// What may stop the calls that this thread makes.
    static CURRENT: RefCell<Stop> = const { RefCell::new(NOTHING) };
}

/// Stops nothing.
const NOTHING: Stop = Stop(None);

/// Sets what may stop the calls that this thread makes; returns what could before. A thread that is ending has no place for it any more:
/// nothing stops the calls that it makes then, such as those of destructors.
fn replaced_by(stop: Stop) -> Stop {
    CURRENT.try_with(|current| current.replace(stop)).unwrap_or(NOTHING)
}

/// Stops the calls that are made [during](Self::during) some work. Clones stop the same calls.
///
/// ```
/// use aes_bitslice_runtime::{Backend, CbcEncrypt, Engine, Error, Key, KeyBits, Stop};
/// use std::thread;
///
/// let cipher = Engine::open(Backend::Cpu)?.cipher(&Key::generate(KeyBits::Aes256)?)?;
/// let (stop, mut data) = (Stop::new(), vec![1; 1 << 20]);
/// let outcome = thread::scope(|scope| {
///     let call = scope.spawn(|| stop.during(|| cipher.run(CbcEncrypt::new(&[7; 16]), &mut data)));
///     stop.now(); // such as when somebody presses Ctrl-C
///     call.join().unwrap()
/// });
/// match outcome {
///     Ok(()) => println!("the call was complete by then"),
///     Err(error) => assert!(matches!(error, Error::Stopped) && data == vec![0; 1 << 20]),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stop(Option<Arc<AtomicBool>>);

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// Stops nothing yet.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Stops the calls, for good: each fails with [`Error::Stopped`](crate::Error::Stopped), and its output is cleared. Every core first ends
    /// the chunk or the message that it is at, and a device those that it was given. A call that one core does in a moment, on at most 256
    /// KiB, is completed.
    pub fn now(&self) {
        self.0.iter().for_each(|stop| stop.store(true, Ordering::Relaxed));
    }

    /// Does `work`, and may stop the calls of [`Cipher::run`](crate::Cipher::run) and
    /// [`Engine::run_each_key`](crate::Engine::run_each_key) that this thread makes meanwhile. Within work that another one may stop, this one
    /// takes its place. In a destructor of a thread's own values (`thread_local`), nothing stops calls.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        /// The one before, also after a panic.
        struct Before(Stop);

        impl Drop for Before {
            fn drop(&mut self) {
                replaced_by(self.0.clone());
            }
        }

        let _before = Before(replaced_by(self.clone()));
        work()
    }

    /// Does `work` that nothing may stop: its result is taken for complete.
    #[cfg_attr(not(any(feature = "cuda", feature = "rand_core")), allow(dead_code))]
    pub(crate) fn never<T>(work: impl FnOnce() -> T) -> T {
        NOTHING.during(work)
    }

    /// What may stop the calls that this thread makes. Threads that share a call's work take it from the one that makes the call.
    pub(crate) fn current() -> Self {
        CURRENT.try_with(|current| current.borrow().clone()).unwrap_or(NOTHING)
    }

    /// Whether calls may be stopped at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.0.is_some()
    }

    /// Whether calls stop now.
    pub(crate) fn is_now(&self) -> bool {
        self.0.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    #[test]
    fn the_innermost_counts_until_its_work_ends() {
        let (outer, inner) = (Stop::new(), Stop::new());
        inner.now();
        outer.during(|| {
            assert!(Stop::current().is_possible() && !Stop::current().is_now());
            assert!(inner.during(|| Stop::current().is_now()));
            let panics = AssertUnwindSafe(|| inner.during(|| resume_unwind(Box::new("on purpose"))));
            assert!(catch_unwind(panics).is_err() && !Stop::current().is_now());
            outer.clone().now();
            assert!(Stop::current().is_now());
        });
        assert!(!Stop::current().is_possible() && !Stop::current().is_now());
    }
}
