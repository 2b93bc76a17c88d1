//! Calls of operations: on host memory, where they return when they are done, and on GPU memory, on the caller's stream, where they return
//! when the work is on the stream.

use crate::batch::one_tag;
use crate::border::call;
use crate::handles::CipherHandle;
use crate::memory::{Data, place, places, reference, values};
use crate::operation::{
    AES_BITSLICE_GCM_DECRYPT, AES_BITSLICE_GCM_DECRYPT_PART, AES_BITSLICE_GCM_ENCRYPT, AES_BITSLICE_GCM_ENCRYPT_PART,
    Operation, Work, unknown,
};
use crate::outcome::{Outcome, Part, check_room};
use crate::pending::PendingHandle;
use crate::status::{AES_BITSLICE_UNAUTHENTICATED, AES_BITSLICE_UNSUPPORTED, Failure};
use aes_bitslice_core::memory::collected;
use aes_bitslice_runtime::{self as runtime, PartialHash, Tag};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

/// The caller's data and its length, before the operation says how it accesses them.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) input: *const c_void,
    pub(crate) output: *mut c_void,
    pub(crate) len: usize,
}

impl Given {
    fn data<O: runtime::Operation>(self) -> Result<Data, Failure> {
        Data::of(O::ACCESS, O::NAME, self.input, self.output, self.len)
    }
}

/// A call on host memory.
pub(crate) struct InHostMemory<'a> {
    pub(crate) cipher: &'a CipherHandle,
    pub(crate) given: Given,
    pub(crate) result: *mut c_void,
    pub(crate) result_len: usize,
}

impl Work for InHostMemory<'_> {
    unsafe fn outcome<O>(self, operation: O, messages: usize) -> Result<(), Failure>
    where
        O: runtime::Operation,
        O::Output: Outcome,
    {
        let data = self.given.data::<O>()?;
        let bytes = <O::Output as Outcome>::bytes(messages);
        check_room(self.result_len, bytes)?;
        let place = data.places_apart(self.result.cast(), bytes, "result")?;
        // SAFETY: as the caller guarantees.
        let outcome = unsafe { self.cipher.run(operation, data) }?;
        // SAFETY: as the caller guarantees; the place has these bytes.
        unsafe { outcome.write(place, messages) };
        outcome.verdict(messages)
    }
}

/// A call on GPU memory.
pub(crate) struct OnStream<'a> {
    pub(crate) cipher: &'a CipherHandle,
    pub(crate) given: Given,
    pub(crate) stream: *mut c_void,
    pub(crate) pending: *mut *mut PendingHandle,
}

impl Work for OnStream<'_> {
    unsafe fn data<O: runtime::Operation<Output = ()>>(self, operation: O) -> Result<(), Failure> {
        let (input, output, len) = self.given.data::<O>()?.addresses();
        let cipher = &self.cipher.0;
        // SAFETY: as the caller guarantees.
        self.cipher.kept(|| unsafe { cipher.device()?.run_raw(self.stream.cast(), operation, input, output, len) })?;
        if let Some(place) = NonNull::new(self.pending) {
            // SAFETY: the caller's place for a pointer.
            unsafe { place.write(ptr::null_mut()) };
        }
        Ok(())
    }

    unsafe fn outcome<O>(self, operation: O, messages: usize) -> Result<(), Failure>
    where
        O: runtime::Operation,
        O::Output: Outcome,
    {
        let (input, output, len) = self.given.data::<O>()?.addresses();
        let place = place(self.pending, "pending")?;
        let (cipher, stream) = (&self.cipher.0, self.stream.cast());
        self.cipher.kept(|| {
            // SAFETY: as the caller guarantees.
            let put = unsafe { cipher.device()?.run_raw_with_output(stream, operation, input, output, len) }?;
            // SAFETY: the caller's place for a pointer.
            unsafe { PendingHandle::give(place, messages, || put.wait()) };
            Ok(())
        })
    }
}

/// A call on GPU memory that writes a tag there.
struct ToTag<'a> {
    cipher: &'a CipherHandle,
    given: Given,
    stream: *mut c_void,
    tag_out: *mut c_void,
}

impl Work for ToTag<'_> {
    unsafe fn outcome<O>(self, _operation: O, _messages: usize) -> Result<(), Failure>
    where
        O: runtime::Operation,
        O::Output: Outcome,
    {
        Err(Failure::new(
            AES_BITSLICE_UNSUPPORTED,
            format!("{} makes no tag in GPU memory: give GCM encryption or GMAC", O::NAME),
        ))
    }

    unsafe fn tag<O: runtime::Operation<Output = Tag>>(self, operation: O) -> Result<(), Failure> {
        let (input, output, len) = self.given.data::<O>()?.addresses();
        let tag = place(self.tag_out.cast::<u8>(), "tag_out")?.as_ptr() as u64;
        let (cipher, stream) = (&self.cipher.0, self.stream.cast());
        // SAFETY: as the caller guarantees.
        self.cipher.kept(|| Ok(unsafe { cipher.device()?.run_raw_to_tag(stream, operation, input, output, len, tag) }?))
    }
}

/// Loads what an operation needs on each GPU of the engine.
struct Preparation<'a>(&'a CipherHandle);

impl Work for Preparation<'_> {
    unsafe fn outcome<O>(self, operation: O, _messages: usize) -> Result<(), Failure>
    where
        O: runtime::Operation,
        O::Output: Outcome,
    {
        let Self(CipherHandle(cipher)) = self;
        self.0.kept(|| {
            if cipher.engine().backend().is_cuda() {
                Ok(cipher.devices()?.iter().try_for_each(|gpu| gpu.prepare_for(&operation))?)
            } else {
                Ok(())
            }
        })
    }
}

/// Does an operation on `len` bytes in host memory. `input` or `output` is NULL if the operation says so.
///
/// Writes the result of the operation to `result`, which must not overlap the data: `result_len` bytes, as many as `kind` says; NULL and 0
/// for an operation without a result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run(
    cipher: *const CipherHandle,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    result: *mut c_void,
    result_len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let cipher = reference(cipher, "cipher")?;
            let given = Given { input, output, len };
            reference(operation, "operation")?.give(InHostMemory { cipher, given, result, result_len })
        }
    })
}

/// Does an operation on `len` bytes in GPU memory, on a stream: all but CMAC of one message and encryption of CBC, which are serial and
/// refused with AES_BITSLICE_UNSUPPORTED. What the operation refers to is in host memory.
///
/// For an operation with a tag, a part or a batch, writes a handle to `pending`, from which aes_bitslice_pending_result returns the result
/// when the stream has reached the call; free it with aes_bitslice_pending_free. Such a call cannot be captured into a graph. For the others
/// `pending` may be NULL, else NULL is written to it.
///
/// Decryption clears output that is not authentic on the same stream, so later work on it sees the message or zeros, in a batch each
/// message or zeros; the handle tells which. Do not read the output from the host or another stream before that.
///
/// AES-GCM-SIV and XAES-256-GCM: each call has its own tables on the GPU. Encryption with AES-GCM-SIV reads the data twice, and waits until
/// the stream has finished the first pass. The other calls wait until the tables are on the GPU, hence also for the default stream and for
/// streams made without cudaStreamNonBlocking. Waiting for the result, or freeing its handle, waits for all work of the GPU.
///
/// Batches of GCM are fast for messages at multiples of 16 bytes, almost as fast at multiples of 4. In batches of CMAC the blocks of a
/// message are processed in sequence: thousands of messages are fast, a few are not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_on_stream(
    cipher: *const CipherHandle,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    pending: *mut *mut PendingHandle,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let cipher = reference(cipher, "cipher")?;
            let given = Given { input, output, len };
            reference(operation, "operation")?.give(OnStream { cipher, given, stream, pending })
        }
    })
}

/// Does AES_BITSLICE_GCM_ENCRYPT or AES_BITSLICE_GMAC on `len` bytes in GPU memory, on a stream, and writes the tag to `tag_out`: 16 bytes of
/// GPU memory, at a multiple of 4, which do not overlap the data. Nothing comes to the host and nothing is waited for: later work on the
/// stream sees the tag. It cannot be captured into a graph, each launch of which would use the nonce again. Other operations are refused with
/// AES_BITSLICE_UNSUPPORTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_to_tag_on_stream(
    cipher: *const CipherHandle,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    tag_out: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let cipher = reference(cipher, "cipher")?;
            let given = Given { input, output, len };
            reference(operation, "operation")?.give(ToTag { cipher, given, stream, tag_out })
        }
    })
}

/// Loads what calls of an operation need on each GPU of the engine, its kernels and for GCM the tables of the key, and waits for their
/// known-answer test, so that no later call has to: for use before time counts, and before a graph captures a stream. Other engines have
/// nothing to load: the call succeeds. A batch may have no messages here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_prepare(cipher: *const CipherHandle, operation: *const Operation) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe { reference(operation, "operation")?.give(Preparation(reference(cipher, "cipher")?)) }
    })
}

/// Combines all `count` parts of a GCM message, in any order, for the operation on the whole message. With AES_BITSLICE_GCM_ENCRYPT, writes
/// its tag to `result`. With AES_BITSLICE_GCM_DECRYPT, verifies `tag` and has no result: if the call fails with
/// AES_BITSLICE_UNAUTHENTICATED, the plaintext must be thrown away. With AES_BITSLICE_GCM_ENCRYPT_PART or AES_BITSLICE_GCM_DECRYPT_PART,
/// whose `offset` is that of the first part, writes one aes_bitslice_part for all: so that one is kept, however many came before. `result`
/// may be one of `parts`: all are read before it is written.
///
/// Parts that overlap, or a missing part between others, are refused with AES_BITSLICE_INVALID; a part missing at the end cannot be
/// detected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_combine(
    cipher: *const CipherHandle,
    operation: *const Operation,
    parts: *const Part,
    count: usize,
    result: *mut c_void,
    result_len: usize,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (CipherHandle(cipher), operation) = (reference(cipher, "cipher")?, reference(operation, "operation")?);
            let parts = values(parts, count, "parts")?;
            let parts = parts.iter().map(|&Part { offset, bytes, hash }| PartialHash { offset, bytes, hash });
            let parts = collected(parts)?;
            match operation.kind {
                AES_BITSLICE_GCM_ENCRYPT => {
                    check_room(result_len, <Tag as Outcome>::bytes(1))?;
                    let place = places(result.cast(), result_len, "result")?;
                    cipher.combine(&operation.gcm_encrypt()?, parts)?.write(place, 1);
                    Ok(())
                }
                AES_BITSLICE_GCM_DECRYPT => {
                    check_room(result_len, 0)?;
                    Ok(cipher.combine(&operation.gcm_decrypt()?, parts)?)
                }
                AES_BITSLICE_GCM_ENCRYPT_PART | AES_BITSLICE_GCM_DECRYPT_PART => {
                    check_room(result_len, <PartialHash as Outcome>::bytes(1))?;
                    let place = places(result.cast(), result_len, "result")?;
                    cipher.combine(&operation.gcm_part()?, parts)?.write(place, 1);
                    Ok(())
                }
                kind => Err(unknown(kind, "AES_BITSLICE_GCM_ENCRYPT, AES_BITSLICE_GCM_DECRYPT, or one of a part")),
            }
        }
    })
}

/// Compares a computed tag, 16 bytes, in constant time with a received one, its first `received_len` bytes, 12 to 16: returns AES_BITSLICE_OK
/// or AES_BITSLICE_UNAUTHENTICATED. Never compare tags with memcmp: its timing reveals how much was right.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_tag_verify(
    computed: *const u8,
    received: *const u8,
    received_len: usize,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { verify(computed, received, received_len, false) }
}

/// As aes_bitslice_tag_verify, for a short tag, of 4 or 8 bytes. SP 800-38D, appendix C, allows such tags of GMAC to few applications; for
/// CMAC, SP 800-38B, appendix A.2, recommends 8 bytes or more. Give the length that was agreed on, never the one that the sender says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_short_tag_verify(
    computed: *const u8,
    received: *const u8,
    received_len: usize,
) -> c_int {
    // SAFETY: required of callers at the top of the header.
    unsafe { verify(computed, received, received_len, true) }
}

/// # Safety
/// As the header requires of callers.
unsafe fn verify(computed: *const u8, received: *const u8, received_len: usize, short: bool) -> c_int {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (computed, received) =
            unsafe { (values(computed, 16, "computed")?, values(received, received_len, "received")?) };
        let received = one_tag(received, short)?;
        if one_tag(&computed[..received_len], short)? == received {
            Ok(())
        } else {
            Err(Failure::new(AES_BITSLICE_UNAUTHENTICATED, "authentication failed: the tags differ"))
        }
    })
}
