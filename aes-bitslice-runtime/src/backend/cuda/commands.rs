//! The CUDA driver as devices in general use it ([`Driver`]): memory, copies and launches on streams.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{Memory, Stream};
use crate::backend::cuda::kernel::module::EntryPoints;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::cuda::memory::pinned::{self, Pinned};
use crate::backend::device::driver::{Driver, Waited};
use crate::backend::device::values::Values;
use crate::backend::device::{hash, kernel, round_keys, slots, span};
use crate::base::error::Error;
use crate::op::launch::Launch;
use cudarc::driver::sys::{self, CUdeviceptr, CUresult, CUstream};
use cudarc::driver::{DriverError, result};
use std::sync::Arc;

pub(crate) type Span = span::Span<CUdeviceptr>;
pub(crate) type Slots = slots::Slots<Context>;
pub(crate) type Slot<'d> = slots::Slot<'d, Context>;
pub(crate) type Kernel = kernel::Kernel<Context>;
pub(crate) type RoundKeys = round_keys::RoundKeys<KeyMemory>;
pub(crate) type HashKernel = hash::HashKernel<Context>;

impl span::Place for CUdeviceptr {
    fn after(self, bytes: u64) -> Self {
        self.wrapping_add(bytes)
    }

    fn before(self, bytes: u64) -> Self {
        self.wrapping_sub(bytes)
    }

    fn is_aligned(self) -> bool {
        self.is_multiple_of(16)
    }

    fn address(self) -> u64 {
        self
    }
}

impl Driver for Context {
    type Place = CUdeviceptr;
    type Queue = CUstream;
    type OwnQueue = Stream;
    type Memory = Memory;
    type Pinned = Pinned;
    type KeyMemory = KeyMemory;
    type Code = EntryPoints;

    fn enter(&self) -> Result<(), Error> {
        Context::enter(self)
    }

    fn enter_to_free(&self) {
        let _ = self.make_current();
    }

    fn own_queue(self: &Arc<Self>) -> Result<Stream, Error> {
        Stream::new(self)
    }

    fn queue(own: &mut Stream) -> &mut CUstream {
        &mut own.raw
    }

    fn memory(self: &Arc<Self>, _stream: &mut Stream, len: usize) -> Result<Memory, Error> {
        Memory::new(self, len)
    }

    fn place(memory: &Memory) -> CUdeviceptr {
        memory.pointer
    }

    fn pinned(self: &Arc<Self>, _stream: &mut Stream, len: usize) -> Result<Pinned, Error> {
        Pinned::new(self, len)
    }

    fn free_pinned(_stream: &mut Stream, pinned: Pinned) {
        drop(pinned);
    }

    fn key_memory(self: &Arc<Self>, words: &[u32]) -> Result<KeyMemory, Error> {
        KeyMemory::new(self, words)
    }

    unsafe fn copy_in(&self, stream: &mut Stream, from: &[u8], to: CUdeviceptr) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        self.call("cuMemcpyHtoDAsync", unsafe { result::memcpy_htod_async(to, from, stream.raw) })
    }

    unsafe fn copy_out(&self, stream: &mut Stream, from: CUdeviceptr, to: &mut [u8]) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        self.call("cuMemcpyDtoHAsync", unsafe { result::memcpy_dtoh_async(to, from, stream.raw) })
    }

    unsafe fn clear(&self, stream: &mut CUstream, at: CUdeviceptr, len: usize) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        self.call("cuMemsetD8Async", unsafe { result::memset_d8_async(at, 0, len, *stream) })
    }

    unsafe fn launch(
        self: &Arc<Self>,
        stream: &mut CUstream,
        code: &EntryPoints,
        launch: &Launch,
        values: &Values<'_, KeyMemory>,
    ) -> Result<(), Error> {
        // SAFETY: as the caller guarantees.
        unsafe { code.launch(*stream, launch, values) }
    }

    /// The device begins by itself.
    fn begin(&self, _stream: &mut Stream) -> Result<(), Error> {
        Ok(())
    }

    fn wait(&self, stream: &mut Stream) -> Waited {
        // SAFETY: the stream is alive.
        let waited = unsafe { result::stream::synchronize(stream.raw) };
        match self.call("cuStreamSynchronize", waited) {
            Ok(()) => Waited::Done,
            Err(error) => Waited::Unknown(error),
        }
    }

    fn is_pinned(&self, data: &[u8]) -> bool {
        pinned::is_pinned(data)
    }

    fn over_link(&self, data: &[u8]) -> Option<CUdeviceptr> {
        pinned::on_device(data)
    }
}

impl Slot<'_> {
    /// Whether everything on its stream is done.
    pub(crate) fn is_done(&mut self) -> Result<bool, Error> {
        // SAFETY: the stream is the slot's and alive.
        self.ask(|context, stream| match unsafe { sys::cuStreamQuery(*stream) }.result() {
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            asked => context.call("cuStreamQuery", asked).map(|()| true),
        })
    }
}

impl Kernel {
    /// Prepares the kernel for multiprocessors that it shares with another kernel: all on-chip memory is shared memory, so that both fit.
    pub(crate) fn share_multiprocessors(&self) -> Result<(), Error> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        self.code().functions().try_for_each(|function| {
            // SAFETY: the function is loaded.
            let preferred = unsafe { result::function::set_function_attribute(function, attribute, 100) };
            self.driver().call("cuFuncSetAttribute", preferred)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cuda::driver;
    use crate::backend::device::slots::tests::{a_large_call_leaves_slots_to_small_ones, a_slot_comes_back_cleared};

    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn slots_on_a_gpu() {
        let context = Arc::new(Context::open(&driver::usable(0).unwrap()).unwrap());
        a_slot_comes_back_cleared(context.clone());
        a_large_call_leaves_slots_to_small_ones(context);
    }
}
