//! A file that is being sealed or opened: chunks of its segments in any order, by any thread; or all of it from a reader to a writer.

use crate::chunk::Chunk;
use crate::error::Error;
use crate::header::{self, Header};
use crate::passphrase::PassphraseCost;
use crate::pipeline;
use crate::places::{Part, Places, TAG};
use crate::secret::Secret;
use crate::start::stream_header_bytes;
use crate::stream::Stream;
use aes_bitslice_core::memory::filled;
use aes_bitslice_runtime::{Cipher, Engine};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::RangeBounds;
use zeroize::Zeroizing;

/// A new file: a [sealed](Self::new) one, or a [stream alone](crate::tink::sealing). The bytes to write come from [`header`](Self::header)
/// and [`seal`](Self::seal), and go where [`places`](Self::places) says.
///
/// ```
/// use aes_bitslice_runtime::{Backend, Engine, Key, KeyBits};
/// use aes_bitslice_seal::{Opening, PassphraseCost, Sealing, Secret};
///
/// let engine = Engine::open(Backend::Cpu)?;
/// let key = Key::generate(KeyBits::Aes256)?;
/// let sealing = Sealing::new(&engine, Secret::Key(&key), PassphraseCost::default())?;
/// let mut memory = *b"a message       its tag         ";
/// let bytes = sealing.seal(0, true, &mut memory, 9)?;
/// let file = [sealing.header(), &memory[..bytes]].concat();
/// assert_eq!(file.len() as u64, sealing.places().file_bytes(9));
///
/// let opening = Opening::new(&engine, Secret::Key(&key), &file[..Opening::START])?;
/// let mut memory = file[opening.places().header_bytes()..].to_vec();
/// let bytes = memory.len();
/// let bytes = opening.open(0, true, &mut memory, bytes)?;
/// assert_eq!(&memory[..bytes], b"a message");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sealing {
    header: Vec<u8>,
    stream: Stream,
}

/// An existing file: a [sealed](Self::new) one, or a [stream alone](crate::tink::opening).
pub struct Opening {
    stream: Stream,
}

impl Sealing {
    /// A new sealed file. `cost` is the cost of trying a passphrase.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::XtsKey`], [`Error::EmptyPassphrase`], [`Error::PassphraseCost`], and what the engine reports.
    pub fn new(engine: &Engine, secret: Secret<'_>, cost: PassphraseCost) -> Result<Self, Error> {
        let (header, key) = secret.header(cost)?;
        let header = header.to_bytes();
        let (of_stream, stream) = key.begin(engine, &header, header.len())?;
        Ok(Self::of_stream([&header[..], &of_stream].concat(), stream))
    }

    pub(crate) fn of_stream(header: Vec<u8>, stream: Stream) -> Self {
        Self { header, stream }
    }

    /// For the bindings: whether [`run`](Self::run) reads on the caller's thread, and works on each chunk and writes it before it waits for
    /// the next.
    #[doc(hidden)]
    pub fn in_turn(mut self, in_turn: bool) -> Self {
        self.stream.in_turn = in_turn;
        self
    }

    /// The beginning of the file.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Where sealed segments belong.
    pub fn places(&self) -> Places {
        self.stream.places
    }

    /// The best number of segments in a chunk: more on a GPU.
    pub fn chunk_segments(&self) -> usize {
        self.stream.chunk_segments()
    }

    /// Seals a chunk in place: the `bytes` bytes of the message at the front of `memory`, which are the plaintext of the segments from
    /// number `first` on. They become these segments, one after another, each with its tag; `memory` must have room for the tags, 16 bytes
    /// a segment. Returns the number of bytes of the segments.
    ///
    /// `is_last` says that the message ends with this chunk; otherwise it must be whole segments. Seal each segment once: a second time
    /// with other bytes would reveal both.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more segments than a stream can have, and what the engine reports.
    ///
    /// # Panics
    /// If `memory` has no room for the tags, or if the chunk is not the last and ends within a segment.
    pub fn seal(&self, first: u64, is_last: bool, memory: &mut [u8], bytes: usize) -> Result<usize, Error> {
        self.stream.seal(first, is_last, memory, bytes)
    }

    /// For the bindings: seals a whole message. Returns how many bytes it has.
    #[doc(hidden)]
    pub fn run<W: Write>(&self, input: impl Read + Send, mut output: W) -> Result<u64, Error> {
        output.write_all(&self.header)?;
        let (places, segments, mut bytes) = (self.places(), self.chunk_segments() as u64, 0);
        let of_chunk =
            |number| (places.first_byte((number + 1) * segments) - places.first_byte(number * segments)) as usize;
        let room = TAG * segments as usize;
        let work = |of: &Chunk, memory: &mut [u8]| self.seal(of.number * segments, of.is_last, memory, of.read);
        let write = |output: &mut W, of: &Chunk| {
            bytes += of.read as u64;
            Ok(output.write_all(&of.bytes)?)
        };
        if self.stream.in_turn {
            pipeline::in_turn(input, output, of_chunk, room, work, write)?
        } else {
            pipeline::run(self.stream.is_on_cpu(), input, output, of_chunk, room, work, write)?
        }
        Ok(bytes)
    }
}

impl Opening {
    /// The number of bytes at the start of a sealed file that tell how to open it.
    pub const START: usize = header::BYTES + stream_header_bytes(32);

    /// Whether a sealed file was sealed with a passphrase, not with a key. `start` is its first [`START`](Self::START) bytes, or the whole
    /// file if it is shorter.
    ///
    /// # Errors
    /// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::OfOpenssl`], [`Error::Version`], [`Error::DamagedHeader`].
    pub fn needs_passphrase(start: &[u8]) -> Result<bool, Error> {
        let header = Header::parse(&start[..start.len().min(header::BYTES)])?;
        Ok(header.cost.is_some())
    }

    /// The sealed file that begins with `start`, of [`START`](Self::START) bytes, or all bytes of a shorter file.
    ///
    /// # Errors
    /// [`Error::NotSealed`], [`Error::LikeTink`], [`Error::OfOpenssl`], [`Error::Version`], [`Error::DamagedHeader`]; [`Error::WrongKey`],
    /// [`Error::WrongPassphrase`], [`Error::NeedsKey`], [`Error::NeedsPassphrase`]; [`Error::CutOff`]; and what the engine reports.
    pub fn new(engine: &Engine, secret: Secret<'_>, start: &[u8]) -> Result<Self, Error> {
        let (header, of_stream) = start.split_at(start.len().min(header::BYTES));
        let key = secret.stream_key(&Header::parse(header)?)?;
        let of_stream = &of_stream[..of_stream.len().min(key.header_bytes())];
        Ok(Self::of_stream(key.stream(engine, of_stream, header, header.len())?))
    }

    pub(crate) fn of_stream(stream: Stream) -> Self {
        Self { stream }
    }

    /// For the bindings: whether [`run`](Self::run) and [`open_range`](Self::open_range) read on the caller's thread, and work on each chunk
    /// and write it before they wait for the next.
    #[doc(hidden)]
    pub fn in_turn(mut self, in_turn: bool) -> Self {
        self.stream.in_turn = in_turn;
        self
    }

    /// Where segments are.
    pub fn places(&self) -> Places {
        self.stream.places
    }

    /// The best number of segments in a chunk: more on a GPU.
    pub fn chunk_segments(&self) -> usize {
        self.stream.chunk_segments()
    }

    /// Opens a chunk in place: the `bytes` bytes of the file at the front of `memory`, which are the segments from number `first` on, with
    /// their tags. They become their part of the message. Returns its number of bytes.
    ///
    /// `is_last` says that the file ends with this chunk; otherwise it must be whole segments.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the number of the first segment that is not authentic, or is cut off; [`Error::TooLong`], and what the
    /// engine reports. These bytes of `memory` are then cleared.
    ///
    /// # Panics
    /// If `memory` has fewer than `bytes` bytes.
    pub fn open(&self, first: u64, is_last: bool, memory: &mut [u8], bytes: usize) -> Result<usize, Error> {
        self.stream.open(first, is_last, memory, bytes)
    }

    /// The cipher of the segments, for a caller that decrypts them where it wants, such as in GPU memory: each is a message of AES-GCM under
    /// its [`nonce`](Self::nonce), without additional data. No byte of a segment may be used before its tag is checked.
    ///
    /// ```
    /// use aes_bitslice_runtime::{Backend, Engine, GcmDecrypt, Key, KeyBits, Tag};
    /// use aes_bitslice_seal::{Opening, Secret, seal};
    ///
    /// let engine = Engine::open(Backend::Cpu)?;
    /// let key = Key::generate(KeyBits::Aes256)?;
    /// let mut file = Vec::new();
    /// seal(&engine, Secret::Key(&key), &b"a message"[..], &mut file)?;
    ///
    /// let opening = Opening::new(&engine, Secret::Key(&key), &file[..Opening::START])?;
    /// let (data, tag) = file[opening.places().header_bytes()..].split_at_mut(9);
    /// let nonce = opening.nonce(0, true)?.into();
    /// opening.cipher().run(GcmDecrypt::new(&nonce, &[], &Tag::new(tag)?), &mut *data)?;
    /// assert_eq!(data, b"a message");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cipher(&self) -> &Cipher {
        &self.stream.cipher
    }

    /// The nonce of a segment, from 0; `is_last` is whether the message ends with it.
    ///
    /// # Errors
    /// [`Error::TooLong`] for a segment that no stream has.
    pub fn nonce(&self, index: u64, is_last: bool) -> Result<[u8; 12], Error> {
        self.stream.nonce(index, is_last)
    }

    /// The number of bytes of the message of a file of `file` bytes. The last segment is opened, which is marked as the last: this shows
    /// that the file was not cut, as its length alone does not. `read` fills a slice with the bytes of the file from a position on.
    ///
    /// # Errors
    /// [`Error::Damaged`] and [`Error::CutOff`] for a file that was changed or cut, [`Error::TooLong`] for more segments than a stream can
    /// have, [`Error::OutOfMemory`], and what reading and the engine report.
    pub fn message_bytes(&self, file: u64, read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>) -> Result<u64, Error> {
        let (_, len) = self.places().message(file)?;
        let Part { first, read: place, .. } = self.places().part(file, &(len..len))?;
        let bytes = (place.end - place.start) as usize;
        let mut memory = Zeroizing::new(filled(0, bytes)?);
        read(place.start, &mut memory)?;
        self.open(first, true, &mut memory, bytes).map(|_| len)
    }

    /// The part of a file of `file` bytes that holds the bytes `range` of its message, as [`Places::part`] says. A range outside the message
    /// is refused only when [`message_bytes`](Self::message_bytes) has shown that the message ends with the file.
    ///
    /// # Errors
    /// [`Error::Range`] for bytes that the message does not have, [`Error::Damaged`] and [`Error::CutOff`] for a file that was changed or
    /// cut, [`Error::TooLong`] for more segments than a stream can have, [`Error::OutOfMemory`], and what reading and the engine report.
    pub fn part(
        &self,
        file: u64,
        range: &impl RangeBounds<u64>,
        read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
    ) -> Result<Part, Error> {
        self.places().part(file, range).or_else(|outside| match outside {
            Error::Range { .. } => self.message_bytes(file, read).and(Err(outside)),
            _ => Err(outside),
        })
    }

    /// For the bindings: opens a whole file; `input` is past its header. Returns how many bytes the message has.
    #[doc(hidden)]
    pub fn run(&self, input: impl Read + Send, output: impl Write) -> Result<u64, Error> {
        let mut bytes = 0;
        self.chunks(
            input,
            output,
            0,
            |of| of.is_last,
            |output, opened| {
                bytes += opened.len() as u64;
                Ok(output.write_all(opened)?)
            },
        )?;
        Ok(bytes)
    }

    /// Opens the bytes `range` of the message of the file `input`, and writes them to `output`. Returns how many they are. Only the segments
    /// that hold them are read; for a range without an end, these are the segments up to the last.
    ///
    /// # Errors
    /// [`Error::Range`] for bytes that the message does not have, [`Error::Damaged`] and [`Error::CutOff`] for a file that was changed or
    /// cut, and what reading, writing and the engine report.
    pub fn open_range(
        &self,
        mut input: impl Read + Seek + Send,
        range: impl RangeBounds<u64>,
        output: impl Write,
    ) -> Result<u64, Error> {
        let file = input.seek(SeekFrom::End(0))?;
        let part = self.part(file, &range, read_at(&mut input))?;
        let Part { range, first, segments, read, skip, is_end } = part;
        input.seek(SeekFrom::Start(read.start))?;
        let mut at = range.start - skip as u64;
        // By its number: if a file ends earlier than it said, no other chunk becomes the last.
        let is_last = |of: &Chunk| is_end && (of.number + 1) * self.chunk_segments() as u64 >= segments;
        self.chunks(input.take(read.end - read.start), output, first, is_last, |output, opened| {
            let end = at + opened.len() as u64;
            let (from, to) = (range.start.clamp(at, end), range.end.clamp(at, end));
            output.write_all(&opened[(from - at) as usize..(to - at) as usize])?;
            at = end;
            Ok(())
        })?;
        if at < range.end {
            return Err(Error::CutOff("it is cut off: it became shorter while it was read"));
        }
        Ok(range.end - range.start)
    }

    /// Opens segments from number `first` on, in chunks; `is_last` tells which is the file's last.
    fn chunks<W: Write>(
        &self,
        input: impl Read + Send,
        output: W,
        first: u64,
        is_last: impl Fn(&Chunk) -> bool + Sync,
        mut write: impl FnMut(&mut W, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (places, segments) = (self.places(), self.chunk_segments() as u64);
        let segment = |number: u64| first + number * segments;
        let of_chunk = |number| (places.place(segment(number + 1)) - places.place(segment(number))) as usize;
        let work = |of: &Chunk, memory: &mut [u8]| self.open(segment(of.number), is_last(of), memory, of.read);
        let write = |output: &mut W, of: &Chunk| write(output, &of.bytes);
        if self.stream.in_turn {
            pipeline::in_turn(input, output, of_chunk, 0, work, write)
        } else {
            pipeline::run(self.stream.is_on_cpu(), input, output, of_chunk, 0, work, write)
        }
    }
}

/// Fills a slice with the bytes of `input` from a position on.
pub(crate) fn read_at(input: &mut (impl Read + Seek)) -> impl FnOnce(u64, &mut [u8]) -> io::Result<()> {
    move |place, bytes| {
        input.seek(SeekFrom::Start(place))?;
        input.read_exact(bytes)
    }
}

/// Reads up to `bytes` bytes at the start of a stream.
pub(crate) fn read_start(input: &mut impl Read, bytes: usize) -> Result<Vec<u8>, Error> {
    let mut start = Vec::with_capacity(bytes);
    input.take(bytes as u64).read_to_end(&mut start)?;
    Ok(start)
}
