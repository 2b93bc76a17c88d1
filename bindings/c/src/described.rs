//! Messages of GCM that arrays in GPU memory describe: a call on the caller's stream, which waits for nothing, and which a graph can hold.

use crate::batch::Ranges;
use crate::border::call;
use crate::handles::CipherHandle;
use crate::memory::{place, reference, values};
use crate::operation::{AES_BITSLICE_GCM_DECRYPT_BATCH, AES_BITSLICE_GCM_ENCRYPT_BATCH, Operation, unknown};
use crate::status::Failure;
use aes_bitslice_runtime::Error;
use aes_bitslice_runtime::cuda::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType};
use std::ffi::{c_int, c_void};

impl Ranges {
    /// With arrays in GPU memory.
    fn on_gpu(&self) -> Result<DeviceRanges, Failure> {
        let (offsets, lengths) = (self.offsets as u64, self.lengths as u64);
        if offsets == 0 && lengths == 0 {
            return Ok(DeviceRanges::spaced(self.bytes, self.stride));
        }
        let integers = match self.integer_bytes {
            4 => IntegerType::U32,
            8 => IntegerType::U64,
            bytes => return Err(Failure::invalid(format!("`integer_bytes` is {bytes}: give 4 or 8"))),
        };
        if offsets == 0 || lengths == 0 {
            return Err(Failure::invalid("one of `offsets` and `lengths` is NULL: give both or none"));
        }
        Ok(DeviceRanges::lengths((integers, offsets), (integers, lengths)))
    }
}

impl Operation {
    /// A batch that arrays in GPU memory describe.
    ///
    /// # Safety
    /// `arrays` and `aad_arrays` are NULL, or point to live descriptions.
    unsafe fn described(&self) -> Result<DeviceBatch, Failure> {
        // SAFETY: as the caller guarantees.
        let (ranges, aad_ranges) = unsafe { (reference(self.arrays, "arrays")?, self.aad_arrays.as_ref()) };
        let nonce = self.nonce as u64;
        let nonces = match self.counter_bits {
            0 => DeviceNonces::each(nonce),
            bits => DeviceNonces::counted(nonce, bits)?,
        };
        let (aad, bytes) = (self.aad as u64, self.aad_len as u64);
        let aads = match aad_ranges {
            None => DeviceAads::shared(aad, bytes),
            Some(ranges) => DeviceAads::each(aad, bytes, ranges.on_gpu()?),
        };
        Ok(DeviceBatch::new(self.count, ranges.on_gpu()?, nonces, aads)?)
    }

    /// What it does with tags; `results` is where tags or verdicts go.
    fn device_tags(&self, results: u64) -> Result<DeviceTags, Failure> {
        match self.kind {
            AES_BITSLICE_GCM_ENCRYPT_BATCH => Ok(DeviceTags::Make { tags: results }),
            AES_BITSLICE_GCM_DECRYPT_BATCH => {
                if matches!(self.tag_len, 4 | 8) != (self.short_tags == 1) {
                    return Err(Error::TagLength { bytes: self.tag_len }.into());
                }
                let expected = self.tag as u64;
                Ok(DeviceTags::Verify { expected, tag_bytes: self.tag_len, verdicts: results })
            }
            kind => Err(unknown(kind, "AES_BITSLICE_GCM_ENCRYPT_BATCH or AES_BITSLICE_GCM_DECRYPT_BATCH")),
        }
    }
}

/// Does AES_BITSLICE_GCM_ENCRYPT_BATCH or AES_BITSLICE_GCM_DECRYPT_BATCH on `len` bytes in GPU memory, on a stream, with everything about
/// the messages in GPU memory: `nonce`, `aad` and `tag` of the operation, and `offsets` and `lengths` of its `arrays` and `aad_arrays`, which
/// themselves are in host memory. `tag` has 16 bytes for each message, of which `tag_len` count. Nothing comes to the host and nothing is waited
/// for: later work on the stream sees output and results.
///
/// `results` gets the tags, 16 bytes for each message; in a decryption, a uint32_t for each: 0 if it is authentic, else another number, and it is
/// cleared. `fault` gets two uint32_t, which aes_bitslice_check_fault reads: if anything is wrong with the arrays, no message is processed,
/// output and tags stay as they are, and no verdict is 0. All of these are at multiples of 4.
///
/// A graph can hold the call, after aes_bitslice_prepare of any batch; each launch reads the arrays again. NOTHING CHECKS THAT NONCES ARE NEW: under one
/// key, the same nonce must never be used twice, in one call, in two, or in two launches of a graph. The GPU must have compute capability 9.0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_run_described_on_stream(
    cipher: *const CipherHandle,
    operation: *const Operation,
    input: *const c_void,
    output: *mut c_void,
    len: usize,
    stream: *mut c_void,
    results: *mut c_void,
    fault: *mut u32,
) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        unsafe {
            let (handle, operation) = (reference(cipher, "cipher")?, reference(operation, "operation")?);
            let batch = operation.described()?;
            let tags = operation.device_tags(results as u64)?;
            let fault = place(fault, "fault")?.as_ptr() as u64;
            let (input, output, len) = (input as u64, output as u64, len as u64);
            handle.kept(|| {
                let device = handle.0.device()?;
                Ok(device.run_raw_described(stream.cast(), &batch, tags, input, output, len, fault)?)
            })
        }
    })
}

/// Whether the arrays of a call of aes_bitslice_run_described_on_stream were right: reads the two numbers of its `fault`, copied to host memory
/// when the call was done. AES_BITSLICE_INVALID says that they were not, and aes_bitslice_last_error() which message was the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aes_bitslice_check_fault(fault: *const u32) -> c_int {
    call(|| {
        // SAFETY: required of callers at the top of the header.
        let fault = unsafe { values(fault, 2, "fault") }?;
        Ok(DeviceBatch::check([fault[0], fault[1]])?)
    })
}
