//! The threads that share a call's work: rayon pools of this library's own, which each process starts with its first large calls.
//!
//! A thread that waits in rayon takes up other work of its pool, on the same stack. Where that work waits for something that the stack below
//! it holds, such as a lock, both wait for ever. So no thread waits in these pools: a thread of one does what it is given alone. And none of
//! a program's own pools waits for them: a plain thread does.

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::own_thread::{STACK, own_thread};
use crate::base::per_process::PerProcess;
use crate::base::scrubbed::{DERIVED, scrubbed};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::env;
use std::num::NonZero;
use std::ops::{Range, RangeInclusive};
use std::panic::resume_unwind;
use std::sync::{Mutex, OnceLock};
use std::thread;

/// The environment variable with the number of threads.
const VARIABLE: &str = "AES_BITSLICE_THREADS";

/// The numbers that may be set.
const ALLOWED: RangeInclusive<usize> = 1..=1024;

static THREADS: OnceLock<usize> = OnceLock::new();

/// Sets the number of threads that share the work of a large call on the CPU, for the whole process, from 1 to 1024. It is set before the
/// first engine is opened and before [`threads`] is asked. Otherwise it is what the environment variable `AES_BITSLICE_THREADS` says; if that
/// is not set or empty, the number of cores that the process may use.
///
/// With 1, a call runs on the thread that makes it. Otherwise these threads start with the first large call and last as long as the process.
///
/// # Errors
/// [`Error::Threads`] for another number, and where a different one is in use.
pub fn set_threads(threads: usize) -> Result<(), Error> {
    if !ALLOWED.contains(&threads) {
        return refused(&threads.to_string());
    }
    match *THREADS.get_or_init(|| threads) {
        used if used == threads => Ok(()),
        used => Err(Error::Threads { what: format!("{used} are in use: set it before the first engine is opened") }),
    }
}

/// The number of threads that share the work of a large call on the CPU ([`set_threads`]). It does not change from then on.
pub fn threads() -> usize {
    decided().unwrap_or(1)
}

/// The number of threads, which does not change from now on.
///
/// # Errors
/// [`Error::Threads`] if the environment variable has no such number.
pub(crate) fn decided() -> Result<usize, Error> {
    if let Some(threads) = THREADS.get() {
        return Ok(*threads);
    }
    let threads = match env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
        None => thread::available_parallelism().map_or(1, NonZero::get),
        // `parse` alone would accept a sign.
        Some(text) => match text.to_str().filter(|text| !text.starts_with('+')).and_then(|text| text.parse().ok()) {
            Some(threads) if ALLOWED.contains(&threads) => threads,
            _ => return refused(&format!("`{}` in {VARIABLE}", text.to_string_lossy().escape_debug())),
        },
    };
    Ok(*THREADS.get_or_init(|| threads))
}

fn refused<T>(what: &str) -> Result<T, Error> {
    let (least, most) = ALLOWED.into_inner();
    Err(Error::Threads { what: format!("{what} is not possible: give a whole number from {least} to {most}") })
}

/// The most threads of a pool. Each that has nothing to do looks at all others for some, several times, before it sleeps: in a pool of a
/// thousand threads that would take seconds of the processors' time, for every call.
const POOL: usize = 32;

/// Threads with these numbers, which start when they are needed.
struct Pool {
    threads: Range<usize>,
    /// `None` where the system starts no threads.
    started: OnceLock<Option<ThreadPool>>,
}

impl Pool {
    fn start(&self) -> Option<&ThreadPool> {
        let Range { start, end } = self.threads;
        let name = move |n| format!("aes-bitslice-{}", start + n);
        let pool =
            || ThreadPoolBuilder::new().num_threads(end - start).thread_name(name).stack_size(STACK).build().ok();
        self.started.get_or_init(pool).as_ref()
    }

    /// Whether this thread is one of them.
    fn is_here(&self) -> bool {
        self.started.get().and_then(Option::as_ref).is_some_and(|pool| pool.current_thread_index().is_some())
    }
}

/// The pools of this process, which together have [`threads`].
fn pools() -> &'static [Pool] {
    static POOLS: PerProcess<Vec<Pool>> = PerProcess::new();
    let pool = |start| Pool { threads: start..threads().min(start + POOL), started: OnceLock::new() };
    POOLS.get(|| (0..threads()).step_by(POOL).map(pool).collect())
}

/// Runs `worker` on `count` threads of the pools, or on fewer where the system starts no more, and waits for all.
fn at_once_on(pools: &[Pool], count: usize, worker: &(dyn Fn() + Sync)) {
    let Some((first, others)) = pools.split_first().filter(|_| count > 0) else { return };
    let here = count.min(first.threads.len());
    if let Some(pool) = first.start() {
        pool.in_place_scope(|scope| {
            (0..here).for_each(|_| scope.spawn(|_| worker()));
            at_once_on(others, count - here, worker);
        });
    }
}

/// Does `work` on all items, divided between the threads, each of which takes one item after the other. On this thread alone if there is one
/// item or no other thread.
pub fn divided<T: Send>(
    items: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator + Send>,
    work: impl Fn(T) + Sync,
) {
    let items = items.into_iter();
    let count = items.len().min(threads());
    if count < 2 || pools().iter().any(Pool::is_here) {
        return items.for_each(work);
    }
    // What is moved to the heap from here on, such as the pool, takes what the stack holds between its fields with it.
    scrubbed::<DERIVED, _>(|| ());
    let items = Mutex::new(items);
    let worker = || {
        let next = || lock(&items).next();
        std::iter::from_fn(next).for_each(&work);
    };
    let together = || at_once_on(pools(), count, &worker);
    if rayon::current_thread_index().is_none() {
        together();
    } else {
        thread::scope(|scope| {
            let waiting = own_thread("aes-bitslice").spawn_scoped(scope, together);
            if let Ok(Err(thrown)) = waiting.map(|thread| thread.join()) {
                resume_unwind(thrown);
            }
        });
    }
    // What is left where no thread was started.
    worker();
}

/// The numbers below `count` in groups of at most `most`, and small enough that each thread has several.
pub(crate) fn groups(count: usize, most: usize) -> impl ExactSizeIterator<Item = Range<usize>> + Clone + Send {
    let at_a_time = count.div_ceil(8 * threads()).clamp(1, most);
    (0..count).step_by(at_a_time).map(move |first| first..count.min(first + at_a_time))
}

/// Sets memory to zero, on all cores.
pub(crate) fn clear(data: &mut [u8]) {
    divided(data.chunks_mut(1 << 20), |piece| piece.fill(0));
}

/// Copies the second slice of each pair to the first, which is as long; a pair of more than 256 KiB on all cores.
pub(crate) fn copy<'a>(all: impl IntoIterator<Item = (&'a mut [u8], &'a [u8])>) {
    const PIECE: usize = 128 << 10;
    for (to, from) in all {
        let pieces = to.chunks_mut(PIECE).zip(from.chunks(PIECE));
        let one = |(to, from): (&mut [u8], &[u8])| to.copy_from_slice(from);
        if pieces.len() <= 2 { pieces.for_each(one) } else { divided(pieces, one) }
    }
}

#[cfg(test)]
mod tests {
    use super::clear;

    /// Also the last piece of those that threads take, which is shorter than the others.
    #[test]
    fn memory_of_any_length_is_cleared() {
        const PIECE: usize = 1 << 20;
        for len in [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE - 1, 2 * PIECE + 1, 5 * PIECE, 5 * PIECE + 77] {
            let mut data = vec![0xa5; len];
            clear(&mut data);
            assert!(data == vec![0; len], "{len} bytes");
        }
    }
}
