//! 16 bytes of device memory for a hash, or for a tag, and the point of a stream after which it is there. They are kept from call to call,
//! cleared, so that a call neither allocates nor clears anything on the caller's stream. A tag that nobody asks for is waited for by nobody,
//! and cleared before its memory is used again; a hash is secret, and cleared when nobody asks for it any more.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{self, Event, Stream};
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::op::partial_hash::HASH;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum number kept between calls, and of tags that nobody has asked for.
const KEPT: usize = 256;

/// Of tags that nobody has asked for, as many are looked at, whether their calls are done, before more memory is allocated.
const LOOKED_AT: usize = 4;

/// The memory for hashes of a device that is kept between calls.
pub(crate) struct HashMemories {
    context: Arc<Context>,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    /// Zeros that nothing writes to.
    kept: Vec<Memory>,
    /// Tags that nobody has asked for, [`KEPT`] at most: their calls may be under way.
    left: VecDeque<Memory>,
}

/// Memory for one hash.
struct Memory {
    context: Arc<Context>,
    memory: handles::Memory,
    event: Event,
    /// The stream on which it is read and cleared.
    stream: Stream,
}

/// Memory for the hash of one call. It goes back on drop, which waits for the call unless a tag is made there, and few are left by others.
pub(crate) struct HashMemory {
    memories: Arc<HashMemories>,
    /// Present until drop.
    memory: Option<Memory>,
    state: State,
    is_tag: bool,
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
        Arc::new(Self { context, all: Mutex::default() })
    }

    /// Memory of zeros for a call, which makes a tag there, or a hash. The context was entered on this thread.
    pub(crate) fn take(self: &Arc<Self>, is_tag: bool) -> Result<HashMemory, Error> {
        let memory = self.idle().map_or_else(|| Memory::new(&self.context), Ok)?;
        Ok(HashMemory { memories: self.clone(), memory: Some(memory), state: State::Cleared, is_tag })
    }

    /// Memory of zeros, if there is any that is not in use.
    fn idle(&self) -> Option<Memory> {
        let mut all = lock(&self.all);
        let kept = all.kept.pop();
        if kept.is_some() {
            return kept;
        }
        let looked_at = all.left.len().min(LOOKED_AT);
        let mut some: Vec<Memory> = all.left.drain(..looked_at).collect();
        // Other calls go on while the driver is asked.
        drop(all);
        let is_idle = |memory: &Memory| memory.event.is_done().unwrap_or(false) && memory.clear().is_ok();
        let found = some.iter().position(is_idle).map(|n| some.remove(n));
        lock(&self.all).left.extend(some);
        found
    }
}

impl Drop for HashMemories {
    fn drop(&mut self) {
        let all = self.all.get_mut().unwrap_or_else(PoisonError::into_inner);
        for memory in all.left.drain(..) {
            // An error cannot be handled here. Memory that a call may still write to is not freed.
            if self.context.make_current().is_err() || memory.event.wait().is_err() {
                std::mem::forget(memory);
            } else {
                let _ = memory.clear();
            }
        }
    }
}

impl HashMemory {
    fn memory(&self) -> &Memory {
        self.memory.as_ref().expect("there until drop")
    }

    /// Does work on a stream that adds a hash, or the terms of a tag, to the memory.
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
        // It was asked for: if it cannot be read, it is cleared all the same.
        self.is_tag = false;
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
            // It may still be written to.
            State::Lost => return std::mem::forget(memory),
            State::InUse => {
                if self.is_tag {
                    let left = &mut lock(&self.memories.all).left;
                    if left.len() < KEPT {
                        return left.push_back(memory);
                    }
                }
                if memory.context.make_current().is_err() || memory.event.wait().is_err() {
                    return std::mem::forget(memory);
                }
                memory.clear().is_ok()
            }
        };
        let kept = &mut lock(&self.memories.all).kept;
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
