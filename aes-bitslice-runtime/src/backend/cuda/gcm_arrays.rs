//! Messages of GCM that arrays in GPU memory describe, as slices that a call borrows: no address is given.

use crate::backend::cuda::device_batch::{
    DeviceAads, DeviceBatch, DeviceNonces, DeviceRanges, DeviceTags, IntegerType,
};
use crate::backend::cuda::device_buffers::{Addresses, DeviceBuffers};
use crate::backend::cuda::device_data::DeviceCipher;
use crate::base::error::Error;
use crate::op::batch::refused;
use crate::op::buffers::Access;
use aes_bitslice_core::aes::Direction;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

/// Arrays in GPU memory that describe messages of GCM without additional data, and what calls on them write
/// ([`DeviceCipher::run_arrays`]).
pub struct GcmArrays {
    /// The first byte of each message in the data. Ranges ascend and do not overlap.
    pub offsets: CudaSlice<u64>,
    /// The number of bytes of each.
    pub lengths: CudaSlice<u64>,
    /// The nonce of each: 12 bytes.
    pub nonces: CudaSlice<u8>,
    /// The tag of each, 16 bytes: encryption writes them, decryption compares with them.
    pub tags: CudaSlice<u8>,
    /// What decryption writes for each: 0 if the message is authentic, else another number.
    pub verdicts: CudaSlice<u32>,
    /// Two words that each call writes, for [`DeviceBatch::check`].
    pub fault: CudaSlice<u32>,
}

impl DeviceCipher<'_> {
    /// Encrypts or decrypts messages of GCM that arrays in GPU memory describe, in `&mut data`, or from an input to an output of the same
    /// length, `(&input, &mut output)`. Nothing comes to the host and nothing is waited for, as in
    /// [`run_raw_described`](Self::run_raw_described), which takes more forms of arrays. **That no nonce comes twice under one key is up to the
    /// caller.**
    ///
    /// # Errors
    /// [`Error::Batch`] for arrays of different numbers of messages, [`Error::LengthMismatch`], [`Error::OtherContext`], and those of
    /// [`run_raw_described`](Self::run_raw_described).
    pub fn run_arrays(
        &self,
        stream: &CudaStream,
        direction: Direction,
        arrays: &mut GcmArrays,
        data: impl DeviceBuffers,
    ) -> Result<(), Error> {
        let GcmArrays { offsets, lengths, nonces, tags, verdicts, fault } = arrays;
        self.own(&[
            stream,
            offsets.stream(),
            lengths.stream(),
            nonces.stream(),
            tags.stream(),
            verdicts.stream(),
            fault.stream(),
        ])?;
        let count = offsets.len();
        let found = (lengths.len(), nonces.len() / 12, nonces.len() % 12, tags.len() / 16, tags.len() % 16);
        if (found, verdicts.len(), fault.len()) != ((count, count, 0, count, 0), count, 2) {
            return refused(format!(
                "arrays that are not of {count} messages each, or other than two words for a fault"
            ));
        }
        let ((offsets, _a), (lengths, _b)) = (offsets.device_ptr(stream), lengths.device_ptr(stream));
        let ((nonces, _c), (tags, _d)) = (nonces.device_ptr(stream), tags.device_ptr_mut(stream));
        let ((verdicts, _e), (fault, _f)) = (verdicts.device_ptr_mut(stream), fault.device_ptr_mut(stream));
        let ranges = DeviceRanges::lengths((IntegerType::U64, offsets), (IntegerType::U64, lengths));
        let batch = DeviceBatch::new(count, ranges, DeviceNonces::each(nonces), DeviceAads::none())?;
        let tags = match direction {
            Direction::Encrypt => DeviceTags::Make { tags },
            Direction::Decrypt => DeviceTags::Verify { expected: tags, tag_bytes: 16, verdicts },
        };
        self.with_data(stream, data, (Access::Maps, "GCM"), |Addresses { input, output, len }| {
            // SAFETY: all buffers are borrowed for the call, and ordered on the stream by their guards; their lengths were checked.
            unsafe { self.run_raw_described(stream.cu_stream(), &batch, tags, input, output, len, fault) }
        })
    }
}
