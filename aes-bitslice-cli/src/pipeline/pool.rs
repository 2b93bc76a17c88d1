//! The worker threads, and which stream each works on.

use std::ops::ControlFlow;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use aes_bitslice_runtime::Engine;

use super::memory::{Gate, Memory};
use super::stream::{Opened, Outcome, Stream, caught};
use crate::error::{Error, Exit, Result};

/// The workers.
#[derive(Clone, Debug)]
pub struct Workers {
    /// The engine that provides their memory.
    pub engine: Engine,
    /// How many threads.
    pub count: usize,
    /// Bytes of memory that each has.
    pub memory: usize,
}

/// Runs `jobs` streams, each opened by `open`, on its own threads; `hear` is told how each of them ended, and can break off.
///
/// When all have ended, no thread is left. If it is broken off, some may be blocked for good, and no call into the engine is or will be in
/// progress: the process should end.
pub fn run(
    jobs: usize,
    workers: Workers,
    open: impl Fn(usize) -> Result<Opened> + Send + Sync + 'static,
    mut hear: impl FnMut(usize, Outcome) -> ControlFlow<()>,
) -> Result<()> {
    let (reports, outcomes) = mpsc::channel();
    let (syncs, to_sync) = mpsc::channel::<Arc<Stream>>();
    let gate = Gate::default();
    let pool = Arc::new(Pool { jobs, open, queue: Mutex::default(), changed: Condvar::new(), gate: gate.clone() });
    let mut threads = vec![spawn("sync", move || to_sync.into_iter().for_each(|stream| stream.sync()))?];
    for index in 0..workers.count {
        let (pool, reports, syncs) = (pool.clone(), reports.clone(), syncs.clone());
        let mut memory = Memory::new(workers.engine.clone(), workers.memory, gate.clone());
        let worker = spawn("worker", move || {
            while let Some(stream) = pool.next_stream(&reports) {
                stream.work(&mut memory, &syncs);
                pool.leave(&stream);
            }
        });
        match worker {
            Ok(worker) => threads.push(worker),
            Err(error) if index == 0 => return Err(error),
            // Fewer will do.
            Err(_) => break,
        }
    }
    drop((reports, syncs));
    for _ in 0..jobs {
        let (job, outcome) =
            outcomes.recv().map_err(|_| Error::new(Exit::Failure, "all threads stopped unexpectedly"))?;
        if hear(job, outcome).is_break() {
            gate.close();
            // This leaves the key on the device: taking it away would be a call.
            std::mem::forget(pool);
            return Ok(());
        }
    }
    for thread in threads {
        // If one panicked, its stream has reported it.
        let _ = thread.join();
    }
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(Error::thread)
}

struct Pool<F> {
    jobs: usize,
    open: F,
    queue: Mutex<Queue>,
    changed: Condvar,
    gate: Gate,
}

#[derive(Default)]
struct Queue {
    /// The first job that has not begun.
    next: usize,
    /// Streams that are being opened.
    opening: usize,
    /// Streams that may have chunks left, and how many workers joined each.
    open: Vec<(Arc<Stream>, usize)>,
}

impl<F: Fn(usize) -> Result<Opened>> Pool<F> {
    /// The stream to work on next; `None` if there is nothing left to do.
    fn next_stream(&self, reports: &Sender<(usize, Outcome)>) -> Option<Arc<Stream>> {
        let mut queue = self.queue();
        loop {
            if queue.next < self.jobs {
                let job = queue.next;
                queue.next += 1;
                queue.opening += 1;
                drop(queue);
                let opened = caught(|| (self.open)(job));
                queue = self.queue();
                queue.opening -= 1;
                self.changed.notify_all();
                match opened {
                    Ok(opened) => {
                        let stream = Arc::new(Stream::new(opened, self.gate.clone(), job, reports.clone()));
                        queue.open.push((stream.clone(), 1));
                        return Some(stream);
                    }
                    Err(error) => _ = reports.send((job, Err(error))),
                }
            } else if let Some((stream, workers)) = queue.open.iter_mut().min_by_key(|(_, workers)| *workers) {
                *workers += 1;
                return Some(stream.clone());
            } else if queue.opening == 0 {
                return None;
            } else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// There are no chunks left of the stream.
    fn leave(&self, stream: &Arc<Stream>) {
        self.queue().open.retain(|(other, _)| !Arc::ptr_eq(other, stream));
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
