//! What is done to a stream of segments, each with a tag: a chunk is a group of them.

use std::ops::Range;

use aes_bitslice_seal::{Error as SealError, Opening, Part, Sealing};

use crate::chunk::{BLOCK, Chunk, Cut, Steps};
use crate::error::{Error, Exit, Result};
use crate::transform::OnChunks;

/// What is done to one stream of segments.
pub struct Segments {
    what: What,
    /// Segments of a chunk.
    group: u64,
    /// What more may be wrong with a segment that is not authentic than that it was changed, for messages.
    if_not_authentic: &'static str,
}

enum What {
    Seal(Sealing),
    Open(Opening),
    /// Only `bytes` bytes of the message, which are in this part of the file; or none.
    OpenPart(Opening, Option<Part>, u64),
}

impl Segments {
    /// Seals, in chunks of about `chunk_bytes`, or as many as the engine is fast with.
    pub fn to_seal(sealing: Sealing, chunk_bytes: Option<usize>) -> Self {
        let group = group(chunk_bytes, sealing.places().segment_bytes(), sealing.group());
        Segments { what: What::Seal(sealing), group, if_not_authentic: "" }
    }

    /// Opens, in the same way, of a message all, or the `range` that is in `part` of the file.
    pub fn to_open(opening: Opening, range: Option<(Range<u64>, Option<Part>)>, chunk_bytes: Option<usize>) -> Self {
        let group = group(chunk_bytes, opening.places().segment_bytes(), opening.group());
        let what = match range {
            None => What::Open(opening),
            Some((range, part)) => What::OpenPart(opening, part, range.end - range.start),
        };
        Segments { what, group, if_not_authentic: "" }
    }

    /// The same for a stream that does not tell another key from its own.
    pub fn of_any_key(self) -> Self {
        Segments { if_not_authentic: "; or the keyset, the key or the associated data are not its own", ..self }
    }

    /// The same where chunks are read or written in order, and the length of them was not chosen.
    ///
    /// Then the cores share out each chunk. Where each had one of its own, those that pipe data wait for those that compute: 1 GiB
    /// out of a pipe took 1.15 s on two cores, and 0.5 s so.
    pub fn in_order(self) -> Self {
        /// Bytes of a chunk at least.
        const LEAST: usize = 4 << 20;
        let segment = match &self.what {
            What::Seal(sealing) => sealing.places().segment_bytes(),
            What::Open(opening) | What::OpenPart(opening, ..) => opening.places().segment_bytes(),
        };
        Segments { group: self.group.max((LEAST / segment) as u64), ..self }
    }

    /// How the stream is cut.
    pub fn cut(&self) -> Cut {
        let (places, message_is_read, first, skip) = match &self.what {
            What::Seal(sealing) => (sealing.places(), true, 0, 0),
            What::Open(opening) => (opening.places(), false, 0, 0),
            What::OpenPart(opening, part, _) => {
                let (first, skip) = part.as_ref().map_or((0, 0), |part| (part.first, part.skip));
                (opening.places(), false, first, skip as u64)
            }
        };
        let less = (places.plaintext_bytes(1) - places.plaintext_bytes(first)) as u64;
        let steps = |bytes: usize, less| Steps { bytes: self.group * bytes as u64, less };
        let file = steps(places.segment_bytes(), less);
        let message = steps(places.plaintext_bytes(1), less + skip);
        match message_is_read {
            true => Cut { read: message, written: file, chained: false },
            false => Cut { read: file, written: message, chained: false },
        }
    }

    /// Bytes of memory for a chunk of a stream of `length` bytes, where that is known.
    pub fn memory(&self, length: Option<u64>) -> usize {
        let Cut { read, written, .. } = self.cut();
        let chunk = read.bytes.max(written.bytes);
        let longest = length.and_then(|length| Some(length.max(self.longest_output(length)?)));
        longest.map_or(chunk, |longest| longest.min(chunk)).max(BLOCK as u64) as usize
    }
}

/// Segments of a chunk.
fn group(chunk_bytes: Option<usize>, segment_bytes: usize, of_engine: usize) -> u64 {
    chunk_bytes.map_or(of_engine, |bytes| (bytes / segment_bytes).max(1)) as u64
}

impl OnChunks for Segments {
    fn header(&self) -> &[u8] {
        match &self.what {
            What::Seal(sealing) => sealing.header(),
            What::Open(_) | What::OpenPart(..) => &[],
        }
    }

    fn longest_output(&self, length: u64) -> Option<u64> {
        match &self.what {
            What::Seal(sealing) => Some(sealing.places().file_bytes(length) - sealing.header().len() as u64),
            What::Open(opening) => {
                let places = opening.places();
                places.message(length + places.header_bytes() as u64).ok().map(|(_, bytes)| bytes)
            }
            What::OpenPart(_, _, bytes) => Some(*bytes),
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
        let first = chunk.index * self.group;
        let made = match &self.what {
            What::Seal(sealing) => sealing.seal(first, chunk.last, memory, chunk.length).map(|bytes| 0..bytes),
            What::Open(opening) => opening.open(first, chunk.last, memory, chunk.length).map(|bytes| 0..bytes),
            What::OpenPart(_, None, _) => Ok(0..0),
            What::OpenPart(opening, Some(part), bytes) => {
                let opened = opening.open(part.first + first, chunk.last && part.is_end, memory, chunk.length);
                opened.map(|opened| {
                    let skip = if chunk.index == 0 { part.skip } else { 0 };
                    let left = usize::try_from(bytes - chunk.to).unwrap_or(usize::MAX);
                    skip..opened.min(left.saturating_add(skip))
                })
            }
        };
        made.map_err(|error| match error {
            SealError::Damaged { .. } => Error::new(Exit::Failure, format!("{name}: {error}{}", self.if_not_authentic)),
            _ => explain(name, error),
        })
    }
}

/// The error of a command that reads the input `name`.
pub fn explain(name: &str, error: SealError) -> Error {
    let advice = match error {
        SealError::LikeTink => "; if it is, add --format tink",
        SealError::Sealed => "; leave --format tink out",
        _ => "",
    };
    match error {
        SealError::Io(error) => Error::io(format!("cannot read {name}"), &error),
        SealError::Engine(error) => error.into(),
        SealError::KeyLength(_) => {
            Error::new(Exit::Key, format!("{error}; `aes-bitslice keygen -b 256 -o KEY` makes one"))
        }
        SealError::EmptyPassphrase | SealError::Keyset(_) => Error::new(Exit::Key, error.to_string()),
        SealError::WrongKey
        | SealError::WrongPassphrase
        | SealError::NeedsPassphrase
        | SealError::NeedsKey
        | SealError::NoKeyOpens => Error::new(Exit::Key, format!("{name}: {error}")),
        SealError::Thread(_) | SealError::OutOfMemory | SealError::Random(_) => {
            Error::new(Exit::Failure, error.to_string())
        }
        SealError::Range { .. } => Error::new(Exit::Usage, format!("{name}: {error}")),
        _ => Error::new(Exit::Failure, format!("{name}: {error}{advice}")),
    }
}
