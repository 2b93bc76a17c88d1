//! Round keys as kernels take them: with the launch, or in memory of the device.

use super::device::{Device, make_current};
use crate::Error;
use aes_bitslice_gen::layout::PLANES;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaContext, result};
use std::ptr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Round keys as a kernel is launched with them.
pub(super) enum RoundKeys {
    /// They travel with the launch.
    Argument(Zeroizing<Vec<u32>>),
    /// Their planes lie in memory of the device, which outlives the launches that are given it.
    Memory { planes: KeyMemory, rounds: u32 },
}

impl RoundKeys {
    /// For a kernel that reads their planes in memory of the device.
    pub(super) fn in_memory(device: &Device, planes: &[u32]) -> Result<Self, Error> {
        Ok(Self::Memory { planes: KeyMemory::new(device, planes)?, rounds: (planes.len() / PLANES) as u32 - 1 })
    }
}

/// Round keys in device memory, for kernels that read them there: cleared and freed on drop, when everything on the device
/// is done.
pub(super) struct KeyMemory {
    context: Arc<CudaContext>,
    buffer: CUdeviceptr,
    len: usize,
}

impl KeyMemory {
    /// A copy of the words on the device.
    pub(super) fn new(device: &Device, words: &[u32]) -> Result<Self, Error> {
        let len = size_of_val(words);
        // SAFETY: the context is current on this thread, as the caller has entered the device.
        let buffer = device.call("cuMemAlloc", unsafe { result::malloc_sync(len) })?;
        let memory = Self { context: device.context().clone(), buffer, len };
        // SAFETY: the buffer is as long as the words.
        device.call("cuMemcpyHtoD", unsafe { result::memcpy_htod_sync(buffer, words) })?;
        // SAFETY: every context has the default stream, which the copy is on, and for which other streams do not wait.
        device.call("cuStreamSynchronize", unsafe { result::stream::synchronize(ptr::null_mut()) })?;
        Ok(memory)
    }

    pub(super) fn pointer(&self) -> CUdeviceptr {
        self.buffer
    }
}

impl Drop for KeyMemory {
    fn drop(&mut self) {
        let _ = make_current(&self.context);
        // Launches may be in flight on streams that we do not know: wait. Where that cannot be done, they may still read
        // the keys, and a context that is lost has lost the memory too.
        if result::ctx::synchronize().is_ok() {
            // Nothing can be done here about an error.
            // SAFETY: allocated by us, not used after this; clearing comes before freeing on the default stream.
            unsafe {
                let _ = result::memset_d8_sync(self.buffer, 0, self.len);
                let _ = result::stream::synchronize(ptr::null_mut());
                let _ = result::free_sync(self.buffer);
            }
        }
    }
}
