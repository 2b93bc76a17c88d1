//! What a call returns beside its data: a tag, the tags of a batch, a part of a message, or which messages are authentic.

use crate::status::{AES_BITSLICE_UNAUTHENTICATED, Failure};
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{Nonce, OpenedBatch, PartialHash, Tag};
use std::ptr::NonNull;

/// The result of one part of a GCM message. The tag is computed from the results of all parts. It reveals information about the hash key:
/// keep it as secret as the key until the tag is computed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where in the message the part begins, in bytes.
    pub offset: u64,
    /// Bytes of the part.
    pub bytes: u64,
    /// GHASH of its ciphertext (SP 800-38D, section 6.4).
    pub hash: [u8; 16],
}

/// A value that a call returns, as the bytes of the caller's `result`.
pub(crate) trait Outcome: Send + Sync + 'static {
    /// The number of its bytes, for this number of messages.
    fn bytes(messages: usize) -> usize
    where
        Self: Sized;

    /// Writes them.
    ///
    /// # Safety
    /// The place has room for them, and is of any alignment.
    unsafe fn write(&self, place: NonNull<u8>, messages: usize);

    /// Fails if a message is not authentic.
    fn verdict(&self, _messages: usize) -> Result<(), Failure> {
        Ok(())
    }
}

impl Outcome for () {
    fn bytes(_messages: usize) -> usize {
        0
    }

    unsafe fn write(&self, _place: NonNull<u8>, _messages: usize) {}
}

impl Outcome for Tag {
    fn bytes(_messages: usize) -> usize {
        16
    }

    unsafe fn write(&self, place: NonNull<u8>, _messages: usize) {
        let bytes = *self.as_bytes().first_chunk::<16>().expect("a computed tag is whole");
        // SAFETY: as the caller guarantees.
        unsafe { place.cast().write(bytes) };
    }
}

impl Outcome for (Nonce, Tag) {
    fn bytes(_messages: usize) -> usize {
        12 + 16
    }

    unsafe fn write(&self, place: NonNull<u8>, _messages: usize) {
        let (nonce, tag) = self;
        let bytes = *nonce.as_bytes().first_chunk::<12>().expect("a nonce that a call makes has 12 bytes");
        // SAFETY: as the caller guarantees.
        unsafe {
            place.cast().write(bytes);
            tag.write(place.add(12), 1);
        }
    }
}

impl Outcome for Vec<Tag> {
    fn bytes(messages: usize) -> usize {
        messages.saturating_mul(16)
    }

    unsafe fn write(&self, place: NonNull<u8>, _messages: usize) {
        for (n, tag) in self.iter().enumerate() {
            // SAFETY: as the caller guarantees.
            unsafe { tag.write(place.add(16 * n), 1) };
        }
    }
}

impl Outcome for Vec<[u8; 16]> {
    fn bytes(messages: usize) -> usize {
        messages.saturating_mul(16)
    }

    unsafe fn write(&self, place: NonNull<u8>, _messages: usize) {
        let tags = self.as_flattened();
        // SAFETY: as the caller guarantees.
        unsafe { place.copy_from_nonoverlapping(NonNull::from(tags).cast(), tags.len()) };
    }
}

impl Outcome for PartialHash {
    fn bytes(_messages: usize) -> usize {
        size_of::<Part>()
    }

    unsafe fn write(&self, place: NonNull<u8>, _messages: usize) {
        let &Self { offset, bytes, hash } = self;
        // SAFETY: as the caller guarantees.
        unsafe { place.cast().write_unaligned(Part { offset, bytes, hash }) };
    }
}

impl Outcome for OpenedBatch {
    fn bytes(messages: usize) -> usize {
        messages
    }

    unsafe fn write(&self, place: NonNull<u8>, messages: usize) {
        // SAFETY: as the caller guarantees.
        unsafe { place.write_bytes(1, messages) };
        for &n in self.failed() {
            // SAFETY: as the caller guarantees; `n` is the number of a message.
            unsafe { place.add(n).write(0) };
        }
    }

    fn verdict(&self, messages: usize) -> Result<(), Failure> {
        let [first, ..] = self.failed() else { return Ok(()) };
        let (failed, messages) = (self.failed().len(), counted(messages, "message"));
        Err(Failure::new(
            AES_BITSLICE_UNAUTHENTICATED,
            format!("authentication failed: {failed} of {messages}, the first of them message {first}"),
        ))
    }
}

/// Refuses room of `len` bytes for a result of another number.
pub(crate) fn check_room(len: usize, bytes: usize) -> Result<(), Failure> {
    if len == bytes {
        Ok(())
    } else {
        let bytes = counted(bytes, "byte");
        Err(Failure::invalid(format!("`result_len` is {len}, and the result has {bytes}")))
    }
}
