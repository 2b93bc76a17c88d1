//! Many messages: their description by the caller, in the library's types.

use crate::memory::values;
use crate::status::Failure;
use aes_bitslice_core::memory::tried;
use aes_bitslice_runtime::{self as runtime, GcmMessage, Integers, Tag};
use std::ffi::c_void;
use std::ops;

/// The range of a message, or of a job, in the data of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The number of bytes; may be 0.
    pub bytes: u64,
}

/// A message of a GCM batch. No two messages under one key may have the same nonce.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The nonce, `nonce_len` bytes.
    pub nonce: *const u8,
    /// Bytes of the nonce: usually 12.
    pub nonce_len: usize,
    /// Additional data, `aad_len` bytes, which is authenticated but not encrypted.
    pub aad: *const c_void,
    /// Bytes of the additional data; there may be none.
    pub aad_len: usize,
    /// The range of the message in the data of the call.
    pub range: Range,
}

/// Where the `count` messages of a batch are, by arrays or by a rule: in the data of the call, or their additional data in `aad`. Either
/// `offsets` and `lengths` are NULL, and message n has `bytes` bytes from byte n * `stride` on; or neither is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranges {
    /// The first byte of each message: `count` integers.
    pub offsets: *const c_void,
    /// The number of bytes of each message, which may be 0: `count` integers.
    pub lengths: *const c_void,
    /// Bytes of each of these integers: 4 or 8. They are unsigned, and aligned as such integers are.
    pub integer_bytes: usize,
    /// Without arrays, the number of bytes of every message.
    pub bytes: u64,
    /// Without arrays, the bytes from the beginning of a message to that of the next one; as many as `bytes` if nothing is between them.
    pub stride: u64,
}

impl Ranges {
    /// In the library's type.
    ///
    /// # Safety
    /// The arrays are NULL, or have `count` integers that do not change for `'a`.
    pub(crate) unsafe fn of<'a>(&self, count: usize) -> Result<runtime::Ranges<'a>, Failure> {
        if self.offsets.is_null() && self.lengths.is_null() {
            return Ok(runtime::Ranges::spaced(count, self.bytes, self.stride));
        }
        let of_64_bits = self.of_64_bits()?;
        // SAFETY: as the caller guarantees.
        let all = |array, name| unsafe { integers(array, of_64_bits, count, name) };
        Ok(runtime::Ranges::lengths(all(self.offsets, "offsets")?, all(self.lengths, "lengths")?))
    }

    /// Whether integers have 64 bits, not 32.
    pub(crate) fn of_64_bits(&self) -> Result<bool, Failure> {
        match self.integer_bytes {
            4 => Ok(false),
            8 => Ok(true),
            bytes => Err(Failure::invalid(format!("`integer_bytes` is {bytes}: give 4 or 8"))),
        }
    }
}

/// An array of integers.
///
/// # Safety
/// It is NULL, or has `count` integers of 64 or 32 bits, which do not change for `'a`.
unsafe fn integers<'a>(
    array: *const c_void,
    of_64_bits: bool,
    count: usize,
    name: &str,
) -> Result<Integers<'a>, Failure> {
    // SAFETY: as the caller guarantees.
    unsafe {
        match of_64_bits {
            false => Ok(Integers::U32(values(array.cast(), count, name)?)),
            true => Ok(Integers::U64(values(array.cast(), count, name)?)),
        }
    }
}

impl Range {
    /// The range in the library's type. `what` and `n` name it in an error.
    pub(crate) fn of(self, what: &str, n: usize) -> Result<ops::Range<u64>, Failure> {
        let end = self.offset.checked_add(self.bytes);
        let end = end.ok_or_else(|| Failure::invalid(format!("{what} {n} ends past byte 2^64 - 1")))?;
        Ok(self.offset..end)
    }
}

/// The ranges of messages.
///
/// # Safety
/// `ranges` is NULL, or points to `count` of them.
pub(crate) unsafe fn ranges(ranges: *const Range, count: usize) -> Result<Vec<ops::Range<u64>>, Failure> {
    // SAFETY: as the caller guarantees.
    let ranges = unsafe { values(ranges, count, "ranges") }?;
    tried(ranges.iter().enumerate().map(|(n, range)| range.of("message", n)))
}

/// Messages in the library's types.
///
/// # Safety
/// `messages` is NULL, or points to `count` of them, with nonces and additional data as they describe; none of it changes for `'a`.
pub(crate) unsafe fn messages<'a>(messages: *const Message, count: usize) -> Result<Vec<GcmMessage<'a>>, Failure> {
    // SAFETY: as the caller guarantees.
    let messages = unsafe { values(messages, count, "messages") }?;
    let one = |(n, message): (usize, &Message)| {
        let named = |failure: Failure| Failure::invalid(format!("message {n}: {}", failure.message));
        // SAFETY: as the caller guarantees.
        let (nonce, aad) = unsafe {
            let nonce = values(message.nonce, message.nonce_len, "nonce").map_err(named)?;
            (nonce, values(message.aad.cast(), message.aad_len, "aad").map_err(named)?)
        };
        Ok(GcmMessage { nonce, aad, range: message.range.of("message", n)? })
    };
    tried(messages.iter().enumerate().map(one))
}

/// A received tag: of 4 or 8 bytes if it is `short`, else of 12 to 16.
pub(crate) fn one_tag(bytes: &[u8], short: bool) -> Result<Tag, Failure> {
    Ok(if short { Tag::short(bytes) } else { Tag::new(bytes) }?)
}

/// The tags of `count` messages, `tag_len` bytes each, contiguous.
///
/// # Safety
/// `tags` is NULL, or points to that many bytes.
pub(crate) unsafe fn tags(tags: *const u8, tag_len: usize, short: bool, count: usize) -> Result<Vec<Tag>, Failure> {
    if tag_len == 0 && count > 0 {
        return Err(Failure::invalid("`tag_len` is 0: give the number of bytes of a tag"));
    }
    let all = tag_len.saturating_mul(count);
    // SAFETY: as the caller guarantees.
    let tags = unsafe { values(tags, all, "tag") }?;
    tried(tags.chunks(tag_len.max(1)).map(|tag| one_tag(tag, short)))
}
