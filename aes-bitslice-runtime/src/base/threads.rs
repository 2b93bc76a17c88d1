//! The number of threads that share a call's work.

use rayon::ThreadPoolBuilder;
use std::error::Error as _;
use std::sync::OnceLock;

/// The number of threads that share the work: those of the rayon pool that this thread belongs to, else of the global pool. If the system
/// starts no threads, it is 1, the caller's; asking rayon would panic in that case.
pub fn threads() -> usize {
    static STARTED: OnceLock<bool> = OnceLock::new();
    let start = || {
        let started = ThreadPoolBuilder::new().build_global();
        // The error has no source if the pool was started before.
        started.map_or_else(|error| error.source().is_none(), |()| true)
    };
    let is_there = rayon::current_thread_index().is_some() || *STARTED.get_or_init(start);
    if is_there { rayon::current_num_threads() } else { 1 }
}
