//! How many threads a call's work is divided between.

use rayon::ThreadPoolBuilder;
use std::error::Error as _;
use std::sync::OnceLock;

/// How many threads share the work: those of the rayon pool that this thread is in, else of the global one. Where the system starts
/// no threads, 1: the caller's. To ask rayon would be a panic then.
pub fn threads() -> usize {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let start = || {
        let started = ThreadPoolBuilder::new().build_global();
        // That it was started before has no further cause.
        started.map_or_else(|error| error.source().is_none(), |()| true)
    };
    let is_there = rayon::current_thread_index().is_some() || *STARTED.get_or_init(start);
    if is_there { rayon::current_num_threads() } else { 1 }
}
