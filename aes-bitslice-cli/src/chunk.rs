//! A chunk of a stream: the unit of a worker's work.

/// Bytes of an AES block.
pub const BLOCK: usize = 16;

/// The position of a chunk in its stream. Its bytes are at the front of a worker's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number, from 0.
    pub index: u64,
    /// The bytes of the stream before it.
    pub offset: u64,
    /// Its length: a whole chunk, or less if it is the last.
    pub length: usize,
    /// The bytes before its output.
    pub to: u64,
    /// The block of the stream before it, if there is one and chunks come with it.
    pub before: Option<[u8; BLOCK]>,
    /// Whether the stream ends with it. There is always a last chunk, and it is empty only if the stream is.
    pub last: bool,
}

/// How a stream is cut into chunks, as it is read and as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The stream that is read.
    pub read: Steps,
    /// The stream that is written.
    pub written: Steps,
    /// Whether chunks come with the block before them.
    pub chained: bool,
}

/// Evenly spaced positions, except for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Bytes of a chunk.
    pub bytes: u64,
    /// The bytes by which the first is shorter.
    pub less: u64,
}

impl Cut {
    /// Cuts into chunks of this many bytes, each with an output of the same length and with the block before it.
    pub fn even(bytes: usize) -> Self {
        let steps = Steps { bytes: bytes as u64, less: 0 };
        Cut { read: steps, written: steps, chained: true }
    }

    /// The chunk of this number, as long as one in the middle.
    pub fn chunk(&self, index: u64) -> Chunk {
        let [offset, end] = [index, index.saturating_add(1)].map(|index| self.read.start(index));
        let length = usize::try_from(end - offset).unwrap_or(usize::MAX);
        Chunk { index, offset, length, to: self.written.start(index), before: None, last: false }
    }
}

impl Steps {
    /// The bytes before the chunk of this number.
    fn start(self, index: u64) -> u64 {
        index.saturating_mul(self.bytes).saturating_sub(self.less)
    }
}
