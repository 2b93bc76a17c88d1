//! Device memory in which the thread blocks of a launch of GCM add up its hash. Each stream has its own, because launches on one stream do
//! not run at a time; the last thread block leaves zeros for the next launch, so that nobody has to clear it.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUdeviceptr, CUstream};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// The sum and the count of thread blocks, and room after them that nothing uses.
const BYTES: usize = 64;
/// Streams for which memory is allocated at a time.
const AT_A_TIME: usize = 64;
/// The maximum number of streams; before there are more, the device is waited for, and all begin anew.
const MOST: usize = 4096;

/// The memory of all streams of a device.
pub(crate) struct StreamSums {
    context: Arc<Context>,
    /// Read while a launch is made, so that its memory is given to no other stream before the device can be waited for.
    all: RwLock<All>,
}

#[derive(Default)]
struct All {
    /// By the number of the stream, which no other stream of the process ever has.
    of_streams: HashMap<u64, CUdeviceptr>,
    unused: Vec<CUdeviceptr>,
    allocated: Vec<CUdeviceptr>,
}

impl StreamSums {
    /// The memory of a device with this context; none is allocated before it is needed.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, all: RwLock::default() }
    }

    /// Makes a launch on a stream, with the memory of the stream: zeros between launches.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread.
    pub(crate) unsafe fn with(
        &self,
        stream: CUstream,
        launch: impl FnOnce(CUdeviceptr) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut number = 0;
        // SAFETY: the caller guarantees the stream; the pointer is to a live value.
        self.context.call("cuStreamGetId", unsafe { sys::cuStreamGetId(stream, &mut number) }.result())?;
        loop {
            let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(sums) = all.of_streams.get(&number) {
                return launch(*sums);
            }
            drop(all);
            self.add(number)?;
        }
    }

    /// Memory for the stream with this number.
    fn add(&self, number: u64) -> Result<(), Error> {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        if all.unused.is_empty() {
            if all.of_streams.len() >= MOST {
                self.context.call("cuCtxSynchronize", result::ctx::synchronize())?;
                let taken: Vec<CUdeviceptr> = all.of_streams.drain().map(|(_, sums)| sums).collect();
                all.unused.extend(taken);
            } else {
                let memory = self.allocate()?;
                all.allocated.push(memory);
                all.unused.extend((0..AT_A_TIME).map(|n| memory + (n * BYTES) as u64));
            }
        }
        let sums = all.unused.pop().expect("some, as of now");
        all.of_streams.insert(number, sums);
        Ok(())
    }

    /// Zeros, which were waited for.
    fn allocate(&self) -> Result<CUdeviceptr, Error> {
        let len = AT_A_TIME * BYTES;
        // SAFETY: the context is current on this thread, as the caller has entered it; freed on drop.
        let memory = self.context.call("cuMemAlloc", unsafe { result::malloc_sync(len) })?;
        // SAFETY: the length is the allocated length; nobody uses the memory yet.
        let cleared = unsafe { clear(memory, len) };
        self.context.call("cuMemsetD8", cleared).inspect_err(|_| {
            // SAFETY: allocated above, and nothing uses it.
            let _ = unsafe { result::free_sync(memory) };
        })?;
        Ok(memory)
    }
}

/// Clears device memory on a stream of its own, and waits.
///
/// # Safety
/// The memory is live, and nothing uses it.
unsafe fn clear(memory: CUdeviceptr, len: usize) -> Result<(), cudarc::driver::DriverError> {
    let stream = result::stream::create(result::stream::StreamKind::NonBlocking)?;
    // SAFETY: as the caller guarantees; the stream is live until it is destroyed here.
    unsafe {
        let cleared =
            result::memset_d8_async(memory, 0, len, stream).and_then(|()| result::stream::synchronize(stream));
        cleared.and(result::stream::destroy(stream))
    }
}

impl Drop for StreamSums {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        if all.allocated.is_empty() || self.context.make_current().is_err() {
            return;
        }
        // Launches may be in flight. If waiting fails, they may still write there, so it stays.
        if result::ctx::synchronize().is_ok() {
            for memory in all.allocated.drain(..) {
                // An error cannot be handled here.
                // SAFETY: allocated here, not used after this; a launch that did not end may have left a sum there, which is secret.
                unsafe {
                    let _ = clear(memory, AT_A_TIME * BYTES);
                    let _ = result::free_sync(memory);
                }
            }
        }
    }
}
