//! A call on many messages in device memory (`op/batch`), whatever is done with them: what it takes is loaded and tested before anything is
//! put on the stream, and its results come back through memory of its own.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::batch_memory::BatchMemory;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::exec::backend::KernelsNeeded;
use crate::op::batch::Batch;
use crate::op::operation::{Hashed, Operation, finished};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::sys::CUstream;

impl Batch<'_> {
    /// The kernels that it takes.
    pub(crate) fn kernels(&self) -> KernelsNeeded {
        match self {
            Self::Gcm(_) => KernelsNeeded { mode: Some(Mode::Ctr), hashed: Some(Hashed::Output) },
            Self::Cmac(_) => KernelsNeeded { mode: Some(Mode::EcbEncrypt), hashed: None },
        }
    }
}

impl DeviceKey {
    /// Loads and tests all that a call on these messages takes, unless that was done before. The device was entered.
    pub(crate) fn prepare_batch(&self, batch: &Batch<'_>) -> Result<(), Error> {
        match batch {
            Batch::Gcm(batch) => self.prepare_gcm(batch.hash.expect("derived before the work")),
            Batch::Cmac(_) => self.prepare_cmac(),
        }
    }

    /// Puts a call on many messages on a stream, without waiting. Its results come through the memory that is returned. If it fails, part of
    /// it may have been put there, but nothing that was decrypted is left.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and has all messages; the stream is live.
    pub(crate) unsafe fn launch_batch(
        &self,
        stream: CUstream,
        span: Span,
        batch: &Batch<'_>,
    ) -> Result<BatchMemory, Error> {
        // SAFETY: as the caller promises.
        unsafe {
            match batch {
                Batch::Gcm(batch) => self.launch_gcm(stream, span, batch),
                Batch::Cmac(batch) => self.launch_cmac(stream, span, batch),
            }
        }
    }
}

/// Does an operation that was keyed on a copy of the data on the device, and waits: what is there then, and what the operation returns.
pub(crate) fn on_device<O: Operation>(
    key: &DeviceKey,
    operation: &O,
    data: &[u8],
) -> Result<(Vec<u8>, O::Output), Error> {
    let batch = operation.batch().expect("a batch");
    let mut slot = key.device().slots().take(data.len())?;
    let (place, mut found) = (slot.room(0, data.len()), vec![0; data.len()]);
    let span = Span::in_place(O::ACCESS, place, data.len() as u64);
    // SAFETY: waited for before anything is looked at or freed; the data lies in the slot's memory.
    let started = unsafe {
        slot.copy_in(0, data)
            .and_then(|()| key.launch_batch(slot.stream(), span, &batch))
            .and_then(|memory| slot.copy_out(0, &mut found).map(|()| memory))
    };
    slot.wait()?;
    let part = operation.part_of_batch(&started?.read()?);
    Ok((found, finished(operation, vec![part])?))
}
