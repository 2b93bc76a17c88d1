//! A call on many messages in device memory (`op/batch`): which kernels and launches its messages take. The call's [`BatchMemory`] brings back
//! tags or verdicts.

use crate::backend::cuda::commands::Span;
use crate::backend::cuda::device_data::DeviceCipher;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::base::error::Error;
use crate::op::batch::Batch;
use cudarc::driver::sys::CUstream;

impl DeviceCipher<'_> {
    /// Puts a call on many messages on a stream, without waiting. Its results come through the memory returned. If it fails, part of it may
    /// have been put there, but no decrypted data is left.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and has all messages; the stream is live.
    pub(crate) unsafe fn launch_batch(
        &self,
        stream: CUstream,
        span: Span,
        batch: &Batch<'_>,
    ) -> Result<BatchMemory, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            match batch {
                Batch::Gcm(batch) => self.key()?.launch_gcm(stream, span, batch),
                Batch::Cmac(batch) => self.key()?.launch_cmac(stream, span, batch),
                Batch::GcmJobs(batch) => self.device().launch_gcm_jobs(stream, span, batch),
                Batch::Jobs(jobs) => self.device().launch_jobs(stream, span, jobs),
            }
        }
    }
}
