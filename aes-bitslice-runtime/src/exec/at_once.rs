//! Work on several items concurrently, each on its own thread, or on the caller's if the system starts no more.

use crate::base::lock::lock;
use crate::base::own_thread::own_thread;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

/// Runs `work` on all items concurrently and returns the result of each, in order. All have completed when it returns
/// or panics.
pub fn at_once<T: Send, R: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    // An item is taken by its thread, or by this one if none was started for it.
    let items: Vec<_> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let do_one = |item: &Mutex<Option<T>>| {
        let item = lock(item).take();
        work(item.expect("taken once"))
    };
    let Some((first, others)) = items.split_first() else { return vec![] };
    thread::scope(|scope| {
        let spawn = |item| own_thread("aes-bitslice").spawn_scoped(scope, move || do_one(item));
        let threads: Vec<_> = others.iter().map(|item| (item, spawn(item).ok())).collect();
        let mut results = vec![do_one(first)];
        results.extend(threads.into_iter().map(|(item, thread)| match thread {
            Some(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            None => do_one(item),
        }));
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        assert_eq!(at_once(0..20, |n: u32| n * n), (0..20).map(|n| n * n).collect::<Vec<_>>());
        assert!(at_once(vec![], |n: u32| n).is_empty());
        assert_eq!(at_once(vec![7], |n: u32| n), [7]);
    }
}
