//! Many messages under one key in one call, in host memory. Each call returns when it is done.

use crate::border::call;
use crate::handles::CipherHandle;
use crate::memory::{Data, reference, values};
use crate::status::{AES_BITSLICE_UNAUTHENTICATED, Failure};
use aes_bitslice_core::count::counted;
use aes_bitslice_runtime::{
    CmacBatch, CmacVerifyBatch, GcmDecryptBatch, GcmEncryptBatch, GcmMessage, OpenedBatch, Tag,
};
use std::ffi::{c_int, c_void};
use std::ops;
use std::ptr::NonNull;

/// The range of a message, or of a job, in the data of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The number of bytes; may be 0.
    pub bytes: u64,
}

/// A message of a GCM batch. All messages are under one key, and no two may have the same nonce.
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
    let ranges = unsafe { values(ranges, count, "messages") }?;
    ranges.iter().enumerate().map(|(n, range)| range.of("message", n)).collect()
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
    messages.iter().enumerate().map(one).collect()
}

/// The tags of `count` messages, `tag_len` bytes each, contiguous.
///
/// # Safety
/// `tags` is NULL, or points to that many bytes.
pub(crate) unsafe fn tags(tags: *const u8, tag_len: usize, count: usize) -> Result<Vec<Tag>, Failure> {
    if tag_len == 0 && count > 0 {
        return Err(Failure::invalid("`tag_len` is 0: a tag has 16 bytes, or the first 12 to 15, 8 or 4 of them"));
    }
    let all = tag_len.saturating_mul(count);
    // SAFETY: as the caller guarantees.
    let tags = unsafe { values(tags, all, "tags") }?;
    tags.chunks(tag_len.max(1)).map(|tag| Ok(Tag::new(tag)?)).collect()
}

/// Writes whole tags contiguously.
///
/// # Safety
/// The place has room for them.
pub(crate) unsafe fn write_tags(place: NonNull<[u8; 16]>, tags: &[Tag]) {
    for (n, tag) in tags.iter().enumerate() {
        let bytes = *tag.as_bytes().first_chunk().expect("a computed tag is whole");
        // SAFETY: as the caller guarantees.
        unsafe { place.add(n).write(bytes) };
    }
}

/// Writes for each message whether it is authentic, and fails if one is not.
///
/// # Safety
/// The place has room for `count` bytes.
pub(crate) unsafe fn tell(place: NonNull<u8>, count: usize, opened: &OpenedBatch) -> Result<(), Failure> {
    // SAFETY: as the caller guarantees.
    unsafe {
        place.write_bytes(1, count);
        opened.failed().iter().for_each(|&n| place.add(n).write(0));
    }
    all_authentic(count, opened)
}

/// Fails if one of `count` messages is not authentic.
pub(crate) fn all_authentic(count: usize, opened: &OpenedBatch) -> Result<(), Failure> {
    match opened.failed() {
        [] => Ok(()),
        [first, ..] => Err(Failure::new(
            AES_BITSLICE_UNAUTHENTICATED,
            format!(
                "authentication failed: {} of {}, the first of them message {first}",
                opened.failed().len(),
                counted(count, "message")
            ),
        )),
    }
}

/// Encrypts `count` messages with GCM (SP 800-38D, section 7.1), each with its own nonce and additional data, and writes their tags, 16
/// bytes each, contiguously to `tags`. Runs in host memory, on the CPU cores whatever the engine.
///
/// Messages are ranges of the data, which has `len` bytes; they ascend and do not overlap. Bytes of `output` between them stay as they are.
/// Two messages with the same nonce are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_encrypt_batch(
    cipher: *const CipherHandle,
    messages: *const Message,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tags: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        let place = data.places_apart(tags.cast(), count, "tags")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = GcmEncryptBatch::new(&self::messages(messages, count)?)?;
            let tags = reference(cipher, "cipher")?.run(operation, data)?;
            write_tags(place, &tags);
        }
        Ok(())
    })
}

/// Decrypts `count` messages with GCM (SP 800-38D, section 7.2), and writes one byte for each to `authentic`: 1 if its tag is right, 0 if
/// not, and then its output is cleared. Fails with AES_BITSLICE_UNAUTHENTICATED if any tag is wrong; the other messages are still good.
///
/// Messages are the encrypted ones, or some of them. `tags` are their tags, contiguous, `tag_len` bytes each: 16, or the first 12 to 15, 8
/// or 4 if both sides agreed on that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_decrypt_batch(
    cipher: *const CipherHandle,
    messages: *const Message,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tags: *const u8,
    tag_len: usize,
    authentic: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        let place = data.places_apart(authentic, count, "authentic")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tags = self::tags(tags, tag_len, count)?;
            let operation = GcmDecryptBatch::new(&self::messages(messages, count)?, &tags)?;
            let opened = reference(cipher, "cipher")?.run(operation, data)?;
            tell(place, count, &opened)
        }
    })
}

/// Computes the CMAC tags (SP 800-38B) of `count` messages, and writes them, 16 bytes each, contiguously to `tags`. Runs in host memory, on
/// the CPU cores whatever the engine.
///
/// Messages are ranges of the data, which has `len` bytes, in any order; they may overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cmac_batch(
    cipher: *const CipherHandle,
    messages: *const Range,
    count: usize,
    input: *const c_void,
    len: usize,
    tags: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::reads(input, len)?;
        let place = data.places_apart(tags.cast(), count, "tags")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = CmacBatch::new(&ranges(messages, count)?)?;
            let tags = reference(cipher, "cipher")?.run(operation, data)?;
            write_tags(place, &tags);
        }
        Ok(())
    })
}

/// Verifies the CMAC tags (SP 800-38B) of `count` messages, and writes one byte for each to `authentic`: 1 if its tag is right, 0 if not.
/// Fails with AES_BITSLICE_UNAUTHENTICATED if any tag is wrong. Tags are compared in constant time.
///
/// Messages are ranges of the data, which has `len` bytes, in any order; they may overlap. `tags` are their tags, contiguous, `tag_len`
/// bytes each: 16, or the first 12 to 15, 8 or 4 if both sides agreed on that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cmac_verify_batch(
    cipher: *const CipherHandle,
    messages: *const Range,
    count: usize,
    input: *const c_void,
    len: usize,
    tags: *const u8,
    tag_len: usize,
    authentic: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::reads(input, len)?;
        let place = data.places_apart(authentic, count, "authentic")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tags = self::tags(tags, tag_len, count)?;
            let operation = CmacVerifyBatch::new(&ranges(messages, count)?, &tags)?;
            let verified = reference(cipher, "cipher")?.run(operation, data)?;
            tell(place, count, &verified)
        }
    })
}
