//! A call that a thread of the queue makes, and the object that its caller waits on meanwhile.

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use crate::exec::queue::Queue;
use crate::op::buffers::Access;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A submitted call: a future of `T`, which is its data of type `B`, or the data and the operation's output value. It
/// does not need an executor, and works with any.
///
/// Dropping it neither cancels the call nor waits for it; the data is dropped when the call completes. Calls that have
/// not completed when the process ends are lost.
#[must_use = "the data comes back through it"]
pub struct Submitted<B, T = B> {
    call: Arc<Call<B, T>>,
}

/// The reason why a call gave no result, and its data: unchanged if the call was refused or failed before it began to
/// write, else cleared to zero.
///
/// In a function that returns [`Error`], `?` keeps the error and drops the data.
pub struct SubmitError<B> {
    /// The problem.
    pub error: Error,
    /// The data that was submitted.
    pub data: B,
}

/// State shared by the caller and the thread that makes the call.
struct Call<B, T> {
    state: Mutex<State<B, T>>,
    /// Notified when `stage` becomes `Done`.
    done: Condvar,
}

struct State<B, T> {
    stage: Stage<B, T>,
    /// The waker of the task that polled last.
    waker: Option<Waker>,
}

enum Stage<B, T> {
    Queued(B),
    Running,
    Done(Result<T, SubmitError<B>>),
    /// The result was returned.
    Taken,
}

/// Has a thread of the queue run `work`, which accesses the data according to `access`.
pub(crate) fn submit<B, R, T>(
    queue: &Queue,
    data: B,
    access: Access,
    work: impl FnOnce(&mut [u8]) -> Result<R, Error> + Send + 'static,
    result: fn(B, R) -> T,
) -> Result<Submitted<B, T>, SubmitError<B>>
where
    B: AsMut<[u8]> + Send + 'static,
    R: 'static,
    T: Send + 'static,
{
    let state = State { stage: Stage::Queued(data), waker: None };
    let call = Arc::new(Call { state: Mutex::new(state), done: Condvar::new() });
    let job = call.clone();
    match queue.push(Box::new(move || job.run(access, work, result))) {
        Ok(()) => Ok(Submitted { call }),
        Err(error) => Err(SubmitError { error, data: call.begin() }),
    }
}

impl<B, T> Call<B, T> {
    fn lock(&self) -> MutexGuard<'_, State<B, T>> {
        lock(&self.state)
    }

    fn begin(&self) -> B {
        match mem::replace(&mut self.lock().stage, Stage::Running) {
            Stage::Queued(data) => data,
            _ => unreachable!("a call is begun once"),
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.lock().stage, Stage::Done(_) | Stage::Taken)
    }

    /// The result, if it is available.
    ///
    /// # Panics
    /// If it was returned before.
    fn take(&self, state: &mut State<B, T>) -> Option<Result<T, SubmitError<B>>> {
        match mem::replace(&mut state.stage, Stage::Taken) {
            Stage::Done(result) => Some(result),
            Stage::Taken => panic!("a submitted call was asked for its result again, after it had given it"),
            unfinished => {
                state.stage = unfinished;
                None
            }
        }
    }
}

impl<B: AsMut<[u8]>, T> Call<B, T> {
    /// Runs `work` and notifies all that wait for it. If it panics, data that it writes to comes back cleared.
    fn run<R>(&self, access: Access, work: impl FnOnce(&mut [u8]) -> Result<R, Error>, result: fn(B, R) -> T) {
        let mut data = self.begin();
        let outcome = catch_unwind(AssertUnwindSafe(|| work(data.as_mut())));
        // Dropping a panic's payload may panic too, so it is dropped only after all were notified.
        let (result, _thrown) = match outcome {
            Ok(Ok(output)) => (Ok(result(data, output)), None),
            Ok(Err(error)) => (Err(SubmitError { error, data }), None),
            Err(thrown) => {
                if access != Access::Reads {
                    let _ = catch_unwind(AssertUnwindSafe(|| data.as_mut().fill(0)));
                }
                (Err(SubmitError { error: Error::Panicked { what: words(&*thrown) }, data }), Some(thrown))
            }
        };
        let mut state = self.lock();
        state.stage = Stage::Done(result);
        let waker = state.waker.take();
        drop(state);
        self.done.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The message of a panic.
fn words(thrown: &(dyn Any + Send)) -> String {
    let text = thrown.downcast_ref::<&str>().copied().or(thrown.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a word").into()
}

impl<B, T> Submitted<B, T> {
    /// Whether the call has completed: then a `poll` is ready, and [`wait`](Self::wait) returns at once.
    pub fn is_done(&self) -> bool {
        self.call.is_done()
    }

    /// Waits until the call completes; for callers without an executor.
    ///
    /// # Errors
    /// The error of the call.
    ///
    /// # Panics
    /// If it was polled to completion before.
    pub fn wait(self) -> Result<T, SubmitError<B>> {
        let mut state = self.call.lock();
        loop {
            if let Some(result) = self.call.take(&mut state) {
                return result;
            }
            state = self.call.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<B, T> Future for Submitted<B, T> {
    type Output = Result<T, SubmitError<B>>;

    /// # Panics
    /// If it was ready before.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Cloned and dropped while nothing is locked: what a waker does there is up to its executor.
        let waker = context.waker().clone();
        let mut state = self.call.lock();
        if let Some(result) = self.call.take(&mut state) {
            return Poll::Ready(result);
        }
        let before = state.waker.replace(waker);
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<B, T> fmt::Debug for Submitted<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_done() { "Submitted (done)" } else { "Submitted" })
    }
}

impl<B> fmt::Debug for SubmitError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The data may be secret.
        f.debug_struct("SubmitError").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<B> fmt::Display for SubmitError<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> std::error::Error for SubmitError<B> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

impl<B> From<SubmitError<B>> for Error {
    fn from(error: SubmitError<B>) -> Self {
        error.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    fn panicked<B>(result: Result<B, SubmitError<B>>) -> (String, B) {
        match result {
            Err(SubmitError { error: Error::Panicked { what }, data }) => (what, data),
            other => panic!("{:?}", other.map(|_| ())),
        }
    }

    /// Submits work that returns no value.
    fn submit<B: AsMut<[u8]> + Send + 'static>(
        queue: &Queue,
        data: B,
        work: impl FnOnce(&mut [u8]) -> Result<(), Error> + Send + 'static,
    ) -> Result<Submitted<B>, SubmitError<B>> {
        super::submit(queue, data, Access::Maps, work, |data, ()| data)
    }

    #[test]
    fn what_a_call_returns_comes_with_its_data() {
        let submitted =
            super::submit(&Queue::new(1), vec![1, 2, 3], Access::Reads, |data| Ok(data.len()), |data, len| (data, len));
        assert_eq!(submitted.unwrap().wait().unwrap(), (vec![1, 2, 3], 3));
    }

    #[test]
    fn whether_a_call_is_done_is_told() {
        let (gate, opened) = std::sync::mpsc::channel::<()>();
        let call = submit(&Queue::new(1), vec![7], move |_| {
            // Opened by being dropped.
            let _ = opened.recv();
            Ok(())
        });
        let call = call.unwrap();
        assert!(!call.is_done() && format!("{call:?}") == "Submitted");
        drop(gate);
        let begun = std::time::Instant::now();
        while !call.is_done() {
            assert!(begun.elapsed().as_secs() < 60, "it is never done");
            std::thread::yield_now();
        }
        assert_eq!((format!("{call:?}"), call.wait().unwrap()), ("Submitted (done)".into(), vec![7]));
    }

    #[test]
    fn the_source_of_an_error_is_that_of_the_call() {
        use std::error::Error as _;
        let failed = |error| SubmitError { error, data: () };
        assert!(failed(Error::Random(getrandom::Error::UNSUPPORTED)).source().is_some());
        assert!(failed(Error::Stopped).source().is_none());
    }

    #[test]
    fn a_panic_is_an_error_and_the_data_comes_back_cleared() {
        let queue = Queue::new(1);
        let thrown: [(Box<dyn Any + Send>, &str); 3] = [
            (Box::new("a literal"), "a literal"),
            (Box::new(String::from("a text")), "a text"),
            (Box::new(5), "without a word"),
        ];
        for (thrown, words) in thrown {
            let submitted = submit(&queue, vec![7; 40], |data| {
                assert_eq!(data, [7; 40]);
                std::panic::resume_unwind(thrown)
            });
            assert_eq!(panicked(submitted.unwrap().wait()), (words.into(), vec![0; 40]));
        }
    }

    #[test]
    fn data_that_is_only_read_comes_back_from_a_panic_as_it_was() {
        let work = |_: &mut [u8]| -> Result<(), Error> { std::panic::resume_unwind(Box::new("read")) };
        for (access, expected) in [(Access::Reads, 7), (Access::Maps, 0), (Access::Writes, 0)] {
            let submitted = super::submit(&Queue::new(1), vec![7; 40], access, work, |data, ()| data);
            assert_eq!(panicked(submitted.unwrap().wait()).1, [expected; 40], "{access:?}");
        }
    }

    /// Panics when it is dropped, as a waker, data, or what a panic throws may.
    struct Bomb(Arc<AtomicUsize>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            if !std::thread::panicking() {
                std::panic::resume_unwind(Box::new("a bomb"));
            }
        }
    }

    #[test]
    fn what_a_panic_throws_may_panic_too() {
        let (queue, bombs) = (Queue::new(1), Arc::new(AtomicUsize::new(0)));
        let bomb = Bomb(bombs.clone());
        let submitted = submit(&queue, vec![7], move |_| std::panic::resume_unwind(Box::new(bomb))).unwrap();
        assert_eq!(panicked(submitted.wait()).1, [0]);
        // The thread is still there.
        assert_eq!(submit(&queue, vec![7], |_| Ok(())).unwrap().wait().unwrap(), [7]);
        assert_eq!(bombs.load(SeqCst), 1);
    }

    #[test]
    fn an_error_brings_the_data_along_and_never_shows_it() {
        let queue = Queue::new(1);
        let failed =
            submit(&queue, vec![77; 3], |_| Err(Error::NeedsKey { what: "this" })).unwrap().wait().unwrap_err();
        assert_eq!(failed.data, [77; 3]);
        let shown = format!("{failed:?}");
        assert!(shown.contains("NeedsKey") && !shown.contains("77"), "{shown}");
        assert_eq!(failed.to_string(), failed.error.to_string());
        assert!(matches!(Error::from(failed), Error::NeedsKey { .. }));
    }
}
