//! Messages of GCM that arrays in GPU memory describe: a call on the caller's stream, which waits for nothing, and which a graph can hold.

use crate::batch::Ranges;
use crate::border::call;
use crate::handles::CipherHandle;
use crate::memory::{Data, address, place, reference, values};
use crate::operation::Operation;
use crate::status::Failure;
use aes_bitslice_runtime::cuda::{DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType};
use aes_bitslice_runtime::{Access, Error};
use std::ffi::{c_int, c_void};

/// A nonce, and a tag, as many of which are contiguous.
type Nonce = [u8; 12];
type Tag = [u32; 4];

impl Ranges {
    /// With arrays in GPU memory, of `count` integers each.
    fn on_gpu(&self, count: usize) -> Result<DeviceRanges, Failure> {
        if self.offsets.is_null() && self.lengths.is_null() {
            return Ok(DeviceRanges::spaced(self.bytes, self.stride));
        }
        let of_64_bits = self.of_64_bits()?;
        let array = |array: *const c_void, name| match of_64_bits {
            false => Ok((IntegerType::U32, address(array.cast::<u32>(), count, name)?)),
            true => Ok::<_, Failure>((IntegerType::U64, address(array.cast::<u64>(), count, name)?)),
        };
        Ok(DeviceRanges::lengths(array(self.offsets, "offsets")?, array(self.lengths, "lengths")?))
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
        self.check_only_arrays()?;
        self.check_nonce_len()?;
        let nonces = self.nonce.cast::<Nonce>();
        let nonces = match self.counter_bits {
            0 => DeviceNonces::each(address(nonces, self.count, "nonce")?),
            bits => DeviceNonces::counted(address(nonces, 1, "nonce")?, bits)?,
        };
        let (aad, bytes) = (address(self.aad.cast::<u8>(), self.aad_len, "aad")?, self.aad_len as u64);
        let aads = match aad_ranges {
            None => DeviceAads::shared(aad, bytes),
            Some(ranges) => DeviceAads::each(aad, bytes, ranges.on_gpu(self.count)?),
        };
        Ok(DeviceBatch::new(self.count, ranges.on_gpu(self.count)?, nonces, aads)?)
    }

    /// What it does with tags; `results` is where tags or verdicts go.
    pub(crate) fn device_tags(&self, results: *mut c_void) -> Result<DeviceTags, Failure> {
        if self.encrypts_batch()? {
            return Ok(DeviceTags::Make { tags: address(results.cast::<Tag>(), self.count, "results")? });
        }
        if matches!(self.tag_len, 4 | 8) != self.short_tags()? {
            return Err(Error::TagLength { bytes: self.tag_len }.into());
        }
        let expected = address(self.tag.cast::<Tag>(), self.count, "tag")?;
        let verdicts = address(results.cast::<u32>(), self.count, "results")?;
        Ok(DeviceTags::Verify { expected, tag_bytes: self.tag_len, verdicts })
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
            let (tags, batch) = (operation.device_tags(results)?, operation.described()?);
            let fault = place(fault, "fault")?.as_ptr() as u64;
            let (input, output, len) = Data::of(Access::Maps, "a GCM batch", input, output, len)?.addresses();
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
