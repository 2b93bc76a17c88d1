//! Operations on memory of an NVIDIA GPU, on a stream of the caller's. Each returns when the work is on the stream, and waits for
//! nothing.

use crate::authenticated::{Part, TagPlace, nonce, write_tag};
use crate::border::call;
use crate::context::kept;
use crate::handles::{CipherHandle, free_handle};
use crate::host::{counter, direction, xts};
use crate::memory::{Data, block, place, reference, text, values};
use crate::status::Failure;
use aes_bitslice_runtime::cuda::DeviceCipher;
use aes_bitslice_runtime::{
    CbcDecrypt, Ctr, Ecb, Error, GcmDecrypt, GcmEncrypt, GcmPart, Gmac, Keystream, Mode, Operation, PartialHash, Tag,
};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What a call on a stream returns when the stream has come to it: a tag, a part of a message, or whether a message is authentic. Freeing
/// it waits for that, too.
pub struct PendingHandle(Mutex<State>);

/// What is known of it.
enum State {
    Waiting(Wait),
    Known(Result<Value, Failure>),
}

type Wait = Box<dyn FnOnce() -> Result<Value, Error> + Send>;

/// What a call on a stream returns.
#[derive(Clone, Copy)]
pub(crate) enum Value {
    Tag(Tag),
    Part(PartialHash),
    /// The tag was right.
    Authentic,
}

impl From<Tag> for Value {
    fn from(tag: Tag) -> Self {
        Self::Tag(tag)
    }
}

impl From<()> for Value {
    fn from((): ()) -> Self {
        Self::Authentic
    }
}

impl From<PartialHash> for Value {
    fn from(hash: PartialHash) -> Self {
        Self::Part(hash)
    }
}

impl Value {
    fn refused(self, asked: &str) -> Failure {
        Failure::invalid(match self {
            Self::Tag(_) => format!("it is not {asked} but a tag: aes_bitslice_pending_tag gives it"),
            Self::Part(_) => format!("it is not {asked} but a part: aes_bitslice_pending_part gives it"),
            Self::Authentic => {
                format!("there is not {asked}: aes_bitslice_pending_wait tells whether the message is authentic")
            }
        })
    }
}

impl PendingHandle {
    /// Waits for the value, once.
    fn value(&self) -> Result<Value, Failure> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = Failure::new(crate::status::AES_BITSLICE_BUG, "an earlier call panicked while it waited");
        let known = match std::mem::replace(&mut *state, State::Known(Err(lost))) {
            State::Waiting(wait) => kept(true, wait).map_err(Failure::from),
            State::Known(known) => known,
        };
        *state = State::Known(known.clone());
        known
    }
}

impl CipherHandle {
    /// The cipher on the one GPU of its engine.
    fn on_gpu(&self) -> Result<DeviceCipher<'_>, Failure> {
        Ok(self.0.device()?)
    }

    /// Puts an operation on a stream.
    ///
    /// # Safety
    /// What the head of the header asks of callers: memory that the GPU can reach, and a live stream of its primary context.
    unsafe fn put<O: Operation<Output = ()>>(
        &self,
        operation: O,
        data: Data,
        stream: *mut c_void,
    ) -> Result<(), Failure> {
        let (input, output, len) = data.addresses();
        self.kept(|| {
            // SAFETY: as the caller guarantees.
            Ok(unsafe { self.on_gpu()?.run_raw(stream.cast(), operation, input, output, len) }?)
        })
    }

    /// The same for an operation that returns a value.
    ///
    /// # Safety
    /// As [`put`](Self::put), and `place` is the caller's place for a pointer.
    unsafe fn put_with_output<O: Operation<Output: Into<Value>>>(
        &self,
        operation: O,
        data: Data,
        stream: *mut c_void,
        place: NonNull<*mut PendingHandle>,
    ) -> Result<(), Failure> {
        let (input, output, len) = data.addresses();
        self.kept(|| {
            // SAFETY: as the caller guarantees.
            let pending = unsafe { self.on_gpu()?.run_raw_with_output(stream.cast(), operation, input, output, len) }?;
            let wait: Wait = Box::new(|| Ok(pending.wait()?.into()));
            // SAFETY: as the caller guarantees.
            unsafe { place.write(Box::into_raw(Box::new(PendingHandle(Mutex::new(State::Waiting(wait)))))) };
            Ok(())
        })
    }
}

/// Loads the kernels that calls of a mode take, and waits until they have given a known answer, so that no later call has to: before time
/// counts, and before a stream is captured into a graph. `mode` is "ctr" (for GCM, too), "ctr-le32" (for AES-GCM-SIV), "keystream",
/// "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt" or "xts-decrypt".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_prepare(cipher: *const CipherHandle, mode: *const c_char) -> c_int {
    call(|| {
        // SAFETY: what the head of the header asks of callers.
        let (cipher, name) = unsafe { (reference(cipher, "cipher")?, text(mode, "mode")?.to_string_lossy()) };
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            let known = Mode::ALL.map(Mode::name).join(", ");
            Failure::invalid(format!("there are no kernels of a mode \"{name}\": give one of {known}"))
        })?;
        cipher.kept(|| Ok(cipher.on_gpu()?.prepare(mode)?))
    })
}

/// aes_bitslice_ctr in memory of the GPU, on a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_ctr_on_stream(
    cipher: *const CipherHandle,
    counter: *const u8,
    offset: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: what the head of the header asks of callers.
        unsafe { reference(cipher, "cipher")?.put(Ctr::new(&self::counter(counter)?, offset), data, stream) }
    })
}

/// aes_bitslice_keystream in memory of the GPU, on a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_keystream_on_stream(
    cipher: *const CipherHandle,
    counter: *const u8,
    offset: u64,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        let data = Data::writes(output, len)?;
        // SAFETY: what the head of the header asks of callers.
        unsafe { reference(cipher, "cipher")?.put(Keystream::new(&self::counter(counter)?, offset), data, stream) }
    })
}

/// aes_bitslice_ecb in memory of the GPU, on a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_ecb_on_stream(
    cipher: *const CipherHandle,
    direction: c_int,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: what the head of the header asks of callers.
        unsafe { reference(cipher, "cipher")?.put(Ecb::new(self::direction(direction)?), data, stream) }
    })
}

/// Decryption of aes_bitslice_cbc in memory of the GPU, on a stream. (Encryption is serial: the CPU does it, in host memory.)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cbc_decrypt_on_stream(
    cipher: *const CipherHandle,
    iv: *const u8,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: what the head of the header asks of callers.
        unsafe { reference(cipher, "cipher")?.put(CbcDecrypt::new(&block(iv, "iv")?), data, stream) }
    })
}

/// aes_bitslice_xts in memory of the GPU, on a stream; `first_unit` is in host memory. `unit_bytes` is a multiple of 16: units that are not
/// whole blocks are refused with AES_BITSLICE_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_xts_on_stream(
    cipher: *const CipherHandle,
    direction: c_int,
    unit_bytes: u64,
    first_unit: *const u8,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
) -> c_int {
    call(|| {
        let data = Data::maps(input, output, len)?;
        // SAFETY: what the head of the header asks of callers.
        unsafe {
            let operation = self::xts(direction, unit_bytes, first_unit)?;
            reference(cipher, "cipher")?.put(operation, data, stream)
        }
    })
}

/// aes_bitslice_gcm_encrypt in memory of the GPU, on a stream; nonce and additional data are in host memory. The tag is there when the
/// stream has come to it: aes_bitslice_pending_tag gives it. Cannot be captured into a graph.
///
/// Writes what the tag comes by to `pending`, to be freed by aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_encrypt_on_stream(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const c_void,
    aad_len: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::maps(input, output, len)?, place(pending, "pending")?);
        // SAFETY: what the head of the header asks of callers.
        unsafe {
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmEncrypt::new(&self::nonce(nonce, nonce_len)?, aad);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place)
        }
    })
}

/// aes_bitslice_gcm_decrypt in memory of the GPU, on a stream; nonce, additional data and tag are in host memory. Output that is not
/// authentic is cleared on the same stream, so that what comes next on it sees the message or zeros; aes_bitslice_pending_wait tells
/// which. From the host or from another stream, do not look at the output before that. Cannot be captured into a graph.
///
/// Writes what tells it to `pending`, to be freed by aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_decrypt_on_stream(
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
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::maps(input, output, len)?, place(pending, "pending")?);
        // SAFETY: what the head of the header asks of callers.
        unsafe {
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place)
        }
    })
}

/// aes_bitslice_gcm_part in memory of the GPU, on a stream; the nonce is in host memory. aes_bitslice_pending_part gives what the tag is
/// made of when the stream has come to it. Cannot be captured into a graph.
///
/// Writes what the part comes by to `pending`, to be freed by aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_part_on_stream(
    cipher: *const CipherHandle,
    direction: c_int,
    nonce: *const u8,
    nonce_len: usize,
    offset: u64,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::maps(input, output, len)?, place(pending, "pending")?);
        // SAFETY: what the head of the header asks of callers.
        unsafe {
            let operation = GcmPart::new(self::direction(direction)?, &self::nonce(nonce, nonce_len)?, offset);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place)
        }
    })
}

/// aes_bitslice_gmac in memory of the GPU, on a stream; the nonce is in host memory. aes_bitslice_pending_tag gives the tag when the
/// stream has come to it. Cannot be captured into a graph.
///
/// Writes what the tag comes by to `pending`, to be freed by aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gmac_on_stream(
    cipher: *const CipherHandle,
    nonce: *const u8,
    nonce_len: usize,
    input: *const c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::reads(input, len)?, place(pending, "pending")?);
        // SAFETY: what the head of the header asks of callers.
        unsafe {
            let operation = Gmac::new(&self::nonce(nonce, nonce_len)?);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place)
        }
    })
}

/// Waits until the stream has come to it: AES_BITSLICE_OK, or AES_BITSLICE_UNAUTHENTICATED where aes_bitslice_gcm_decrypt_on_stream has
/// found a message that is not authentic. It may be asked again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_wait(pending: *const PendingHandle) -> c_int {
    call(|| {
        // SAFETY: what the head of the header asks of callers.
        unsafe { reference(pending, "pending") }?.value().map(drop)
    })
}

/// Waits until the stream has come to a tag, and writes it, 16 bytes, to `tag` in host memory. It may be asked again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_tag(pending: *const PendingHandle, tag: *mut u8) -> c_int {
    call(|| {
        let place: TagPlace = place(tag.cast(), "tag")?;
        // SAFETY: what the head of the header asks of callers.
        match unsafe { reference(pending, "pending") }?.value()? {
            // SAFETY: the caller's place for a tag.
            Value::Tag(tag) => unsafe { write_tag(place, &tag) },
            other => return Err(other.refused("a tag")),
        }
        Ok(())
    })
}

/// Waits until the stream has come to a part, and writes what the tag is made of to `part`. It may be asked again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_part(pending: *const PendingHandle, part: *mut Part) -> c_int {
    call(|| {
        let place = place(part, "part")?;
        // SAFETY: what the head of the header asks of callers.
        match unsafe { reference(pending, "pending") }?.value()? {
            // SAFETY: the caller's place for a part.
            Value::Part(hash) => unsafe { place.write(hash.into()) },
            other => return Err(other.refused("a part")),
        }
        Ok(())
    })
}

/// Waits until the stream has come to it, and frees it; does nothing for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_pending_free(pending: *mut PendingHandle) {
    // SAFETY: what the head of the header asks of callers.
    unsafe { free_handle(pending, true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::{AES_BITSLICE_FAILED, AES_BITSLICE_INVALID, AES_BITSLICE_OK, AES_BITSLICE_UNAUTHENTICATED};

    fn pending(wait: impl FnOnce() -> Result<Value, Error> + Send + 'static) -> PendingHandle {
        PendingHandle(Mutex::new(State::Waiting(Box::new(wait))))
    }

    #[test]
    fn a_value_is_waited_for_once_and_given_again() {
        let tag = Tag::new(&[7; 16]).unwrap();
        let handle = pending(move || Ok(tag.into()));
        let (mut bytes, mut part) = ([0; 16], Part { offset: 1, bytes: 2, hash: [3; 16] });
        for _ in 0..2 {
            // SAFETY: a handle and a place that live.
            assert_eq!(unsafe { aes_bitslice_pending_tag(&handle, bytes.as_mut_ptr()) }, AES_BITSLICE_OK);
            assert_eq!(bytes, [7; 16]);
            bytes.fill(0);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { aes_bitslice_pending_part(&handle, &mut part) }, AES_BITSLICE_INVALID);
        assert_eq!(part.offset, 1);
        // SAFETY: as above.
        assert_eq!(unsafe { aes_bitslice_pending_wait(&handle) }, AES_BITSLICE_OK);
    }

    #[test]
    fn what_is_not_authentic_is_told() {
        let (good, bad) = (pending(|| Ok(().into())), pending(|| Err(Error::Unauthenticated)));
        let mut bytes = [9; 16];
        for _ in 0..2 {
            // SAFETY: a handle and a place that live.
            unsafe {
                assert_eq!(aes_bitslice_pending_wait(&good), AES_BITSLICE_OK);
                assert_eq!(aes_bitslice_pending_wait(&bad), AES_BITSLICE_UNAUTHENTICATED);
                assert_eq!(aes_bitslice_pending_tag(&good, bytes.as_mut_ptr()), AES_BITSLICE_INVALID);
            }
        }
        assert_eq!(bytes, [9; 16]);
    }

    #[test]
    fn what_failed_fails_again() {
        let handle = pending(|| Err(Error::Poisoned { cause: "a test".into() }));
        let mut bytes = [9; 16];
        for _ in 0..2 {
            // SAFETY: as above.
            assert_eq!(unsafe { aes_bitslice_pending_tag(&handle, bytes.as_mut_ptr()) }, AES_BITSLICE_FAILED);
            assert_eq!(bytes, [9; 16]);
        }
    }
}
