//! Small models of what threads do with each of these files, because loom goes through all of it in every order.

use crate::base::error::Error;
use crate::done::Done;
use crate::exec::queue::Queue;
use crate::exec::schedule::Schedule;
use crate::exec::slots::Slots;
use crate::exec::submitted::{Submitted, submit};
use crate::op::buffers::Access;
use crate::sync::{Arc, Condvar, Mutex, end_of_time, thread};
use crate::turns::Turns;
use loom::cell::UnsafeCell;

/// Counts completed jobs, and waits for them.
#[derive(Default)]
struct Tally {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Tally {
    fn add(&self) {
        *self.count.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    fn wait_for(&self, wanted: usize) {
        assert_eq!(*self.changed.wait_while(self.count.lock().unwrap(), |count| *count < wanted).unwrap(), wanted);
    }
}

/// Idle threads of a queue end: each is woken by a job of its own.
fn end(queue: &Queue, threads: usize) {
    end_of_time();
    for _ in 0..threads {
        queue.push(Box::new(|| ())).unwrap();
    }
}

/// Every job runs once, on threads that start, wait and are woken.
pub fn jobs_are_done_once(threads: usize, jobs: usize) {
    let (queue, done) = (Queue::new(threads), Arc::new(Tally::default()));
    for job in 1..=jobs {
        let tally = done.clone();
        queue.push(Box::new(move || tally.add())).unwrap();
        // After the last job that waits for them, idle threads and new ones meet.
        if job + 1 == jobs {
            done.wait_for(job);
        }
    }
    done.wait_for(jobs);
    end(&queue, threads);
}

/// A job that arrives when a thread is about to end runs, on that thread or another.
pub fn a_job_is_done_when_threads_end() {
    let (queue, done) = (Queue::new(1), Arc::new(Tally::default()));
    for job in 1..=2 {
        let tally = done.clone();
        queue.push(Box::new(move || tally.add())).unwrap();
        // Here the thread may begin to wait.
        done.wait_for(job);
        thread::yield_now();
        end_of_time();
    }
}

/// Never more slots are in use than exist, each by one thread, and every waiter gets one.
pub fn slots_have_one_user(threads: usize, most: usize) {
    let slots = Arc::new(Slots::<Arc<UnsafeCell<usize>>>::new(most, 0));
    let made = Arc::new(Mutex::new(0));
    let work = move |slots: &Slots<Arc<UnsafeCell<usize>>>| {
        let mut lease = slots.take(|_| true);
        let cell = lease.resources.get_or_insert_with(|| {
            *made.lock().unwrap() += 1;
            Arc::new(UnsafeCell::new(0))
        });
        // Loom reports two threads that are here at the same time. SAFETY: the slot is this thread's.
        cell.with_mut(|count| unsafe { *count += 1 });
        assert!(*made.lock().unwrap() <= most);
    };
    let work = Arc::new(work);
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let (slots, work) = (slots.clone(), work.clone());
            thread::spawn(move || work(&slots))
        })
        .collect();
    work(&slots);
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two owners take all chunks, each once, including each other's.
pub fn chunks_are_taken_once(chunks: usize) {
    let schedule = Arc::new(Schedule::new(chunks, &[1.0, 1.0]));
    let take = |schedule: &Schedule, owner| -> Vec<usize> { std::iter::from_fn(|| schedule.next(owner)).collect() };
    let other = {
        let schedule = schedule.clone();
        thread::spawn(move || take(&schedule, 1))
    };
    let mut taken = take(&schedule, 0);
    taken.extend(other.join().unwrap());
    taken.sort_unstable();
    assert_eq!(taken, (0..chunks).collect::<Vec<_>>());
}

/// Threads pass in the order of their turns, alone.
pub fn turns_come_in_order(turns: u64) {
    let shared = Arc::new(Turns::new(Vec::new()));
    let others: Vec<_> = (1..turns)
        .map(|turn| {
            let shared = shared.clone();
            thread::spawn(move || shared.pass(turn, |seen| seen.push(turn)).unwrap())
        })
        .collect();
    shared.pass(0, |seen| seen.push(0)).unwrap();
    others.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(shared.pass(turns, |seen| seen.clone()), Some((0..turns).collect()));
}

/// A thread that waits for a turn that never comes leaves when it is cancelled, whenever that is.
pub fn a_cancelled_turn_ends() {
    let shared = Arc::new(Turns::new(()));
    let other = {
        let shared = shared.clone();
        thread::spawn(move || shared.pass(1, |()| ()))
    };
    shared.cancel();
    assert_eq!(other.join().unwrap(), None);
}

/// A thread that waits for chunks, done in any order by a thread each, goes on when all are done, and sees their
/// results.
pub fn done_chunks_are_waited_for(chunks: u64) {
    let shared = Arc::new(Done::default());
    let results: Vec<_> = (0..chunks).map(|_| Arc::new(UnsafeCell::new(false))).collect();
    let others: Vec<_> = (0..chunks)
        .zip(&results)
        .map(|(number, result)| {
            let (shared, result) = (shared.clone(), result.clone());
            thread::spawn(move || {
                // SAFETY: read only when it is done.
                result.with_mut(|result| unsafe { *result = true });
                shared.add(number);
            })
        })
        .collect();
    shared.wait_below(chunks);
    for result in &results {
        // Loom reports if it is not yet written. SAFETY: it is.
        assert!(result.with(|result| unsafe { *result }));
    }
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

/// All waiters are woken, each for its own chunks.
pub fn all_who_wait_for_chunks_are_woken() {
    let shared = Arc::new(Done::default());
    let other = {
        let shared = shared.clone();
        thread::spawn(move || shared.wait_below(1))
    };
    let adds = {
        let shared = shared.clone();
        thread::spawn(move || [1, 0].into_iter().for_each(|number| shared.add(number)))
    };
    shared.wait_below(2);
    other.join().unwrap();
    adds.join().unwrap();
}

/// A thread that waits for a chunk that is never done leaves when it is cancelled, whenever that is, and whatever else
/// is done.
pub fn a_cancelled_wait_ends() {
    let shared = Arc::new(Done::default());
    let others: Vec<_> = [1, 2]
        .map(|number| {
            let shared = shared.clone();
            thread::spawn(move || shared.wait_below(number))
        })
        .into();
    shared.add(1);
    shared.cancel();
    others.into_iter().for_each(|thread| thread.join().unwrap());
}

fn submitted(queue: &Queue) -> Submitted<Vec<u8>> {
    let add = |data: &mut [u8]| -> Result<(), Error> {
        data[0] += 1;
        Ok(())
    };
    submit(queue, vec![1], Access::Maps, add, |data, ()| data).map_err(|_| "a thread").unwrap()
}

/// A call completes, and its waiter has its data.
pub fn a_submitted_call_is_waited_for() {
    let queue = Queue::new(1);
    assert_eq!(submitted(&queue).wait().map_err(|_| "an error").unwrap(), [2]);
    end(&queue, 1);
}

/// A call completes, and a task that polls it is woken after it has registered.
pub fn a_submitted_call_wakes_its_task() {
    let queue = Queue::new(1);
    assert_eq!(loom::future::block_on(submitted(&queue)).map_err(|_| "an error").unwrap(), [2]);
    end(&queue, 1);
}

/// A call that is never waited for completes.
pub fn a_submitted_call_may_be_dropped() {
    let (queue, done) = (Queue::new(1), Arc::new(Tally::default()));
    let tally = done.clone();
    let tell = move |_: &mut [u8]| -> Result<(), Error> {
        tally.add();
        Ok(())
    };
    drop(submit(&queue, vec![1], Access::Maps, tell, |data, ()| data).map_err(|_| "a thread").unwrap());
    done.wait_for(1);
    end(&queue, 1);
}
