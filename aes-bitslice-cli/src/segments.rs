//! Seals or opens a stream of segments, each with a tag: a chunk is several consecutive segments.

use std::io;
use std::ops::{Range, RangeBounds};

use aes_bitslice_seal::{Error as SealError, Opening, Part, Sealing};

use crate::chunk::{BLOCK, Chunk, Cut, Steps};
use crate::error::{Error, Exit, Result};
use crate::transform::OnChunks;

/// What else may be wrong with a segment of a stream that cannot tell a wrong key from its own.
const OF_ANY_KEY: &str = "; or the keyset, the key or the associated data are not its own";

/// The sealing or opening of one stream of segments.
pub struct Segments {
    what: What,
    /// Segments of a chunk.
    chunk_segments: u64,
    /// For messages: what may be wrong with a segment that is not authentic, other than a change.
    if_not_authentic: &'static str,
}

enum What {
    Seal(Sealing),
    Open(Opening, Wanted),
}

/// The part of a message that is opened.
struct Wanted {
    /// The first segment that is read.
    first: u64,
    /// The bytes of its plaintext to skip.
    skip: usize,
    /// How many bytes are wanted from there on; all if `None`.
    bytes: Option<u64>,
    /// Whether the last segment that is read is the last of the message.
    is_end: bool,
}

impl Wanted {
    const ALL: Self = Self { first: 0, skip: 0, bytes: None, is_end: true };

    /// What `part` of the file holds.
    fn of(part: Part) -> Self {
        let Part { range, first, skip, is_end, .. } = part;
        Self { first, skip, bytes: Some(range.end - range.start), is_end }
    }
}

impl Segments {
    /// Seals, in chunks of about `chunk_bytes`, or of a size at which the engine is fast.
    pub fn to_seal(sealing: Sealing, chunk_bytes: Option<usize>) -> Self {
        let chunk_segments = chunk_segments(chunk_bytes, sealing.places().segment_bytes(), sealing.chunk_segments());
        Segments { what: What::Seal(sealing), chunk_segments, if_not_authentic: "" }
    }

    /// Opens a whole message, or what `part` of the file holds, in chunks of about `chunk_bytes`, or of a size at which the engine is fast.
    pub fn to_open(opening: Opening, part: Option<Part>, chunk_bytes: Option<usize>) -> Self {
        let chunk_segments = chunk_segments(chunk_bytes, opening.places().segment_bytes(), opening.chunk_segments());
        let wanted = part.map_or(Wanted::ALL, Wanted::of);
        Segments { what: What::Open(opening, wanted), chunk_segments, if_not_authentic: "" }
    }

    /// Adapts the message for data that is not authentic to a stream that cannot tell a wrong key from its own.
    pub fn of_any_key(self) -> Self {
        Segments { if_not_authentic: OF_ANY_KEY, ..self }
    }

    /// Cuts for chunks that are read or written in order, whose length was not chosen.
    ///
    /// The cores then share each chunk. If each had its own, those that pipe data would wait for those that compute: 1 GiB out of a pipe
    /// took 1.15 s on two cores that way, and 0.5 s this way.
    pub fn in_order(self) -> Self {
        /// The fewest bytes of a chunk.
        const LEAST: usize = 4 << 20;
        let segment = match &self.what {
            What::Seal(sealing) => sealing.places().segment_bytes(),
            What::Open(opening, _) => opening.places().segment_bytes(),
        };
        Segments { chunk_segments: self.chunk_segments.max((LEAST / segment) as u64), ..self }
    }

    /// How the stream is cut.
    pub fn cut(&self) -> Cut {
        let (places, message_is_read, first, skip) = match &self.what {
            What::Seal(sealing) => (sealing.places(), true, 0, 0),
            What::Open(opening, wanted) => (opening.places(), false, wanted.first, wanted.skip as u64),
        };
        let less = (places.plaintext_bytes(1) - places.plaintext_bytes(first)) as u64;
        let steps = |bytes: usize, less| Steps { bytes: self.chunk_segments * bytes as u64, less };
        let file = steps(places.segment_bytes(), less);
        let message = steps(places.plaintext_bytes(1), less + skip);
        if message_is_read {
            Cut { read: message, written: file, chained: false }
        } else {
            Cut { read: file, written: message, chained: false }
        }
    }

    /// Bytes of memory for a chunk of a stream of `length` bytes, if known.
    pub fn memory(&self, length: Option<u64>) -> usize {
        let Cut { read, written, .. } = self.cut();
        let chunk = read.bytes.max(written.bytes);
        let longest = length.and_then(|length| Some(length.max(self.longest_output(length)?)));
        longest.map_or(chunk, |longest| longest.min(chunk)).max(BLOCK as u64) as usize
    }
}

/// Segments of a chunk.
fn chunk_segments(chunk_bytes: Option<usize>, segment_bytes: usize, of_engine: usize) -> u64 {
    chunk_bytes.map_or(of_engine, |bytes| (bytes / segment_bytes).max(1)) as u64
}

impl OnChunks for Segments {
    fn header(&self) -> &[u8] {
        match &self.what {
            What::Seal(sealing) => sealing.header(),
            What::Open(..) => &[],
        }
    }

    fn longest_output(&self, length: u64) -> Option<u64> {
        match &self.what {
            What::Seal(sealing) => Some(sealing.places().file_bytes(length) - sealing.header().len() as u64),
            What::Open(opening, wanted) => wanted.bytes.or_else(|| {
                let places = opening.places();
                places.message(length + places.header_bytes() as u64).ok().map(|(_, bytes)| bytes)
            }),
        }
    }

    fn chained_to(&self) -> Option<[u8; BLOCK]> {
        None
    }

    fn apply(
        &self,
        chunk: &Chunk,
        _before: Option<[u8; BLOCK]>,
        memory: &mut [u8],
        name: &str,
    ) -> Result<Range<usize>> {
        let first = chunk.index * self.chunk_segments;
        let made = match &self.what {
            What::Seal(sealing) => sealing.seal(first, chunk.last, memory, chunk.length).map(|bytes| 0..bytes),
            What::Open(opening, wanted) => {
                let opened = opening.open(wanted.first + first, chunk.last && wanted.is_end, memory, chunk.length);
                opened.map(|opened| {
                    let skip = if chunk.index == 0 { wanted.skip } else { 0 };
                    let left = wanted.bytes.map_or(u64::MAX, |bytes| bytes - chunk.to);
                    skip..opened.min(usize::try_from(left).unwrap_or(usize::MAX).saturating_add(skip))
                })
            }
        };
        made.map_err(|error| explain_segment(name, error, self.if_not_authentic))
    }
}

/// The part of a file of `length` bytes that holds a `range` of its message. If it holds none, the error; but first checks that the message
/// ends there, with what `read` reads at a place: until then, its length is only what the file says.
pub fn part(
    opening: &Opening,
    name: &str,
    length: u64,
    range: &impl RangeBounds<u64>,
    is_of_any_key: bool,
    read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
) -> Result<Part> {
    let if_not_authentic = if is_of_any_key { OF_ANY_KEY } else { "" };
    opening.part(length, range, read).map_err(|error| explain_segment(name, error, if_not_authentic))
}

/// The number of bytes of the message in a file of `length` bytes, with its last segment opened, which `read` reads at its place.
pub fn message_bytes(
    opening: &Opening,
    name: &str,
    length: u64,
    is_of_any_key: bool,
    read: impl FnOnce(u64, &mut [u8]) -> io::Result<()>,
) -> Result<u64> {
    let if_not_authentic = if is_of_any_key { OF_ANY_KEY } else { "" };
    opening.message_bytes(length, read).map_err(|error| explain_segment(name, error, if_not_authentic))
}

/// The error of a segment of the input `name`, and what else may be wrong if it is not authentic.
fn explain_segment(name: &str, error: SealError, if_not_authentic: &str) -> Error {
    match error {
        SealError::Damaged { .. } => Error::damaged(format!("{name}: {error}{if_not_authentic}")),
        _ => explain(name, error),
    }
}

/// The error of a command that reads the input `name`.
pub fn explain(name: &str, error: SealError) -> Error {
    let advice = match error {
        SealError::LikeTink => "; if it is, add --format tink",
        SealError::Sealed => "; leave --format tink out",
        SealError::NeedsPassphrase => "; use --passphrase or --passphrase-file",
        SealError::NeedsKey => "; use --key-file or --key-env",
        SealError::NotSealed => "; `decrypt` is for what `encrypt` made",
        _ => "",
    };
    match error {
        SealError::Io(error) => Error::io(format!("cannot read {name}"), &error),
        SealError::Engine(error) => error.into(),
        SealError::KeyLength(_)
        | SealError::XtsKey
        | SealError::EmptyPassphrase
        | SealError::PassphraseText(_)
        | SealError::Keyset(_) => Error::new(Exit::Key, error.to_string()),
        SealError::WrongKey | SealError::WrongPassphrase | SealError::NeedsPassphrase | SealError::NeedsKey => {
            Error::new(Exit::Key, format!("{name}: {error}{advice}"))
        }
        SealError::Thread(_) | SealError::OutOfMemory | SealError::Random(_) => {
            Error::new(Exit::Failure, error.to_string())
        }
        _ if error.may_be_of_what_follows() => {
            let exit = if matches!(error, SealError::NoKeyOpens) { Exit::Key } else { Exit::Failure };
            Error::of_data(exit, format!("{name}: {error}"))
        }
        SealError::Range { .. } => Error::new(Exit::Usage, format!("{name}: {error}")),
        _ => Error::new(Exit::Failure, format!("{name}: {error}{advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::{Backend, Engine, Key};
    use aes_bitslice_seal::{PassphraseCost, Secret};

    /// What is sealed in one chunk is as long as expected, and so is what comes out of that.
    #[test]
    fn lengths_are_known_beforehand() {
        let (engine, key) = (Engine::open(Backend::Cpu).unwrap(), Key::new(&[7; 32]).unwrap());
        let sealing = Sealing::new(&engine, Secret::Key(&key), PassphraseCost::default()).unwrap();
        let opening = Opening::new(&engine, Secret::Key(&key), sealing.header()).unwrap();
        let (seal, open) = (Segments::to_seal(sealing, None), Segments::to_open(opening, None, None));
        for length in [0, 1, 100_000] {
            let mut memory = vec![7; seal.memory(Some(length))];
            let chunk = Chunk { index: 0, offset: 0, length: length as usize, to: 0, before: None, last: true };
            let sealed = seal.apply(&chunk, None, &mut memory, "it").unwrap().len() as u64;
            assert_eq!((seal.longest_output(length), open.longest_output(sealed)), (Some(sealed), Some(length)));
        }
    }

    #[test]
    fn what_is_said_of_each_error() {
        let of_engine = || Key::new(&[7; 5]).err().unwrap();
        let range = SealError::Range { start: 1, end: Some(2), len: 0 };
        for (error, exit, message) in [
            (SealError::Io(io::Error::other("why")), Exit::InputOutput, "cannot read it: why"),
            (SealError::Engine(of_engine()), Exit::Key, &of_engine().to_string()),
            (
                SealError::KeyLength(128),
                Exit::Key,
                "a key of 256 bits (32 bytes) is needed here, and this one has 128 bits",
            ),
            (SealError::WrongKey, Exit::Key, "it: wrong key: the file was sealed with another"),
            (
                SealError::NeedsPassphrase,
                Exit::Key,
                "it: the file was sealed with a passphrase: a key does not open it; use --passphrase or --passphrase-file",
            ),
            (
                SealError::NeedsKey,
                Exit::Key,
                "it: the file was sealed with a key: a passphrase does not open it; use --key-file or --key-env",
            ),
            (
                SealError::LikeTink,
                Exit::Failure,
                "it: this is not a sealed file; it may be a Tink stream; if it is, add --format tink",
            ),
            (
                SealError::Sealed,
                Exit::Failure,
                "it: this is a sealed file, and not a Tink stream alone; leave --format tink out",
            ),
            (
                SealError::NotSealed,
                Exit::Failure,
                "it: this is not a sealed file, or its first bytes are damaged; `decrypt` is for what `encrypt` made",
            ),
            (SealError::Thread(io::Error::other("why")), Exit::Failure, "cannot start a thread: why"),
            (SealError::CutOff("why"), Exit::Failure, "it: the stream is damaged (why)"),
            (range, Exit::Usage, "it: the message has 0 bytes: there is no range 1..2 in it"),
        ] {
            let explained = explain("it", error);
            assert_eq!((explained.exit(), explained.message()), (exit, message));
        }
        let of_keyset = explain("it", SealError::NoKeyOpens);
        assert!(of_keyset.exit() == Exit::Key && of_keyset.message().starts_with("it: no key of the keyset opens"));
    }
}
