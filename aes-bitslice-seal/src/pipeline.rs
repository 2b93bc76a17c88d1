//! Chunks of segments read, worked on by several threads, and written, at the same time: from any reader to any writer, in order.
//!
//! ```text
//! a thread   read batch 2 | read batch 3 | ...
//! others                  | work on 2    | ...
//! the caller              | write 1      | write 2 | ...
//! ```
//!
//! A batch is a few chunks. The buffers are reused, and wiped at the end.
//!
//! The output is dropped at the first failure, before waiting for the reader: this can end an input that might otherwise stay silent for
//! ever.

use crate::chunk::Chunk;
use crate::error::Error;
use aes_bitslice_core::memory::room;
use aes_bitslice_runtime::{at_once, divided, own_thread, threads};
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Batches in flight: one is read, one worked on, one written.
const BATCHES: usize = 3;

/// Chunks of a batch for each worker thread.
const EACH: usize = 4;

/// The most bytes of a batch of several chunks.
const BATCH_BYTES: usize = 64 << 20;

/// How often the output is flushed while the input is waited for.
const IDLE: Duration = Duration::from_millis(50);

/// Bytes that are read at a time, at least.
const BUFFER: usize = 1 << 16;

/// Reads chunks from `input` until it ends, each of `bytes(number)` bytes except the last; `work`s on each, in any order: it gets the
/// chunk's bytes with `room` zeros after them, and returns how many bytes there are then; and `write`s them to `output` in order. A batch
/// in which something fails is not written.
///
/// The library's pool of threads does the work if it is `on_cpu`. No thread may wait in the pool, so for a GPU other threads do it.
///
/// While the input is slow, `output` is flushed now and then, which may end the call.
///
/// An empty input is one chunk of no bytes.
pub(crate) fn run<W: Write>(
    on_cpu: bool,
    input: impl Read + Send,
    output: W,
    bytes: impl Fn(u64) -> usize + Sync,
    room: usize,
    work: impl Fn(&Chunk, &mut [u8]) -> Result<usize, Error> + Sync,
    mut write: impl FnMut(&mut W, &Chunk) -> Result<(), Error>,
) -> Result<(), Error> {
    let batch_len = (EACH * threads()).min(BATCH_BYTES / (bytes(1) + room)).max(1);
    let work = |chunk: &mut Chunk| in_place(chunk, room, &work);
    thread::scope(|scope| {
        // Moved here to be dropped before the scope waits.
        let mut output = output;
        // A reader that waits to send, or for buffers, is released when the other ends are dropped.
        let (filled, batches) = sync_channel::<Result<Vec<Chunk>, Error>>(1);
        let (done, buffers) = sync_channel::<Vec<Chunk>>(BATCHES);
        // Dropped at the end, too: a batch that nobody will take is not read to its end.
        let wanting = Arc::new(());
        let by = Arc::downgrade(&wanting);
        for _ in 0..BATCHES {
            done.send(Vec::new()).expect("there is room for each");
        }
        let bytes = &bytes;
        let mut input = buffered(Wanted { input, by })?;
        let reader = own_thread("aes-bitslice-read").spawn_scoped(scope, move || {
            let mut number = 0;
            while let Ok(mut batch) = buffers.recv() {
                let outcome = fill(&mut input, &mut batch, batch_len, &mut number, bytes, room);
                let is_end = outcome.as_ref().map_or(true, |is_last| *is_last);
                if filled.send(outcome.map(|_| batch)).is_err() || is_end {
                    return;
                }
            }
        });
        reader.map_err(Error::Thread)?;
        let mut is_last = false;
        while !is_last {
            let mut batch = loop {
                match batches.recv_timeout(IDLE) {
                    Err(RecvTimeoutError::Timeout) => output.flush()?,
                    received => break received.expect("the reader ends with the last segment or an error")?,
                }
            };
            let outcomes = if on_cpu {
                let mut outcomes: Vec<_> = batch.iter().map(|_| Ok(())).collect();
                divided(batch.iter_mut().zip(&mut outcomes), |(chunk, outcome)| *outcome = work(chunk));
                outcomes
            } else {
                let each = batch.len().div_ceil(threads());
                at_once(batch.chunks_mut(each), |some| some.iter_mut().try_for_each(work))
            };
            // If several fail, the first is reported.
            outcomes.into_iter().collect::<Result<(), _>>()?;
            batch.iter().try_for_each(|chunk| write(&mut output, chunk))?;
            is_last = batch.last().is_some_and(|chunk| chunk.is_last);
            // After the last batch the reader no longer takes them.
            let _ = done.send(batch);
        }
        Ok(output.flush()?)
    })
}

/// An input that ends when nobody wants it any more.
struct Wanted<R> {
    input: R,
    by: Weak<()>,
}

impl<R: Read> Read for Wanted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.by.strong_count() == 0 { Ok(0) } else { self.input.read(buffer) }
    }
}

/// A reader with a buffer. Too little memory for that is an error: `BufReader` alone would end the program.
fn buffered<R: Read>(input: R) -> Result<BufReader<R>, Error> {
    // It is free again, and taken at once.
    drop(room::<u8>(BUFFER)?);
    Ok(BufReader::with_capacity(BUFFER, input))
}

/// As [`run`], one chunk after another, and all on the caller's thread: for an input that may stay silent. Its `read` can then end the call,
/// and no thread is left in it. A chunk is worked on and written as soon as a byte after it shows that it is not the last.
pub(crate) fn in_turn<W: Write>(
    input: impl Read,
    mut output: W,
    bytes: impl Fn(u64) -> usize,
    room: usize,
    work: impl Fn(&Chunk, &mut [u8]) -> Result<usize, Error>,
    mut write: impl FnMut(&mut W, &Chunk) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut input = buffered(input)?;
    let (mut batch, mut number, mut is_last) = (Vec::new(), 0, false);
    while !is_last {
        is_last = fill(&mut input, &mut batch, 1, &mut number, &bytes, room)?;
        batch.iter_mut().try_for_each(|chunk| in_place(chunk, room, &work))?;
        batch.iter().try_for_each(|chunk| write(&mut output, chunk))?;
    }
    Ok(output.flush()?)
}

/// Works on a chunk, with `room` zeros after its bytes.
fn in_place(
    chunk: &mut Chunk,
    room: usize,
    work: impl Fn(&Chunk, &mut [u8]) -> Result<usize, Error>,
) -> Result<(), Error> {
    let mut bytes = std::mem::take(&mut chunk.bytes);
    // The capacity suffices: nothing moves.
    bytes.resize(chunk.read + room, 0);
    let len = work(chunk, &mut bytes)?;
    bytes.truncate(len);
    chunk.bytes = bytes;
    Ok(())
}

/// Fills a batch. Returns whether the input ended.
fn fill(
    input: &mut impl BufRead,
    batch: &mut Vec<Chunk>,
    most: usize,
    number: &mut u64,
    bytes: impl Fn(u64) -> usize,
    room: usize,
) -> Result<bool, Error> {
    batch.resize_with(most, Chunk::default);
    for at in 0..most {
        let chunk = &mut batch[at];
        let wanted = bytes(*number);
        chunk.number = *number;
        chunk.bytes.clear();
        // All at once: a vector that grows would leave a copy behind.
        chunk.bytes.try_reserve_exact(wanted + room).map_err(|_| Error::OutOfMemory)?;
        chunk.read = input.by_ref().take(wanted as u64).read_to_end(&mut chunk.bytes)?;
        chunk.is_last = chunk.read < wanted || is_at_end(input)?;
        *number += 1;
        if chunk.is_last {
            batch.truncate(at + 1);
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_at_end(input: &mut impl BufRead) -> Result<bool, Error> {
    loop {
        match input.fill_buf() {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            found => return Ok(found?.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::{Receiver, SyncSender};

    /// Returns a byte at a time, and is interrupted before each, and before the end.
    struct Slow<'a>(&'a [u8], bool);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }

    #[test]
    fn chunks_come_in_order_with_the_last_marked() {
        for len in [0, 1, 9, 10, 11, 20, 29, 1000, 1001] {
            let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
            for (in_turn, slow) in [(false, false), (false, true), (true, true)] {
                let (mut found, mut seen) = (vec![], vec![]);
                let write = |_: &mut Vec<u8>, chunk: &Chunk| {
                    assert_eq!((chunk.bytes.len(), chunk.bytes.last()), (chunk.read + 1, Some(&0xee)));
                    found.extend_from_slice(&chunk.bytes[..chunk.read]);
                    seen.push((chunk.number, chunk.is_last));
                    Ok(())
                };
                let work = |chunk: &Chunk, bytes: &mut [u8]| {
                    assert_eq!(bytes[chunk.read..], [0; 2]);
                    bytes[chunk.read] = 0xee;
                    Ok(chunk.read + 1)
                };
                // The first is shorter, like the one after a header.
                let bytes = |number: u64| if number == 0 { 9 } else { 10 };
                match (in_turn, slow) {
                    (true, _) => super::in_turn(Slow(&data, false), vec![], bytes, 2, work, write).unwrap(),
                    (false, true) => run(false, Slow(&data, false), vec![], bytes, 2, work, write).unwrap(),
                    (false, false) => run(true, &data[..], vec![], bytes, 2, work, write).unwrap(),
                }
                assert_eq!(found, data);
                let count = if len <= 9 { 1 } else { 1 + (len as u64 - 9).div_ceil(10) };
                assert_eq!(seen, (0..count).map(|i| (i, i + 1 == count)).collect::<Vec<_>>(), "{len}");
            }
        }
    }

    #[test]
    fn a_failure_of_any_stage_ends_it() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("on purpose"))
            }
        }
        let nothing = |chunk: &Chunk, _: &mut [u8]| Ok(chunk.read);
        assert!(matches!(run(true, Failing, vec![], |_| 10, 0, nothing, |_, _| Ok(())), Err(Error::Io(_))));
        let data = vec![0; 100_000];
        let written = AtomicUsize::new(0);
        let work = |chunk: &Chunk, _: &mut [u8]| match chunk.number {
            500 => Err(Error::Damaged { index: 500 }),
            _ => Ok(chunk.read),
        };
        let write = |_: &mut Vec<u8>, chunk: &Chunk| {
            assert!(chunk.number < 500);
            written.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert!(matches!(run(true, &data[..], vec![], |_| 10, 0, work, write), Err(Error::Damaged { index: 500 })));
        assert!(written.into_inner() <= 500);
        let write = |_: &mut Vec<u8>, chunk: &Chunk| if chunk.number == 77 { Err(Error::TooLong) } else { Ok(()) };
        assert!(matches!(run(true, &data[..], vec![], |_| 10, 0, nothing, write), Err(Error::TooLong)));
    }

    /// Even if others fail before it is worked on.
    #[test]
    fn the_first_chunk_that_fails_is_reported() {
        let work = |chunk: &Chunk, _: &mut [u8]| match chunk.number {
            number @ 0..3 => {
                if number == 2 {
                    thread::sleep(Duration::from_millis(50));
                }
                Ok(chunk.read)
            }
            index => Err(Error::Damaged { index }),
        };
        for on_cpu in [true, false] {
            let outcome = run(on_cpu, &[0; 1000][..], vec![], |_| 10, 0, work, |_, _| Ok(()));
            assert!(matches!(outcome, Err(Error::Damaged { index: 3 })), "{outcome:?}");
        }
    }

    /// The input sends nothing more until the output is dropped.
    #[test]
    fn a_failure_drops_the_output_before_it_waits_for_the_reader() {
        struct Idle(Receiver<()>, usize);
        impl Read for Idle {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                if self.1 == 0 {
                    let said = self.0.recv_timeout(Duration::from_secs(60));
                    assert_eq!(said, Err(RecvTimeoutError::Disconnected), "the output is kept");
                    return Ok(0);
                }
                let len = buffer.len().min(self.1);
                self.1 -= len;
                Ok(len)
            }
        }
        struct Output(#[allow(dead_code, reason = "it is dropped")] SyncSender<()>);
        impl Write for Output {
            fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
                Ok(buffer.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let (output, dropped) = sync_channel(0);
        let batch = 10 * EACH * threads();
        let work = |_: &Chunk, _: &mut [u8]| Err(Error::Damaged { index: 0 });
        let outcome = run(true, Idle(dropped, batch + 5), Output(output), |_| 10, 0, work, |_, _| Ok(()));
        assert!(matches!(outcome, Err(Error::Damaged { index: 0 })));
    }

    /// What follows the end, such as the next line of a terminal, is not the call's.
    #[test]
    fn after_its_end_an_input_is_not_read() {
        struct Ends(Option<usize>, #[allow(dead_code, reason = "it is dropped")] SyncSender<()>);
        impl Read for Ends {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let left = self.0.expect("it has not ended");
                let len = left.min(buffer.len());
                self.0 = (len > 0).then_some(left - len);
                Ok(len)
            }
        }
        for len in [0, 5, 10, 25] {
            let (input, dropped) = sync_channel(0);
            let write = |_: &mut Vec<u8>, chunk: &Chunk| {
                if chunk.is_last {
                    let said = dropped.recv_timeout(Duration::from_secs(60));
                    assert_eq!(said, Err(RecvTimeoutError::Disconnected), "more is read");
                }
                Ok(())
            };
            run(true, Ends(Some(len), input), vec![], |_| 10, 0, |chunk, _| Ok(chunk.read), write).unwrap();
        }
    }

    /// A byte after the chunk would tell whether it is the last.
    #[test]
    fn an_input_that_fails_after_a_chunk_fails_the_call() {
        struct FailsOnce(bool);
        impl Read for FailsOnce {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                if std::mem::replace(&mut self.0, true) { Ok(0) } else { Err(std::io::Error::other("on purpose")) }
            }
        }
        let input = [7; 10][..].chain(FailsOnce(false));
        let outcome = in_turn(input, vec![], |_| 10, 0, |chunk, _| Ok(chunk.read), |_, _| Ok(()));
        assert!(matches!(outcome, Err(Error::Io(_))), "{outcome:?}");
    }

    /// What moves leaves a copy behind.
    #[test]
    fn a_chunk_has_room_for_what_is_put_after_it() {
        let mut batch = vec![];
        fill(&mut &[7; 25][..], &mut batch, 3, &mut 0, |_| 10, 16).unwrap();
        let rooms: Vec<_> = batch.iter().map(|chunk| chunk.bytes.capacity()).collect();
        assert!(rooms.iter().all(|&room| room >= 26), "{rooms:?}");
    }

    #[test]
    fn a_flush_that_fails_ends_a_slow_input_within_a_batch() {
        struct Slow<'a>(&'a AtomicUsize);
        impl Read for Slow<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                thread::sleep(Duration::from_millis(50));
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(buffer.len().min(1))
            }
        }
        struct Interrupted;
        impl Write for Interrupted {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                unreachable!("no batch is complete")
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Err(std::io::Error::other("on purpose"))
            }
        }
        let (read, batch) = (AtomicUsize::new(0), 10 * EACH * threads());
        let write = |output: &mut Interrupted, chunk: &Chunk| Ok(output.write_all(&chunk.bytes)?);
        let outcome = run(true, Slow(&read), Interrupted, |_| 10, 0, |chunk, _| Ok(chunk.read), write);
        assert!(matches!(outcome, Err(Error::Io(_))), "{outcome:?}");
        assert!(read.into_inner() < batch);
    }

    /// A byte after the chunk tells that it is not the last.
    #[test]
    fn in_turn_a_chunk_is_written_before_more_than_a_byte_after_it_is_waited_for() {
        struct Asks<'a>(usize, &'a Cell<usize>);
        impl Read for Asks<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                assert_eq!(self.1.get(), self.0.saturating_sub(1) / 10, "after {} bytes", self.0);
                let more = usize::from(self.0 < 35);
                self.0 += more;
                buffer[..more].fill(7);
                Ok(more)
            }
        }
        let written = Cell::new(0);
        let write = |_: &mut Vec<u8>, _: &Chunk| {
            written.set(written.get() + 1);
            Ok(())
        };
        in_turn(Asks(0, &written), vec![], |_| 10, 0, |chunk, _| Ok(chunk.read), write).unwrap();
        assert_eq!(written.get(), 4);
    }

    #[test]
    fn a_chunk_too_large_for_memory_is_an_error() {
        let nothing = |chunk: &Chunk, _: &mut [u8]| Ok(chunk.read);
        let outcome = run(true, &[0; 100][..], vec![], |_| isize::MAX as usize, 0, nothing, |_, _| Ok(()));
        assert!(matches!(outcome, Err(Error::OutOfMemory)));
    }

    /// A thread that waits for a GPU in the pool keeps others from their work, which the GPU's kernels may wait for.
    #[test]
    fn threads_of_the_pool_work_on_chunks_only_on_the_cpu() {
        for on_cpu in [true, false] {
            let work = |chunk: &Chunk, _: &mut [u8]| {
                let is_in_pool = thread::current().name().is_some_and(|name| name.starts_with("aes-bitslice-"));
                assert_eq!(is_in_pool, on_cpu && threads() > 1, "{:?}", thread::current());
                Ok(chunk.read)
            };
            // Whole batches: a single chunk is the caller's.
            let data = vec![0; 3 * 10 * EACH * threads()];
            run(on_cpu, &data[..], vec![], |_| 10, 0, work, |_, _| Ok(())).unwrap();
        }
    }
}
