//! Operations on host memory that make or check a tag. Each returns when it is done.

use crate::border::call;
use crate::handles::CipherHandle;
use crate::host::direction;
use crate::memory::{Data, place, reference, values};
use crate::status::{AES_BITSLICE_UNAUTHENTICATED, Failure};
use aes_bitslice_runtime::{
    Cmac, GcmDecrypt, GcmEncrypt, GcmPart, GcmSivDecrypt, GcmSivEncrypt, Gmac, Nonce, PartialHash, Tag,
};
use std::ffi::{c_int, c_void};
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

impl From<PartialHash> for Part {
    fn from(hash: PartialHash) -> Self {
        Self { offset: hash.offset, bytes: hash.bytes, hash: hash.hash }
    }
}

/// The caller's place for a tag.
pub(crate) type TagPlace = NonNull<[u8; 16]>;

/// A nonce.
///
/// # Safety
/// `nonce` is NULL, or points to `len` bytes.
pub(crate) unsafe fn nonce(nonce: *const u8, len: usize) -> Result<Nonce, Failure> {
    // SAFETY: as the caller guarantees.
    Ok(Nonce::new(unsafe { values(nonce, len, "nonce") }?)?)
}

/// Writes a whole tag.
///
/// # Safety
/// The place is 16 bytes of the caller's memory.
pub(crate) unsafe fn write_tag(place: TagPlace, tag: &Tag) {
    let bytes = *tag.as_bytes().first_chunk().expect("a computed tag is whole");
    // SAFETY: as the caller guarantees.
    unsafe { place.write(bytes) };
}

/// Encrypts a whole message of `len` bytes, 0 to 2^36 - 32, with GCM (SP 800-38D, section 7.1), and writes its tag, 16 bytes, to `tag`.
///
/// `nonce` has `nonce_len` bytes, usually 12, and must be new for every message under a key. `aad` is additional data of `aad_len` bytes,
/// which is authenticated but not encrypted; there may be none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_encrypt(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tag: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        let place: TagPlace = data.place_apart(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmEncrypt::new(&self::nonce(nonce, nonce_len)?, aad);
            let tag = reference(cipher, "cipher")?.run(operation, data)?;
            write_tag(place, &tag);
        }
        Ok(())
    })
}

/// Decrypts a whole message with GCM (SP 800-38D, section 7.2), if its tag is right. Otherwise fails with AES_BITSLICE_UNAUTHENTICATED and
/// clears the output.
///
/// Nonce and additional data are the same as for encryption. `tag` has `tag_len` bytes: 16, or the first 12 to 15, 8 or 4 if both sides
/// agreed on that.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_decrypt(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tag: *const u8,
    tag_len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            reference(cipher, "cipher")?.run(operation, data)
        }
    })
}

/// Encrypts or decrypts a part of a GCM message, `len` bytes from byte `offset` of the message on, and writes its contribution to the tag
/// to `part`. Parts may be processed in any order and at the same time; `offset` is a multiple of 16, and so is `len` except for the last
/// part.
///
/// aes_bitslice_gcm_tag computes the tag of the whole message from all parts; decrypted plaintext is NOT AUTHENTIC until
/// aes_bitslice_gcm_verify has found the tag right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_part(
    cipher: *const CipherHandle,
    direction: c_int,
    nonce: *const u8,
    nonce_len: usize,
    offset: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    part: *mut Part,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        let place = data.place_apart(part, "part")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = GcmPart::new(self::direction(direction)?, &self::nonce(nonce, nonce_len)?, offset);
            let hash = reference(cipher, "cipher")?.run(operation, data)?;
            place.write(hash.into());
        }
        Ok(())
    })
}

/// The parts of a message in the library's types.
///
/// # Safety
/// It is NULL, or points to `count` parts.
unsafe fn parts(parts: *const Part, count: usize) -> Result<Vec<PartialHash>, Failure> {
    // SAFETY: as the caller guarantees.
    let parts = unsafe { values(parts, count, "parts") }?;
    Ok(parts.iter().map(|part| PartialHash { offset: part.offset, bytes: part.bytes, hash: part.hash }).collect())
}

/// Computes the tag, 16 bytes, of a GCM message that was encrypted in parts, from all its `count` parts, in any order, and its additional
/// data. Parts that overlap, or a missing part between others, are refused with AES_BITSLICE_INVALID; a part missing at the end cannot be
/// detected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_tag(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    parts: *const Part,
    count: usize,
    tag: *mut u8,
) -> c_int {
    call(|| {
        let place: TagPlace = place(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let parts = self::parts(parts, count)?;
            let operation = GcmEncrypt::new(&self::nonce(nonce, nonce_len)?, values(aad.cast(), aad_len, "aad")?);
            let tag = reference(cipher, "cipher")?.0.combine(&operation, parts)?;
            write_tag(place, &tag);
        }
        Ok(())
    })
}

/// Verifies the tag, `tag_len` bytes, of a GCM message that was decrypted in parts: returns AES_BITSLICE_OK, or
/// AES_BITSLICE_UNAUTHENTICATED, and then its plaintext must be thrown away.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_verify(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    parts: *const Part,
    count: usize,
    tag: *const u8,
    tag_len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let parts = self::parts(parts, count)?;
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            Ok(reference(cipher, "cipher")?.0.combine(&operation, parts)?)
        }
    })
}

/// Encrypts a whole message of `len` bytes, 0 to 2^36, with AES-GCM-SIV (RFC 8452), and writes its tag, 16 bytes, to `tag`. The key has 128
/// or 256 bits.
///
/// `nonce` has `nonce_len` bytes, which is 12, and is new for every message; a nonce used twice under a key reveals only whether two
/// messages with the same additional data are equal. `aad` is additional data of `aad_len` bytes, which is authenticated but not encrypted;
/// there may be none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_siv_encrypt(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tag: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        let place: TagPlace = data.place_apart(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmSivEncrypt::new(&self::nonce(nonce, nonce_len)?, aad);
            let tag = reference(cipher, "cipher")?.run(operation, data)?;
            write_tag(place, &tag);
        }
        Ok(())
    })
}

/// Decrypts a whole message with AES-GCM-SIV (RFC 8452), if its tag is right. Otherwise fails with AES_BITSLICE_UNAUTHENTICATED and clears
/// the output.
///
/// Nonce and additional data are the same as for encryption. `tag` has `tag_len` bytes, which is 16.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_siv_decrypt(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tag: *const u8,
    tag_len: usize,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmSivDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            reference(cipher, "cipher")?.run(operation, data)
        }
    })
}

/// Computes the GMAC tag (SP 800-38D, section 3), 16 bytes, of `len` bytes, any number, which are authenticated but not encrypted. As in
/// GCM, the nonce must be new for every message under a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gmac(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    input: *const c_void,
    len: usize,
    tag: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::reads(input, len)?;
        let place: TagPlace = data.place_apart(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = Gmac::new(&self::nonce(nonce, nonce_len)?);
            let tag = reference(cipher, "cipher")?.run(operation, data)?;
            write_tag(place, &tag);
        }
        Ok(())
    })
}

/// Computes the CMAC tag (SP 800-38B), 16 bytes, of `len` bytes, any number. Serial, on one CPU core whatever the engine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cmac(
    cipher: *const CipherHandle,
    input: *const c_void,
    len: usize,
    tag: *mut u8,
) -> c_int {
    call(|| {
        let data = Data::reads(input, len)?;
        let place: TagPlace = data.place_apart(tag.cast(), "tag")?;
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tag = reference(cipher, "cipher")?.run(Cmac::new(), data)?;
            write_tag(place, &tag);
        }
        Ok(())
    })
}

/// Compares a computed tag, 16 bytes, in constant time with a received one, its first `received_len` bytes (16 to 12, 8 or 4): returns
/// AES_BITSLICE_OK or AES_BITSLICE_UNAUTHENTICATED. Never compare tags with memcmp: its timing reveals how much was right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_tag_verify(
    computed: *const u8,
    received: *const u8,
    received_len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        let (computed, received) = unsafe {
            (Tag::new(values(computed, 16, "computed")?)?, Tag::new(values(received, received_len, "received")?)?)
        };
        match computed.truncated(received_len)? == received {
            true => Ok(()),
            false => Err(Failure::new(AES_BITSLICE_UNAUTHENTICATED, "authentication failed: the tags differ")),
        }
    })
}
