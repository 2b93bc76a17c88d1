//! A chunk on its way from a reader to a writer: consecutive segments in one buffer.

use zeroize::Zeroizing;

#[derive(Default)]
pub(crate) struct Chunk {
    /// Its number, from 0.
    pub(crate) number: u64,
    pub(crate) is_last: bool,
    /// Bytes that were read.
    pub(crate) read: usize,
    /// These bytes, with room after them; then the result of the work on them.
    pub(crate) bytes: Zeroizing<Vec<u8>>,
}
