//! Device memory in which the thread blocks of a launch of GCM add up its hash. Each stream has its own, because launches on one stream do
//! not run at a time; the last thread block leaves zeros for the next launch, so that nobody has to clear it.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{Memory, Stream};
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
    allocated: Vec<Memory>,
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
                let memory = Memory::zeroed(&self.context, AT_A_TIME * BYTES)?;
                all.unused.extend((0..AT_A_TIME).map(|n| memory.pointer + (n * BYTES) as u64));
                all.allocated.push(memory);
            }
        }
        let sums = all.unused.pop().expect("some, as of now");
        all.of_streams.insert(number, sums);
        Ok(())
    }
}

impl Drop for StreamSums {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        if all.allocated.is_empty() {
            return;
        }
        // Launches may be in flight. If waiting fails, they may still write there, so it stays.
        if self.context.make_current().and_then(|()| result::ctx::synchronize()).is_err() {
            return std::mem::forget(std::mem::take(&mut all.allocated));
        }
        let Ok(stream) = Stream::new(&self.context) else { return };
        for memory in all.allocated.drain(..) {
            // An error cannot be handled here. A launch that did not end may have left a sum there, which is secret.
            // SAFETY: the length is the allocated length, and everything was waited for.
            let _ = unsafe { stream.clear(memory.pointer, AT_A_TIME * BYTES) };
        }
    }
}
