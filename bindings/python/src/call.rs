//! One operation on host memory, without the interpreter's lock: in parts, with a check for signals between them so that Ctrl-C works; or
//! at once; or, if it takes less time than that, with the lock.

use crate::error::{caught, of_runtime, panicked};
use crate::memory::{Host, Memory};
use crate::signals;
use aes_bitslice_runtime::Error as Runtime;
use pyo3::prelude::*;
use std::mem;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the first part if nothing is known: data that is not longer is one call.
pub const FIRST: usize = 16 << 20;

/// The most bytes of a first part: another operation may be slower than the ones before.
const MOST: usize = 1 << 30;

/// Bytes of data and additional data that a core encrypts in less time than it takes to give up the interpreter's lock and to get it back.
pub const SHORT: u64 = 4 << 10;

/// How long a part should take, so that Ctrl-C takes effect at once and parts cost nothing in comparison.
const LONG: Duration = Duration::from_millis(100);

/// Bytes that take as long as a part should, as measured in earlier calls. A shorter call is not cut, because each part ends with idle
/// cores or an idle link.
#[derive(Default)]
pub struct Pace(AtomicUsize);

impl Pace {
    /// Bytes of the first part.
    fn first(&self) -> usize {
        self.0.load(Ordering::Relaxed).clamp(FIRST, MOST)
    }

    /// Bytes of the next part, if a part of `bytes` bytes took this long.
    fn next(&self, bytes: usize, took: Duration) -> usize {
        let rate = bytes as f64 / took.as_secs_f64().max(1e-6);
        let next = (rate * LONG.as_secs_f64()).clamp((1 << 20) as f64, (1u64 << 40) as f64) as usize & !0xf_ffff;
        // For less, the fixed cost of a call dominates.
        if bytes >= FIRST {
            self.0.store(next, Ordering::Relaxed);
        }
        next
    }
}

/// Where to cut the bytes of a call into parts.
pub trait Cuts: Sync {
    /// The end of a part that begins at byte `at` and should have `size` bytes, of `len` in all: after `at`, unless there are none.
    fn end(&self, at: usize, size: usize, len: usize) -> usize;

    /// Clears the output of the call.
    fn clear(&self, host: &mut Host);
}

/// At multiples of this many bytes.
pub struct Grain(pub usize);

impl Cuts for Grain {
    fn end(&self, at: usize, size: usize, len: usize) -> usize {
        len.min(at + (size - size % self.0).max(self.0))
    }

    fn clear(&self, host: &mut Host) {
        host.clear();
    }
}

/// Anywhere in a new object, whose content is not secret until it is given out; if the call fails, it is not given out.
pub struct Anywhere;

impl Cuts for Anywhere {
    fn end(&self, at: usize, size: usize, len: usize) -> usize {
        len.min(at + size)
    }

    fn clear(&self, _: &mut Host) {}
}

/// After messages, this many, which ascend and do not overlap, with the range of each. Bytes between them are not written.
struct Messages<R>(usize, R);

impl<R: Fn(usize) -> Range<u64>> Messages<R> {
    /// The number of messages that end at or before this byte.
    fn until(&self, byte: usize) -> usize {
        let (mut inside, mut outside) = (0, self.0);
        while inside < outside {
            let middle = inside.midpoint(outside);
            match (self.1)(middle).end <= byte as u64 {
                true => inside = middle + 1,
                false => outside = middle,
            }
        }
        inside
    }
}

impl<R: Fn(usize) -> Range<u64> + Sync> Cuts for Messages<R> {
    fn end(&self, at: usize, size: usize, len: usize) -> usize {
        // If one is outside, all are one part, which is refused before anything is done.
        let all_are_inside = self.until(len) == self.0;
        let last = self.until(at + size).max(self.until(at) + 1) - 1;
        if all_are_inside && last + 1 < self.0 { (self.1)(last).end as usize } else { len }
    }

    fn clear(&self, host: &mut Host) {
        for Range { start, end } in (0..self.until(host.len)).map(&self.1) {
            host.part(start as usize..end as usize).clear();
        }
    }
}

/// As [`in_parts`], for `count` messages, which ascend and do not overlap, with the range of each: `work` gets the numbers of the messages in
/// a part, and the part's first byte.
pub fn by_messages(
    py: Python<'_>,
    host: Host,
    count: usize,
    range: impl Fn(usize) -> Range<u64> + Sync,
    poison: impl Fn(&str),
    mut work: impl FnMut(Range<usize>, u64, &mut Host) -> Result<(), Runtime> + Send,
) -> PyResult<()> {
    let (len, mut done, cuts) = (host.len, 0, Messages(count, range));
    // A few long messages or many keys take longer than other calls.
    in_parts(py, host, &cuts, &Pace::default(), poison, |part, host| {
        let end = if part.end == len { count } else { cuts.until(part.end) };
        work(mem::replace(&mut done, end)..end, part.start as u64, host)
    })
}

/// Does `work` on all bytes, in parts, front to back. If an error or a signal comes, also during the last part, the output is set to zero; an
/// error in the first part is an error of the whole call, which has already done so.
///
/// A panic is passed to `poison` and becomes an exception.
pub fn in_parts(
    py: Python<'_>,
    mut host: Host,
    cuts: &impl Cuts,
    pace: &Pace,
    poison: impl Fn(&str),
    mut work: impl FnMut(Range<usize>, &mut Host) -> Result<(), Runtime> + Send,
) -> PyResult<()> {
    let (len, mut at, mut size) = (host.len, 0, pace.first());
    loop {
        let end = cuts.end(at, size, len);
        let range = at..end;
        let started = Instant::now();
        let outcome = py.detach(|| {
            let mut part = host.part(range.clone());
            caught(|| work(range.clone(), &mut part))
        });
        let took = started.elapsed();
        let outcome = match outcome {
            Ok(outcome) => outcome.map_err(of_runtime).map_err(|error| (error, at > 0)),
            Err(panic) => {
                poison(&panic);
                Err((panicked(&panic), true))
            }
        };
        // After the last part, too: then an interrupted call is always cleared.
        let outcome = outcome.and_then(|()| signals::check(py).map_err(|error| (error, true)));
        match outcome {
            Err((error, unclean)) => {
                if unclean {
                    py.detach(|| cuts.clear(&mut host));
                }
                return Err(error);
            }
            Ok(()) => (at, size) = (end, pace.next(range.len(), took)),
        }
        if at == len {
            return Ok(());
        }
    }
}

/// Does `work` on all bytes in one call, which signals wait for, and returns its result. A signal then clears the output. A panic is passed to
/// `poison`, clears the output, and becomes an exception. It keeps the interpreter's lock if `keep_lock`, for which `work` must wait for
/// nothing.
pub fn at_once<T: Send>(
    py: Python<'_>,
    mut host: Host,
    keep_lock: bool,
    poison: impl Fn(&str),
    work: impl FnOnce(&mut Host) -> Result<T, Runtime> + Send,
) -> PyResult<T> {
    let work = || caught(|| work(&mut host));
    let outcome = if keep_lock { work() } else { py.detach(work) };
    match outcome {
        Ok(Ok(done)) => unless_interrupted(py, &mut host).map(|()| done),
        Ok(Err(error)) => Err(of_runtime(error)),
        Err(panic) => {
            poison(&panic);
            py.detach(|| host.clear());
            Err(panicked(&panic))
        }
    }
}

/// Looks for signals when a call is complete, and clears its output if one ends it.
pub fn unless_interrupted(py: Python<'_>, host: &mut Host) -> PyResult<()> {
    signals::check(py).inspect_err(|_| py.detach(|| host.clear()))
}

/// Does `work`, which reads all bytes, and returns its result. For long data another thread does it, which a signal leaves running: it
/// keeps the bytes until it is done.
pub fn reading<T: Send + 'static>(
    py: Python<'_>,
    memory: Memory,
    poison: impl Fn(&str),
    work: impl FnOnce(&[u8]) -> Result<T, Runtime> + Send + 'static,
) -> PyResult<T> {
    let outcome = if memory.len <= FIRST as u64 {
        let host = memory.host();
        py.detach(|| caught(|| work(host.input())))
    } else {
        let (sender, receiver) = sync_channel(1);
        let receiver = Mutex::new(receiver);
        let read = move || {
            let host = memory.host();
            let _ = sender.send(caught(|| work(host.input())));
            drop(memory);
        };
        thread::Builder::new().name("aes-bitslice-read".into()).spawn(read)?;
        loop {
            match py.detach(|| receiver.lock().expect("nobody else has it").recv_timeout(LONG / 2)) {
                Ok(outcome) => break outcome,
                Err(RecvTimeoutError::Timeout) => signals::check(py)?,
                Err(RecvTimeoutError::Disconnected) => break Err("the thread ended".into()),
            }
        }
    };
    match outcome {
        Ok(outcome) => outcome.map_err(of_runtime),
        Err(panic) => {
            poison(&panic);
            Err(panicked(&panic))
        }
    }
}
