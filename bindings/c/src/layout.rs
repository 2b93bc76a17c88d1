//! Where jobs, or messages of GCM, are in data in GPU memory, described there once: for calls of which keys and everything else are in GPU
//! memory, too, which wait for nothing, and which a graph can hold.

use crate::border::call;
use crate::context::kept;
use crate::handles::{EngineHandle, free_handle};
use crate::many_keys::{access, counts, mode_of};
use crate::memory::{Data, address, place, reference};
use crate::operation::{AES_BITSLICE_GCM_DECRYPT_BATCH, AES_BITSLICE_GCM_ENCRYPT_BATCH, Operation, unknown};
use crate::status::Failure;
use aes_bitslice_runtime::cuda::{DeviceBytes, DeviceTags, GcmJobInputs, GcmJobLayout, JobLayout};
use aes_bitslice_runtime::{Access, Error, KeyBits, Mode, Ranges};
use std::ffi::{c_int, c_void};

/// Where jobs, or messages of GCM, are in data in GPU memory, each with a key of its own. Any number of threads may use it at the same time.
pub struct LayoutHandle {
    laid: Laid,
    /// The number of jobs or messages.
    count: usize,
    /// Bytes of the additional data of all messages.
    aad_len: usize,
    /// Bytes of each key.
    key_len: usize,
}

enum Laid {
    Jobs(JobLayout, Mode),
    Gcm(GcmJobLayout),
}

impl LayoutHandle {
    /// # Safety
    /// What `arrays` and `aad_arrays` of the operation refer to lives and does not change meanwhile.
    unsafe fn new(engine: &EngineHandle, operation: &Operation, key_len: usize) -> Result<Self, Failure> {
        let &Operation { kind, count, aad_len, .. } = operation;
        let known =
            "AES_BITSLICE_CTR, _KEYSTREAM, _ECB_ENCRYPT, _ECB_DECRYPT, _GCM_ENCRYPT_BATCH or _GCM_DECRYPT_BATCH";
        let mode = match kind {
            AES_BITSLICE_GCM_ENCRYPT_BATCH | AES_BITSLICE_GCM_DECRYPT_BATCH => None,
            _ => Some(mode_of(kind).ok_or_else(|| unknown(kind, known))?),
        };
        let bits = KeyBits::from_bytes(key_len).ok_or(Error::KeyLength { bytes: key_len })?;
        operation.check_only_arrays()?;
        // SAFETY: as the caller guarantees.
        let ranges = unsafe { reference(operation.arrays, "arrays")?.of(count)? };
        let cipher = engine.under_own_keys();
        let jobs = |mode| -> Result<Laid, Failure> {
            Ok(Laid::Jobs(cipher.0.device()?.job_layout(mode, bits, &ranges)?, mode))
        };
        let gcm = || -> Result<Laid, Failure> {
            // SAFETY: as the caller guarantees.
            let aads = unsafe { operation.aad_arrays.as_ref().map(|ranges| ranges.of(count)).transpose()? };
            let aads = aads.unwrap_or(Ranges::spaced(count, aad_len as u64, 0));
            Ok(Laid::Gcm(cipher.0.device()?.gcm_job_layout(bits, &ranges, &aads)?))
        };
        let laid = cipher.kept(|| mode.map_or_else(gcm, jobs))?;
        Ok(Self { laid, count, aad_len, key_len })
    }

    /// As many times `each` bytes in GPU memory as there are jobs or messages.
    fn bytes(&self, pointer: *const u8, each: usize, name: &str) -> Result<DeviceBytes, Failure> {
        let bytes = each.saturating_mul(self.count);
        Ok(DeviceBytes { at: address(pointer, bytes, name)?, bytes: bytes as u64 })
    }

    /// The counters of a call of jobs in this mode.
    fn counters(&self, operation: &Operation, mode: Mode) -> Result<DeviceBytes, Failure> {
        if mode_of(operation.kind) != Some(mode) {
            return Err(unknown(operation.kind, &format!("that of the layout, which is for {mode}")));
        }
        if !counts(mode, operation.counter)? {
            return Ok(DeviceBytes::NONE);
        }
        match operation.offset {
            0 => self.bytes(operation.counter, 16, "counter"),
            bytes => Err(Failure::invalid(format!("`offset` is {bytes}: each job of a layout begins at its counter"))),
        }
    }

    /// What a call has besides data and keys.
    fn inputs(&self, keys: DeviceBytes, operation: &Operation) -> Result<GcmJobInputs, Failure> {
        let &Operation { nonce, aad, aad_len, counter_bits, .. } = operation;
        operation.check_nonce_len()?;
        if counter_bits != 0 {
            return Err(Failure::invalid(format!(
                "`counter_bits` is {counter_bits}: each message of a layout has its nonce"
            )));
        }
        if aad_len != self.aad_len {
            return Err(Failure::invalid(format!("`aad_len` is {aad_len}, and the layout has {}", self.aad_len)));
        }
        let aad = DeviceBytes { at: address(aad.cast::<u8>(), aad_len, "aad")?, bytes: aad_len as u64 };
        Ok(GcmJobInputs { keys, nonces: self.bytes(nonce, 12, "nonce")?, aad })
    }
}

/// Describes jobs or messages to a GPU, each with a key of `key_len` bytes, for calls of aes_bitslice_run_layout_on_stream.
///
/// `kind` is AES_BITSLICE_CTR, AES_BITSLICE_KEYSTREAM, AES_BITSLICE_ECB_ENCRYPT, AES_BITSLICE_ECB_DECRYPT, or AES_BITSLICE_GCM_ENCRYPT_BATCH
/// or AES_BITSLICE_GCM_DECRYPT_BATCH: a layout for either of these two serves both. `arrays` has the `count` ranges of the data, which ascend
/// and do not overlap; for ECB they are whole blocks of 16. For GCM, `aad_arrays` says where in the `aad_len` bytes of additional data that of
/// each message is; if it is NULL, all messages have all of it. The arrays are in host memory; `messages` and `ranges` are NULL, and other
/// fields are not used. Kernels are loaded and tested, unless that was done before.
///
/// Writes the layout to `layout`; free it with aes_bitslice_layout_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_layout_new(
    engine: *const EngineHandle,
    operation: *const Operation,
    key_len: usize,
    layout: *mut *mut LayoutHandle,
) -> c_int {
    call(|| {
        let place = place(layout, "layout")?;
        // SAFETY: required of callers at the top of the header; the caller's place for a pointer.
        unsafe {
            let made = LayoutHandle::new(reference(engine, "engine")?, reference(operation, "operation")?, key_len)?;
            place.write(Box::into_raw(Box::new(made)));
        }
        Ok(())
    })
}

/// Processes the jobs or messages of a layout in `len` bytes of GPU memory, on a stream. Nothing comes to the host and nothing is waited for:
/// later work on the stream sees output and results.
///
/// `keys` has one key for each job or message, contiguous, in GPU memory at a multiple of 4. They stay as they are: the caller must clear
/// them. Also in GPU memory is what the operation refers to. For jobs: `counter`, 16 bytes for each, at a multiple of 16; NULL for ECB. For
/// messages: `nonce`, 12 bytes for each; `aad`; and for decryption `tag`, 16 bytes for each, at a multiple of 4. `nonce_len` is 12 and
/// `tag_len` 16; `offset`, `counter_bits` and `short_tags` are 0. `kind`, `count` and, for GCM, `aad_len` are those of the layout, but GCM may
/// go in either direction.
///
/// For GCM, `results` in GPU memory, at a multiple of 4, gets the tags, 16 bytes for each message; in a decryption, a uint32_t for each: 0
/// if the message is authentic, else another number, and the message is cleared. For jobs, `results` is NULL.
///
/// A graph can hold the call; make the layout before the capture begins. Each launch reads keys, counters and nonces again. NOTHING CHECKS
/// THAT THEY ARE NEW: under one key, the same counter or nonce must never be used twice, in one call, in two, or in two launches of a graph.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_layout_on_stream(
    layout: *const LayoutHandle,
    keys: *const u8,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    results: *mut c_void,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (layout, operation) = (reference(layout, "layout")?, reference(operation, "operation")?);
            let (stream, keys) = (stream.cast(), layout.bytes(keys, layout.key_len, "keys")?);
            if operation.count != layout.count {
                let counts = format!("`count` is {}, and the layout has {}", operation.count, layout.count);
                return Err(Failure::invalid(counts));
            }
            match &layout.laid {
                Laid::Jobs(_, mode) if !results.is_null() => {
                    Err(Failure::invalid(format!("`results` is not NULL: {mode} has none")))
                }
                Laid::Jobs(jobs, mode) => {
                    let counters = layout.counters(operation, *mode)?;
                    let (input, output, len) = Data::of(access(*mode), mode, input, output, len)?.addresses();
                    Ok(kept(true, || jobs.run_raw(stream, keys, counters, input, output, len))?)
                }
                Laid::Gcm(messages) => {
                    let (tags, inputs) = (operation.device_tags(results)?, layout.inputs(keys, operation)?);
                    if let DeviceTags::Verify { tag_bytes: bytes, .. } = tags
                        && bytes != 16
                    {
                        let whole = format!("`tag_len` is {bytes}: messages of a layout have tags of 16 bytes");
                        return Err(Failure::invalid(whole));
                    }
                    let (input, output, len) = Data::of(Access::Maps, "a GCM batch", input, output, len)?.addresses();
                    Ok(kept(true, || messages.run_raw(stream, &inputs, tags, input, output, len))?)
                }
            }
        }
    })
}

/// Frees a layout, and waits for all work of the GPU; does nothing for NULL. Keep it until the capture of its calls ends; a graph that holds
/// them can be launched afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_layout_free(layout: *mut LayoutHandle) {
    // SAFETY: required of callers at the top of the header.
    unsafe { free_handle(layout, true) }
}
