//! A chunk of a stream: what a worker has at a time.

/// Bytes of an AES block.
pub const BLOCK: usize = 16;

/// Where a chunk lies in its stream. Its bytes are at the front of a worker's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its number, from 0.
    pub index: u64,
    /// The bytes of the stream before it.
    pub offset: u64,
    /// Its bytes: as many as a chunk has, or fewer if it is the last.
    pub length: usize,
    /// The block of the stream before it, where there is one.
    pub before: Option<[u8; BLOCK]>,
    /// Whether the stream ends with it. There is always a last chunk, and it is empty only if the stream is.
    pub last: bool,
}
