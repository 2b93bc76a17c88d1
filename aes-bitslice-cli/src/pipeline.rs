//! Moves a stream through a function in chunks, in constant memory, while reading and writing go on beside it.
//!
//! Three buffers go round: one is being read into by a thread, one is in the function, one is being written by
//! another thread. Everything that happens arrives at the caller's thread as an event, so the first failure of
//! any of the three ends it, even when a read would still block.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc;
use std::thread;

use crate::error::{Error, Exit, Result};
use crate::input::Input;
use crate::output::Output;

/// Buffers in flight.
const BUFFERS: usize = 3;

/// What a function may add to the last chunk without a second allocation: a block of padding.
const SLACK: usize = 16;

/// A piece of the stream.
pub struct Chunk {
    /// As many bytes as asked for, or fewer if this is the last.
    pub data: Vec<u8>,
    /// Whether the stream ends here. There is always a last chunk, and it is empty only if the stream is.
    pub last: bool,
}

enum Event {
    Filled(io::Result<Chunk>),
    Drained(io::Result<Vec<u8>>),
}

/// Sends every chunk of `chunk_bytes` bytes of `input` through `transform` to `output`; `progress` hears how
/// many bytes were written.
pub fn run(
    input: Input,
    output: &Output,
    chunk_bytes: usize,
    mut transform: impl FnMut(&mut Chunk) -> Result<()>,
    progress: impl Fn(u64),
) -> Result<()> {
    let Input { file, name, .. } = input;
    let (empty, to_fill) = mpsc::channel();
    let (full, to_drain) = mpsc::channel();
    let (reader_events, events) = mpsc::channel();
    let writer_events = reader_events.clone();
    for _ in 0..BUFFERS {
        let _ = empty.send(Vec::new());
    }
    // Not joined: after a failure elsewhere a thread may be blocked on a terminal or a pipe for good.
    spawn("reader", move || read(file, chunk_bytes, &to_fill, &reader_events))?;
    let writer = output.writer()?;
    spawn("writer", move || write(writer, &to_drain, &writer_events))?;

    let (mut chunks, mut ended) = (0_usize, false);
    while !ended || chunks > 0 {
        match events.recv() {
            Ok(Event::Filled(Ok(mut chunk))) => {
                transform(&mut chunk)?;
                ended = chunk.last;
                chunks += 1;
                let _ = full.send(chunk.data);
            }
            Ok(Event::Drained(Ok(buffer))) => {
                progress(buffer.len() as u64);
                chunks -= 1;
                let _ = empty.send(buffer);
            }
            Ok(Event::Filled(Err(error))) => return Err(Error::io(format!("cannot read {name}"), &error)),
            Ok(Event::Drained(Err(error))) => return Err(output.error(&error)),
            Err(mpsc::RecvError) => return Err(Error::new(Exit::Failure, "reading and writing stopped unexpectedly")),
        }
    }
    Ok(())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let thread = thread::Builder::new().name(name.into()).spawn(work);
    thread.map(drop).map_err(|error| Error::new(Exit::Failure, format!("cannot start a thread: {error}")))
}

fn read(mut file: File, chunk_bytes: usize, to_fill: &mpsc::Receiver<Vec<u8>>, events: &mpsc::Sender<Event>) {
    // Reading a byte ahead tells whether a chunk is the last.
    let mut ahead = None;
    while let Ok(buffer) = to_fill.recv() {
        let chunk = fill(&mut file, chunk_bytes, buffer, &mut ahead);
        let go_on = matches!(&chunk, Ok(chunk) if !chunk.last);
        if events.send(Event::Filled(chunk)).is_err() || !go_on {
            return;
        }
    }
}

fn fill(source: &mut impl Read, chunk_bytes: usize, mut data: Vec<u8>, ahead: &mut Option<u8>) -> io::Result<Chunk> {
    data.clear();
    data.try_reserve_exact(chunk_bytes + SLACK).map_err(|_| ErrorKind::OutOfMemory)?;
    data.extend(ahead.take());
    let room = chunk_bytes - data.len();
    source.by_ref().take(room as u64).read_to_end(&mut data)?;
    if data.len() < chunk_bytes {
        return Ok(Chunk { data, last: true });
    }
    let mut next = [0];
    let last = match source.read_exact(&mut next) {
        Ok(()) => false,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => true,
        Err(error) => return Err(error),
    };
    *ahead = (!last).then_some(next[0]);
    Ok(Chunk { data, last })
}

fn write(mut file: File, to_drain: &mpsc::Receiver<Vec<u8>>, events: &mpsc::Sender<Event>) {
    while let Ok(buffer) = to_drain.recv() {
        let drained = file.write_all(&buffer).map(|()| buffer);
        let go_on = drained.is_ok();
        if events.send(Event::Drained(drained)).is_err() || !go_on {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Yields at most three bytes a read, as a slow pipe does.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(3);
            self.0.read(&mut buffer[..length])
        }
    }

    #[test]
    fn chunks_are_full_but_the_last_and_only_an_empty_stream_ends_in_an_empty_chunk() {
        let stream: Vec<u8> = (0..100).collect();
        for length in 0..=100 {
            let (mut source, mut ahead) = (Dribble(&stream[..length]), None);
            let mut chunks = Vec::new();
            loop {
                let chunk = fill(&mut source, 16, vec![9; 5], &mut ahead).unwrap();
                let last = chunk.last;
                chunks.push(chunk.data);
                if last {
                    break;
                }
            }
            assert_eq!(chunks.concat(), &stream[..length]);
            assert_eq!(chunks.len(), length.div_ceil(16).max(1));
            assert!(chunks[..chunks.len() - 1].iter().all(|data| data.len() == 16));
        }
    }
}
