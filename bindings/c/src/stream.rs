//! Operations on memory of an NVIDIA GPU, on the caller's stream. Each returns when the work is on the stream, and waits for nothing.

use crate::authenticated::nonce;
use crate::batch::{Message, Range, messages, ranges, tags};
use crate::border::call;
use crate::handles::CipherHandle;
use crate::host::{counter, direction, xts};
use crate::memory::{Data, block, place, reference, text, values};
use crate::pending::{PendingHandle, Value};
use crate::status::Failure;
use aes_bitslice_runtime::cuda::DeviceCipher;
use aes_bitslice_runtime::{
    CbcDecrypt, CmacBatch, CmacVerifyBatch, Ctr, Ecb, Error, GcmDecrypt, GcmDecryptBatch, GcmEncrypt, GcmEncryptBatch,
    GcmPart, GcmSivDecrypt, GcmSivEncrypt, Gmac, Keystream, Mode, Nonce, Operation, Tag,
};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::NonNull;

impl CipherHandle {
    /// The cipher on the one GPU of its engine.
    fn on_gpu(&self) -> Result<DeviceCipher<'_>, Failure> {
        Ok(self.0.device()?)
    }

    /// Puts an operation on a stream.
    ///
    /// # Safety
    /// As the top of the header requires of callers: memory that the GPU can reach, and a live stream of its primary context.
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

    /// The same for an operation that returns a value, which `as_value` wraps.
    ///
    /// # Safety
    /// As [`put`](Self::put), and `place` is the caller's place for a pointer.
    unsafe fn put_with_output<O: Operation>(
        &self,
        operation: O,
        data: Data,
        stream: *mut c_void,
        place: NonNull<*mut PendingHandle>,
        as_value: impl FnOnce(O::Output) -> Value + Send + 'static,
    ) -> Result<(), Failure> {
        let (input, output, len) = data.addresses();
        self.kept(|| {
            // SAFETY: as the caller guarantees.
            let pending = unsafe { self.on_gpu()?.run_raw_with_output(stream.cast(), operation, input, output, len) }?;
            // SAFETY: as the caller guarantees.
            unsafe { PendingHandle::give(place, || pending.wait().map(as_value)) };
            Ok(())
        })
    }
}

/// Loads the kernels that calls of a mode need on each GPU of the engine and waits for their known-answer test, so that no later call has
/// to: for use before time counts, and before a graph captures a stream. Other engines have nothing to load: the call succeeds.
///
/// `mode` is "ctr", "ctr-le32" (for AES-GCM-SIV), "keystream", "ecb-encrypt", "ecb-decrypt", "cbc-decrypt", "xts-encrypt" or "xts-decrypt";
/// "gcm", with the tables that the key's tags need, "gcm-batch" or "cmac-batch".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_prepare(cipher: *const CipherHandle, mode: *const c_char) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        let (cipher, name) = unsafe { (reference(cipher, "cipher")?, text(mode, "mode")?.to_string_lossy()) };
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == name);
        let load = |load: &dyn Fn(&DeviceCipher<'_>) -> Result<(), Error>| {
            let gpus = if cipher.0.engine().backend().is_cuda() { cipher.0.devices()? } else { vec![] };
            Ok(gpus.iter().try_for_each(load)?)
        };
        cipher.kept(|| match (&*name, mode) {
            (_, Some(mode)) => load(&|gpu| gpu.prepare(mode)),
            ("gcm", _) => load(&|gpu| gpu.prepare_for(&GcmEncrypt::new(&Nonce::from([0; 12]), &[]))),
            ("gcm-batch", _) => load(&|gpu| gpu.prepare_for(&GcmEncryptBatch::new(&[])?)),
            ("cmac-batch", _) => load(&|gpu| gpu.prepare_for(&CmacBatch::new(&[])?)),
            _ => {
                let known = Mode::ALL.map(Mode::name).join(", ");
                let what = format!(
                    "there are no kernels of a mode \"{name}\": give one of {known}, gcm, gcm-batch, cmac-batch"
                );
                Err(Failure::invalid(what))
            }
        })
    })
}

/// aes_bitslice_ctr in GPU memory, on a stream.
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
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.put(Ctr::new(&self::counter(counter)?, offset), data, stream) }
    })
}

/// aes_bitslice_keystream in GPU memory, on a stream.
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
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.put(Keystream::new(&self::counter(counter)?, offset), data, stream) }
    })
}

/// aes_bitslice_ecb in GPU memory, on a stream.
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
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.put(Ecb::new(self::direction(direction)?), data, stream) }
    })
}

/// Decryption of aes_bitslice_cbc in GPU memory, on a stream. (Encryption is serial: the CPU does it, in host memory.)
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
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(cipher, "cipher")?.put(CbcDecrypt::new(&block(iv, "iv")?), data, stream) }
    })
}

/// aes_bitslice_xts in GPU memory, on a stream; `first_unit` is in host memory. `unit_bytes` is a multiple of 16: units that are not whole
/// blocks are refused with AES_BITSLICE_UNSUPPORTED.
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = self::xts(direction, unit_bytes, first_unit)?;
            reference(cipher, "cipher")?.put(operation, data, stream)
        }
    })
}

/// aes_bitslice_gcm_encrypt in GPU memory, on a stream; nonce and additional data are in host memory. aes_bitslice_pending_tag returns the
/// tag when the stream has reached it. Cannot be captured into a graph.
///
/// Writes a handle for the tag to `pending`; free it with aes_bitslice_pending_free.
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmEncrypt::new(&self::nonce(nonce, nonce_len)?, aad);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, Value::Tag)
        }
    })
}

/// aes_bitslice_gcm_decrypt in GPU memory, on a stream; nonce, additional data and tag are in host memory. Output that is not authentic is
/// cleared on the same stream, so later work on it sees the message or zeros; aes_bitslice_pending_wait tells which. Do not read the output
/// from the host or another stream before that. Cannot be captured into a graph.
///
/// Writes a handle for this result to `pending`; free it with aes_bitslice_pending_free.
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, |()| Value::Authentic)
        }
    })
}

/// aes_bitslice_gcm_siv_encrypt in GPU memory, on a stream; nonce and additional data are in host memory. It reads the data twice, and
/// waits until the stream has finished the first pass. aes_bitslice_pending_tag returns the tag when the stream has reached it. Cannot be
/// captured into a graph. Each call has its own tables on the GPU: waiting for its result, or freeing it, waits for all work of the GPU.
///
/// Writes a handle for the tag to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_siv_encrypt_on_stream(
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmSivEncrypt::new(&self::nonce(nonce, nonce_len)?, aad);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, Value::Tag)
        }
    })
}

/// aes_bitslice_gcm_siv_decrypt in GPU memory, on a stream; nonce, additional data and tag are in host memory. Output that is not authentic
/// is cleared on the same stream, so later work on it sees the message or zeros; aes_bitslice_pending_wait tells which. Do not read the
/// output from the host or another stream before that. Cannot be captured into a graph. Each call has its own tables and waits until they
/// are on the GPU, hence also for the default stream and for streams made without cudaStreamNonBlocking. Waiting for its result, or freeing
/// it, waits for all work of the GPU.
///
/// Writes a handle for this result to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_siv_decrypt_on_stream(
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tag = Tag::new(values(tag, tag_len, "tag")?)?;
            let aad = values(aad.cast(), aad_len, "aad")?;
            let operation = GcmSivDecrypt::new(&self::nonce(nonce, nonce_len)?, aad, &tag);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, |()| Value::Authentic)
        }
    })
}

/// aes_bitslice_gcm_part in GPU memory, on a stream; the nonce is in host memory. aes_bitslice_pending_part returns the part's contribution to
/// the tag when the stream has reached the call. Cannot be captured into a graph.
///
/// Writes a handle for the part to `pending`; free it with aes_bitslice_pending_free.
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = GcmPart::new(self::direction(direction)?, &self::nonce(nonce, nonce_len)?, offset);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, Value::Part)
        }
    })
}

/// aes_bitslice_gmac in GPU memory, on a stream; the nonce is in host memory. aes_bitslice_pending_tag returns the tag when the stream has
/// reached it. Cannot be captured into a graph.
///
/// Writes a handle for the tag to `pending`; free it with aes_bitslice_pending_free.
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
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = Gmac::new(&self::nonce(nonce, nonce_len)?);
            reference(cipher, "cipher")?.put_with_output(operation, data, stream, place, Value::Tag)
        }
    })
}

/// aes_bitslice_gcm_encrypt_batch in GPU memory, on a stream; descriptions of messages, nonces and additional data are in host memory.
/// aes_bitslice_pending_tags returns the tags when the stream has reached them. Fast for messages at multiples of 16 bytes, almost as fast
/// at multiples of 4. Cannot be captured into a graph.
///
/// Writes a handle for the tags to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_encrypt_batch_on_stream(
    cipher: *const CipherHandle,
    messages: *const Message,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::maps(input, output, len)?, place(pending, "pending")?);
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = GcmEncryptBatch::new(&self::messages(messages, count)?)?;
            let cipher = reference(cipher, "cipher")?;
            cipher.put_with_output(operation, data, stream, place, |tags| Value::Tags(tags.into()))
        }
    })
}

/// aes_bitslice_gcm_decrypt_batch in GPU memory, on a stream; descriptions of messages, nonces, additional data and tags are in host
/// memory. Output of messages that are not authentic is cleared on the same stream: later work on it sees each message or zeros.
/// aes_bitslice_pending_authentic tells which are authentic. Do not read the output from the host or another stream before that. Cannot be
/// captured into a graph.
///
/// Writes a handle for this result to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_gcm_decrypt_batch_on_stream(
    cipher: *const CipherHandle,
    messages: *const Message,
    count: usize,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    tags: *const u8,
    tag_len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::maps(input, output, len)?, place(pending, "pending")?);
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tags = self::tags(tags, tag_len, count)?;
            let operation = GcmDecryptBatch::new(&self::messages(messages, count)?, &tags)?;
            let cipher = reference(cipher, "cipher")?;
            cipher.put_with_output(operation, data, stream, place, move |opened| Value::Opened(count, opened))
        }
    })
}

/// aes_bitslice_cmac_batch in GPU memory, on a stream; the ranges are in host memory. aes_bitslice_pending_tags returns the tags when the
/// stream has reached them. The blocks of a message are processed in sequence: thousands of messages are fast, a few are not. Cannot be
/// captured into a graph.
///
/// Writes a handle for the tags to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cmac_batch_on_stream(
    cipher: *const CipherHandle,
    messages: *const Range,
    count: usize,
    input: *const c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::reads(input, len)?, place(pending, "pending")?);
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let operation = CmacBatch::new(&ranges(messages, count)?)?;
            let cipher = reference(cipher, "cipher")?;
            cipher.put_with_output(operation, data, stream, place, |tags| Value::Tags(tags.into()))
        }
    })
}

/// aes_bitslice_cmac_verify_batch in GPU memory, on a stream; ranges and tags are in host memory. aes_bitslice_pending_authentic tells
/// which messages are authentic when the stream has reached the call. Cannot be captured into a graph.
///
/// Writes a handle for this result to `pending`; free it with aes_bitslice_pending_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_cmac_verify_batch_on_stream(
    cipher: *const CipherHandle,
    messages: *const Range,
    count: usize,
    input: *const c_void,
    len: usize,
    tags: *const u8,
    tag_len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        let (data, place) = (Data::reads(input, len)?, place(pending, "pending")?);
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let tags = self::tags(tags, tag_len, count)?;
            let operation = CmacVerifyBatch::new(&ranges(messages, count)?, &tags)?;
            let cipher = reference(cipher, "cipher")?;
            cipher.put_with_output(operation, data, stream, place, move |verified| Value::Opened(count, verified))
        }
    })
}
