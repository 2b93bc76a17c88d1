//! Jobs at the same time, of which the system need not start any thread.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Does `work` to each item on a thread of its own, or here where the system starts none. The results, in the items' order.
pub fn at_once<T: Send, R: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    // Shared, as a thread that does not start would take its item along.
    let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let done = &|item: &Mutex<Option<T>>| {
        let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
        work(item.expect("each is taken once"))
    };
    thread::scope(|scope| {
        let start = |item| thread::Builder::new().spawn_scoped(scope, move || done(item)).ok();
        let started: Vec<_> = items.iter().map(|item| (item, start(item))).collect();
        let end = |(item, thread): (_, Option<thread::ScopedJoinHandle<_>>)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => done(item),
        };
        started.into_iter().map(end).collect()
    })
}
