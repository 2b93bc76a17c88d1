//! 16 bytes of device memory for a hash, and the point of a stream after which the hash is available. They are kept
//! from call to call, cleared, so that a call neither allocates nor clears anything on the caller's stream.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{self, Event, Stream};
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::op::partial_hash::HASH;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::{Arc, Mutex};

/// The maximum number kept between calls.
const KEPT: usize = 256;

/// The memory for hashes of a device that is kept between calls.
pub(crate) struct HashMemories {
    context: Arc<Context>,
    kept: Mutex<Vec<Memory>>,
}

/// Memory for one hash, zeros between calls.
struct Memory {
    context: Arc<Context>,
    memory: handles::Memory,
    event: Event,
    /// The stream on which it is read and cleared.
    stream: Stream,
}

/// Memory for the hash of one call. It goes back on drop, which waits for the call.
pub(crate) struct HashMemory {
    memories: Arc<HashMemories>,
    /// Present until drop.
    memory: Option<Memory>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// Zeros that nothing writes to.
    Cleared,
    /// Written, or will be written before the event.
    InUse,
    /// It may be written at an unknown time.
    Lost,
}

impl HashMemories {
    /// The memory of a device with this context; none is allocated before it is needed.
    pub(crate) fn new(context: Arc<Context>) -> Arc<Self> {
        Arc::new(Self { context, kept: Mutex::default() })
    }

    /// Memory of zeros for a call. The context was entered on this thread.
    pub(crate) fn take(self: &Arc<Self>) -> Result<HashMemory, Error> {
        let kept = lock(&self.kept).pop();
        let memory = Some(kept.map_or_else(|| Memory::new(&self.context), Ok)?);
        Ok(HashMemory { memories: self.clone(), memory, state: State::Cleared })
    }
}

impl HashMemory {
    fn memory(&self) -> &Memory {
        self.memory.as_ref().expect("there until drop")
    }

    /// Does work on a stream that adds a hash to the memory.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread; all the work is on it.
    pub(crate) unsafe fn fill(
        &mut self,
        stream: CUstream,
        work: impl FnOnce(CUdeviceptr) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.state = State::Lost;
        // Even after a failure, some of it may be on the stream.
        let worked = work(self.memory().memory.pointer);
        let Memory { context, event, .. } = self.memory();
        // SAFETY: the caller guarantees the stream, and the event is live.
        unsafe { context.record(event.raw, stream) }?;
        self.state = State::InUse;
        worked
    }

    /// Waits for the hash, and clears the memory it is read from.
    pub(crate) fn read(mut self) -> Result<[u8; HASH], Error> {
        self.memories.context.enter()?;
        let mut hash = [0; HASH];
        self.memory().event.wait()?;
        self.memory().read(&mut hash)?;
        self.memory().clear()?;
        self.state = State::Cleared;
        Ok(hash)
    }
}

impl Drop for HashMemory {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        // An error cannot be handled here; on a context that is lost, the memory is lost with it.
        let cleared = match self.state {
            State::Cleared => true,
            State::InUse if memory.context.make_current().is_ok() && memory.event.wait().is_ok() => {
                memory.clear().is_ok()
            }
            // It may still be written to.
            State::InUse | State::Lost => return std::mem::forget(memory),
        };
        let mut kept = lock(&self.memories.kept);
        if cleared && kept.len() < KEPT {
            kept.push(memory);
        }
    }
}

impl Memory {
    fn new(context: &Arc<Context>) -> Result<Self, Error> {
        let (stream, event) = (Stream::new(context)?, Event::new(context)?);
        let memory = Self { context: context.clone(), memory: handles::Memory::new(context, HASH)?, event, stream };
        memory.clear()?;
        Ok(memory)
    }

    fn read(&self, hash: &mut [u8; HASH]) -> Result<(), Error> {
        // SAFETY: the length is the allocated length; waited for here.
        let copied = unsafe {
            result::memcpy_dtoh_async(hash, self.memory.pointer, self.stream.raw)
                .and_then(|()| result::stream::synchronize(self.stream.raw))
        };
        self.context.call("cuMemcpyDtoHAsync", copied)
    }

    fn clear(&self) -> Result<(), Error> {
        // SAFETY: the length is the allocated length; waited for, because another stream uses it next.
        unsafe { self.stream.clear(self.memory.pointer, HASH) }
    }
}
