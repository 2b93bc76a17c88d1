//! The threads that share a call's work: a rayon pool of this library's own, which each process starts with its first large call.
//!
//! A thread that waits in rayon takes up other work of its pool, on the same stack. Where that work waits for something that the stack below
//! it holds, such as a lock, both wait for ever. So no thread waits in this pool: a thread of it does what it is given alone. And none of a
//! program's own pools waits for this one: a plain thread does.

use crate::base::error::Error;
use crate::base::per_process::PerProcess;
use crate::base::scrubbed::{DERIVED, scrubbed};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::env;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// The environment variable with the number of threads.
const VARIABLE: &str = "AES_BITSLICE_THREADS";

/// The numbers that may be set.
const ALLOWED: RangeInclusive<usize> = 1..=1024;

static THREADS: OnceLock<usize> = OnceLock::new();

/// Sets the number of threads that share the work of a large call on the CPU, for the whole process, from 1 to 1024. It is set before the
/// first engine is opened and before [`threads`] is asked. Otherwise it is what the environment variable `AES_BITSLICE_THREADS` says, else
/// the number of cores that the process may use.
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
    let threads = match env::var_os(VARIABLE) {
        None => thread::available_parallelism().map_or(1, NonZero::get),
        Some(text) => match text.to_str().and_then(|text| text.parse().ok()) {
            Some(threads) if ALLOWED.contains(&threads) => threads,
            _ => return refused(&format!("`{}` in {VARIABLE}", text.display())),
        },
    };
    Ok(*THREADS.get_or_init(|| threads))
}

fn refused<T>(what: &str) -> Result<T, Error> {
    let (least, most) = ALLOWED.into_inner();
    Err(Error::Threads { what: format!("{what} is not possible: give a whole number from {least} to {most}") })
}

/// The pool of this process; `None` where the system starts no threads.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: PerProcess<Option<ThreadPool>> = PerProcess::new();
    let name = |n| format!("aes-bitslice-{n}");
    let start = || ThreadPoolBuilder::new().num_threads(threads()).thread_name(name).build().ok();
    POOL.get(start).as_ref()
}

/// Does `work` on all items, divided between the threads, and returns the results in order. On this thread alone if there is one item or no
/// other thread.
pub fn divided<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    let alone = |items: Vec<T>| items.into_iter().map(&work).collect();
    if items.len() < 2 || threads() == 1 {
        return alone(items);
    }
    // What is moved to the heap from here on, such as the pool, takes what the stack holds between its fields with it.
    scrubbed::<DERIVED, _>(|| ());
    let Some(pool) = pool().filter(|pool| pool.current_thread_index().is_none()) else {
        return alone(items);
    };
    let together = |items: Vec<T>| pool.install(|| items.into_par_iter().map(&work).collect());
    if rayon::current_thread_index().is_none() {
        return together(items);
    }
    let mut items = Some(items);
    let results = thread::scope(|scope| {
        let waiting = thread::Builder::new().spawn_scoped(scope, || items.take().map(together));
        waiting.ok()?.join().unwrap_or_else(|thrown| resume_unwind(thrown))
    });
    results.unwrap_or_else(|| items.map(alone).unwrap_or_default())
}

/// Sets memory to zero, on all cores.
pub(crate) fn clear(data: &mut [u8]) {
    const PIECE: usize = 1 << 20;
    divided(data.chunks_mut(PIECE).collect(), |piece| piece.fill(0));
}

/// Copies to the first of each two, which are equally long, what the second has: on all cores if it is worth waking them.
pub(crate) fn copy<'a>(all: impl IntoIterator<Item = (&'a mut [u8], &'a [u8])>) {
    const PIECE: usize = 128 << 10;
    let all: Vec<(&mut [u8], &[u8])> = all.into_iter().collect();
    let one = |(to, from): (&mut [u8], &[u8])| to.copy_from_slice(from);
    if all.iter().map(|(to, _)| to.len()).sum::<usize>() <= 2 * PIECE {
        return all.into_iter().for_each(one);
    }
    divided(all.into_iter().flat_map(|(to, from)| to.chunks_mut(PIECE).zip(from.chunks(PIECE))).collect(), one);
}
