//! Where chunks come from: any thread takes the next one, and reads it by itself if the input allows it. If nothing is read there are
//! chunks, too: the output, chunk by chunk.

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::memory::Memory;
use super::positional::read_exact_at;
use crate::chunk::{BLOCK, Chunk, Cut};
use crate::error::{Error, Exit, Result};
use crate::filled::read_up_to;
use crate::input::Input;

/// An input in chunks, or what takes its place if nothing is read.
pub struct Source {
    name: String,
    cut: Cut,
    kind: Kind,
}

enum Kind {
    /// A regular file: read by many threads at once. After the part that is read there were `rest` more bytes.
    Parallel { file: File, start: u64, length: u64, rest: u64, next: AtomicU64 },
    /// Anything else: read by one thread at a time.
    InOrder(Mutex<InOrder>),
    /// No input: chunks of `length` bytes to write.
    Nothing { length: u64, next: AtomicU64 },
}

struct InOrder {
    file: File,
    next: u64,
    /// Bytes that were read; those from the cursor's position on are in no chunk yet. At least one byte is needed to tell whether a chunk
    /// is the last.
    ahead: Cursor<Vec<u8>>,
    before: Option<[u8; BLOCK]>,
    ended: bool,
}

impl Source {
    /// The rest of `input`, in chunks.
    pub fn new(input: Input, cut: Cut) -> Self {
        let Input { file, name, start, length, rest, ahead } = input;
        let kind = match length {
            Some(length) => Kind::Parallel { file, start, length, rest, next: AtomicU64::new(0) },
            None => Kind::InOrder(Mutex::new(InOrder { file, next: 0, ahead, before: None, ended: false })),
        };
        Source { name, cut, kind }
    }

    /// Chunks for `length` bytes that are written, for which nothing is read: memory stays as it is.
    pub fn nothing(length: u64, cut: Cut) -> Self {
        Source { name: "nothing".into(), cut, kind: Kind::Nothing { length, next: AtomicU64::new(0) } }
    }

    /// The number of bytes of all chunks, if known.
    pub fn length(&self) -> Option<u64> {
        match &self.kind {
            Kind::Parallel { length, .. } | Kind::Nothing { length, .. } => Some(*length),
            Kind::InOrder(_) => None,
        }
    }

    /// How messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next chunk into `memory`; `None` after the last.
    pub fn take(&self, memory: &mut Memory) -> Result<Option<Chunk>> {
        match &self.kind {
            Kind::Parallel { file, start, length, next, .. } => {
                let Some(chunk) = self.next(*length, next) else { return Ok(None) };
                let position = start + chunk.offset;
                let read = |bytes: &mut [u8], position| {
                    read_exact_at(file, bytes, position).map_err(|error| self.error(&error))
                };
                read(&mut memory.get()?[..chunk.length], position)?;
                let mut before = (self.cut.chained && chunk.offset > 0).then_some([0; BLOCK]);
                if let Some(before) = &mut before {
                    read(before, position - BLOCK as u64)?;
                }
                Ok(Some(Chunk { before, ..chunk }))
            }
            Kind::InOrder(source) => {
                let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
                if source.ended {
                    return Ok(None);
                }
                let chunk = self.cut.chunk(source.next);
                let chunk = source.take(chunk, memory.get()?).map_err(|error| self.error(&error))?;
                Ok(Some(Chunk { before: chunk.before.filter(|_| self.cut.chained), ..chunk }))
            }
            Kind::Nothing { length, next } => Ok(self.next(*length, next)),
        }
    }

    /// The chunk of number `next`, which goes up by one, of a stream of `length` bytes; `None` after the last. Reads nothing.
    fn next(&self, length: u64, next: &AtomicU64) -> Option<Chunk> {
        let chunk = self.cut.chunk(next.fetch_add(1, Ordering::Relaxed));
        let left = length.max(1).checked_sub(chunk.offset).filter(|left| *left > 0)?.min(length);
        let data = usize::try_from(left).unwrap_or(usize::MAX).min(chunk.length);
        Some(Chunk { length: data, last: data as u64 == left, ..chunk })
    }

    /// All of it was read: leaves a file that others read, too, at its end. Returns a warning, if any.
    pub fn finish(&self) -> Option<String> {
        let Kind::Parallel { file, start, length, rest, .. } = &self.kind else { return None };
        let (mut file, end) = (file, start + length + rest);
        let _ = file.seek(SeekFrom::Start(end));
        let has_grown = file.metadata().is_ok_and(|metadata| metadata.len() > end);
        has_grown.then(|| format!("{} has grown since it was opened: only what it held then was read", self.name))
    }

    fn error(&self, error: &io::Error) -> Error {
        let what = format!("cannot read {}", self.name);
        match error.kind() {
            ErrorKind::UnexpectedEof => Error::new(
                Exit::InputOutput,
                format!("{what}: it became shorter while it was read; try again when no program is writing to it"),
            ),
            _ => Error::io(what, error),
        }
    }
}

impl InOrder {
    /// Reads as much of `chunk` as there is into `memory`.
    fn take(&mut self, chunk: Chunk, memory: &mut [u8]) -> io::Result<Chunk> {
        let data = &mut memory[..chunk.length];
        let (length, last) = fill(&mut self.file, data, &mut self.ahead)?;
        let chunk = Chunk { length, before: self.before, last, ..chunk };
        self.next += 1;
        self.before = data[..length].last_chunk().copied();
        self.ended = last;
        Ok(chunk)
    }
}

/// Fills `data` as far as there is input. Returns how far, and whether that was the end.
fn fill(source: &mut impl Read, data: &mut [u8], ahead: &mut Cursor<Vec<u8>>) -> io::Result<(usize, bool)> {
    let mut length = ahead.read(data)?;
    length += read_up_to(source, &mut data[length..])?;
    if length < data.len() {
        return Ok((length, true));
    }
    let is_empty = |ahead: &Cursor<Vec<u8>>| ahead.position() >= ahead.get_ref().len() as u64;
    if is_empty(ahead) {
        let mut next = [0];
        let read = read_up_to(source, &mut next)?;
        *ahead = Cursor::new(next[..read].to_vec());
    }
    Ok((length, is_empty(ahead)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::Steps;
    use crate::pipeline::memory::Gate;
    use std::io::Write;

    fn memory(chunk_bytes: usize) -> Memory {
        let engine = aes_bitslice_runtime::Engine::open(aes_bitslice_runtime::Backend::Cpu).unwrap();
        Memory::new(engine, chunk_bytes, Gate::default())
    }

    /// Yields at most three bytes a read, like a slow pipe, and is interrupted before each. Like a terminal, it would wait for more if it
    /// were read after its end.
    struct Dribble<'a> {
        bytes: &'a [u8],
        is_interrupted: bool,
        has_ended: bool,
    }

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!self.has_ended && !buffer.is_empty());
            self.is_interrupted = !self.is_interrupted;
            if self.is_interrupted {
                return Err(ErrorKind::Interrupted.into());
            }
            let length = buffer.len().min(3);
            self.has_ended = self.bytes.is_empty();
            self.bytes.read(&mut buffer[..length])
        }
    }

    #[test]
    fn chunks_are_full_but_the_last_and_only_an_empty_stream_ends_in_an_empty_chunk() {
        let stream: Vec<u8> = (0..100).collect();
        for (length, read) in
            (0..=100).flat_map(|length| [(length, 0), (length, length.min(1)), (length, length.min(40))])
        {
            let mut source = Dribble { bytes: &stream[read..length], is_interrupted: false, has_ended: false };
            let mut ahead = Cursor::new(stream[..read].to_vec());
            let mut chunks: Vec<Vec<u8>> = Vec::new();
            loop {
                let mut data = [9; 16];
                let (filled, last) = fill(&mut source, &mut data, &mut ahead).unwrap();
                chunks.push(data[..filled].to_vec());
                if last {
                    break;
                }
            }
            assert_eq!(chunks.concat(), &stream[..length]);
            assert_eq!(chunks.len(), length.div_ceil(16).max(1));
            assert!(chunks[..chunks.len() - 1].iter().all(|data| data.len() == 16));
        }
    }

    /// A file is cut into the same chunks however and from wherever it is read.
    #[test]
    fn both_kinds_of_input_are_cut_alike() {
        let stream: Vec<u8> = (0..100).collect();
        let shorter = |bytes, less, chained| Cut {
            read: Steps { bytes, less },
            written: Steps { bytes: bytes + 8, less: less + 2 },
            chained,
        };
        // If chunks come with the block before them, the first has at least a block.
        let cuts = [Cut::even(32), shorter(32, 5, true), shorter(32, 5, false), shorter(16, 15, false)];
        let starts = (0..=100).flat_map(|length| [(length, 0), (length, length.min(7))]);
        for ((length, start), cut) in starts.flat_map(|one| cuts.map(|cut| (one, cut))) {
            let take_all = |length_known: bool| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(&stream[..length]).unwrap();
                file.seek(SeekFrom::Start(start as u64)).unwrap();
                let known = length_known.then_some((length - start) as u64);
                let ahead = Cursor::default();
                let input = Input { file, name: "it".into(), start: start as u64, length: known, rest: 0, ahead };
                let (source, mut memory) = (Source::new(input, cut), memory(32));
                let mut chunks = Vec::new();
                while let Some(chunk) = source.take(&mut memory).unwrap() {
                    chunks.push((memory.get().unwrap()[..chunk.length].to_vec(), chunk));
                }
                assert!(source.take(&mut memory).unwrap().is_none());
                chunks
            };
            let chunks = take_all(true);
            assert_eq!(chunks, take_all(false), "{length} bytes from {start} on");
            let data: Vec<_> = chunks.iter().flat_map(|(data, _)| data.clone()).collect();
            assert_eq!(data, &stream[start..length]);
            for (index, (_, chunk)) in chunks.iter().enumerate() {
                let [read, written] =
                    [cut.read, cut.written].map(|steps| (index as u64 * steps.bytes).saturating_sub(steps.less));
                assert_eq!((chunk.index, chunk.offset, chunk.to), (index as u64, read, written));
            }
        }
    }

    /// Beyond 4 GiB in the file, and in the stream.
    #[test]
    fn positions_have_64_bits() {
        const FAR: u64 = 5 << 30;
        let mut file = tempfile::tempfile().unwrap();
        file.seek(SeekFrom::Start(FAR - 16)).unwrap();
        file.write_all(b"the block beforethe chunk itself").unwrap();
        for start in [FAR, 0] {
            let (file, index) = (file.try_clone().unwrap(), (FAR - start) / 16);
            let kind = Kind::Parallel { file, start, length: FAR - start + 16, rest: 0, next: AtomicU64::new(index) };
            let (source, mut memory) = (Source { name: "it".into(), cut: Cut::even(16), kind }, memory(16));
            let chunk = source.take(&mut memory).unwrap().unwrap();
            let before = (index > 0).then_some(*b"the block before");
            let expected = Chunk { index, offset: 16 * index, length: 16, to: 16 * index, before, last: true };
            assert_eq!((&memory.get().unwrap()[..16], chunk), (&b"the chunk itself"[..], expected));
        }
    }

    /// Output without an input is cut like a file of that length.
    #[test]
    fn chunks_of_nothing_are_those_of_a_file() {
        for length in (0..=100).chain([u64::MAX]) {
            let (source, mut memory) = (Source::nothing(length, Cut::even(32)), memory(32));
            assert_eq!(source.length(), Some(length));
            memory.get().unwrap().fill(9);
            let mut end = 0;
            for index in 0..length.div_ceil(32).clamp(1, 5) {
                let chunk = source.take(&mut memory).unwrap().unwrap();
                let last = 32 * (index + 1) >= length;
                assert_eq!((chunk.index, chunk.offset, chunk.before, chunk.last), (index, end, None, last), "{length}");
                assert!(chunk.length == 32 || chunk.last);
                end += chunk.length as u64;
            }
            if length <= 100 {
                assert_eq!(end, length);
                assert!(source.take(&mut memory).unwrap().is_none(), "{length}");
            }
            assert!(memory.get().unwrap().iter().all(|&byte| byte == 9));
            assert_eq!(source.finish(), None);
        }
    }

    #[test]
    fn a_file_that_becomes_shorter_or_longer_is_reported() {
        let source_of_100 = |file: &File, rest: u64| {
            file.set_len(100).unwrap();
            let file = file.try_clone().unwrap();
            let input =
                Input { file, name: "it".into(), start: 0, length: Some(100 - rest), rest, ahead: Cursor::default() };
            Source::new(input, Cut::even(64))
        };
        let (file, mut memory) = (tempfile::tempfile().unwrap(), memory(64));
        let source = source_of_100(&file, 0);
        assert_eq!(source.take(&mut memory).unwrap().unwrap().length, 64);
        file.set_len(99).unwrap();
        let error = source.take(&mut memory).unwrap_err();
        assert!(error.message().contains("it became shorter"), "{}", error.message());

        // After the part that is read, too.
        for rest in [0, 10] {
            let source = source_of_100(&file, rest);
            assert_eq!(source.finish(), None);
            file.set_len(101).unwrap();
            while let Some(chunk) = source.take(&mut memory).unwrap() {
                assert_eq!(chunk.last, chunk.offset + chunk.length as u64 == 100 - rest);
            }
            assert!(source.finish().unwrap().contains("has grown"));
        }
    }
}
