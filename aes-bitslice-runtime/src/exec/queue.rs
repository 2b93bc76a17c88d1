//! Runs jobs in the order of arrival on a bounded number of threads, which start when they are needed and end when they
//! are not.

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::own_thread::own_thread;
use crate::base::per_process::PerProcess;
use crate::base::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// How long a thread waits for another job before it ends.
const IDLE: Duration = Duration::from_secs(1);

/// A job for a thread. A panic ends the job, not the thread.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A queue of jobs and the threads that run them.
pub(crate) struct Queue {
    pool: PerProcess<Arc<Pool>>,
    most_threads: usize,
}

/// The jobs, and the threads that take them.
#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    pushed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    /// Threads that wait for a job.
    idle: usize,
}

impl Queue {
    /// An empty queue, without a thread yet.
    pub(crate) fn new(most_threads: usize) -> Self {
        Self { pool: PerProcess::new(), most_threads }
    }

    /// Adds a job and returns; a thread runs it once all earlier jobs have begun.
    ///
    /// # Errors
    /// [`Error::NoThread`] if there is no thread and none can be started. The job is dropped, and was not begun.
    pub(crate) fn push(&self, job: Job) -> Result<(), Error> {
        let pool = self.pool();
        let mut state = pool.lock();
        if state.jobs.len() >= state.idle && state.threads < self.most_threads {
            let pool = pool.clone();
            match own_thread("aes-bitslice").spawn(move || pool.work()) {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => return Err(Error::NoThread { why: error.to_string() }),
                // The existing threads run it.
                Err(_) => {}
            }
        }
        state.jobs.push_back(job);
        drop(state);
        pool.pushed.notify_one();
        Ok(())
    }

    fn pool(&self) -> &Arc<Pool> {
        self.pool.get(Arc::default)
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// The main loop of a thread.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                // The job itself has reported the panic to anyone who needs to know.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (woken, waited) = self.pushed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = woken;
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::sync::thread;
    use std::sync::mpsc;
    use std::time::Instant;

    fn threads(queue: &Queue) -> usize {
        queue.pool().lock().threads
    }

    #[test]
    fn threads_come_as_they_are_needed_up_to_the_bound_and_go_when_idle() {
        let queue = Queue::new(3);
        assert_eq!(threads(&queue), 0);
        let (ended, ends) = mpsc::channel();
        let gates: Vec<_> = (0..100)
            .map(|i| {
                let (gate, opened) = mpsc::channel::<()>();
                let ended = ended.clone();
                let job = move || {
                    // Opened by being dropped.
                    let _ = opened.recv();
                    ended.send(i).unwrap();
                };
                queue.push(Box::new(job)).unwrap();
                assert_eq!(threads(&queue), 3.min(i + 1));
                gate
            })
            .collect();
        for (i, gate) in gates.into_iter().enumerate() {
            drop(gate);
            assert_eq!(ends.recv_timeout(Duration::from_secs(60)).unwrap(), i, "in order");
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        while threads(&queue) > 0 {
            assert!(Instant::now() < deadline, "idle threads stay");
            thread::sleep(Duration::from_millis(10));
        }
        queue.push(Box::new(move || ended.send(100).unwrap())).unwrap();
        assert_eq!(ends.recv_timeout(Duration::from_secs(60)).unwrap(), 100, "after they were gone");
    }

    #[test]
    fn a_panic_ends_the_job_and_not_the_thread() {
        let queue = Queue::new(1);
        let (ended, ends) = mpsc::channel();
        for i in 0..20 {
            let ended = ended.clone();
            let job = move || {
                // Without a message on standard error.
                let _open = ended;
                std::panic::resume_unwind(Box::new(i));
            };
            queue.push(Box::new(job)).unwrap();
        }
        queue.push(Box::new(move || ended.send(()).unwrap())).unwrap();
        ends.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_taken_before_another_starts() {
        let queue = Queue::new(8);
        let (ended, ends) = mpsc::channel();
        let begun = Instant::now();
        for _ in 0..50 {
            let ended = ended.clone();
            queue.push(Box::new(move || ended.send(()).unwrap())).unwrap();
            ends.recv_timeout(Duration::from_secs(60)).unwrap();
            // None is left if this thread was kept from its work for long.
            while threads(&queue) > 0 && queue.pool().lock().idle == 0 {
                thread::yield_now();
            }
            assert!(threads(&queue) <= 1);
        }
        assert!(begun.elapsed() < 40 * IDLE, "a job waits until a thread looks by itself");
    }
}
