//! 16 bytes of device memory for a hash, and the point of a stream after which the hash is available. They are kept from call to call, so
//! that a call neither allocates nor clears anything on the caller's stream.
//!
//! ```text
//! caller's stream   ... calls ahead, work that adds the hash ──┐
//! own stream                                                   └── a copy, if it is asked for, and zeros again
//! ```
//!
//! Nothing waits for the zeros but the next call that gets the memory, and that call only if they are not there yet.

use crate::backend::cuda::context::Context;
use crate::base::error::Error;
use crate::op::partial_hash::HASH;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUevent, CUevent_flags, CUevent_wait_flags, CUstream};
use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The number from which on a call waits for one of them, rather than another is made.
const KEPT: usize = 256;

/// The number of them that a call asks whether they are ready.
const ASKED: usize = 4;

/// The memory for hashes of a device that is kept between calls.
pub(crate) struct HashMemories {
    context: Arc<Context>,
    /// Those that are known to be zeros come first, then those that were given back first.
    kept: Mutex<VecDeque<Memory>>,
}

/// Memory for one hash, zeros between calls.
struct Memory {
    context: Arc<Context>,
    pointer: CUdeviceptr,
    // Null until created.
    /// The stream on which it is read and cleared.
    stream: CUstream,
    /// Marks the end of the call.
    event: CUevent,
    /// Marks the end of the clearing after it.
    cleared: CUevent,
    /// Whether the clearing was waited for.
    is_waited_for: bool,
}

// SAFETY: handles, which any thread that has made the context current may use.
unsafe impl Send for Memory {}

/// Memory for the hash of one call. It goes back on drop, which does not wait for the call.
pub(crate) struct HashMemory {
    memories: Arc<HashMemories>,
    /// Present until drop.
    memory: Option<Memory>,
    /// Whether it may not be cleared yet: then the call's stream waits for that.
    waits: bool,
    state: State,
}

#[derive(PartialEq)]
enum State {
    /// Zeros that nothing writes to, or that are on their way.
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
        let (kept, waits) = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            // The first were given back first. One whose call takes long must not hold up the others.
            let mut ready = None;
            for _ in 0..kept.len().min(ASKED) {
                match kept.pop_front() {
                    Some(memory) if memory.is_cleared() => {
                        ready = Some(memory);
                        break;
                    }
                    not_ready => kept.extend(not_ready),
                }
            }
            // One that is not ready is taken only where there are many.
            let waits = ready.is_none() && kept.len() >= KEPT;
            (if waits { kept.pop_front() } else { ready }, waits)
        };
        let memory = Some(kept.map_or_else(|| Memory::new(&self.context), Ok)?);
        Ok(HashMemory { memories: self.clone(), memory, waits, state: State::Cleared })
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
        if self.waits {
            let Memory { context, cleared, .. } = self.memory();
            let default = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            // SAFETY: the caller guarantees the stream, and the event is live.
            context.call("cuStreamWaitEvent", unsafe { result::stream::wait_event(stream, *cleared, default) })?;
        }
        self.state = State::Lost;
        // Even after a failure, some of it may be on the stream.
        let worked = work(self.memory().pointer);
        let Memory { context, event, .. } = self.memory();
        // SAFETY: the caller guarantees the stream, and the event is live.
        unsafe { context.record(*event, stream) }?;
        self.state = State::InUse;
        worked
    }

    /// Waits for the hash, and clears the memory it is read from.
    pub(crate) fn read(mut self) -> Result<[u8; HASH], Error> {
        self.memories.context.enter()?;
        let mut hash = [0; HASH];
        let memory = self.memory.as_mut().expect("there until drop");
        memory.wait()?;
        memory.read(&mut hash)?;
        memory.clear_and_wait()?;
        self.state = State::Cleared;
        Ok(hash)
    }
}

impl Drop for HashMemory {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        // An error cannot be handled here; on a context that is lost, the memory is lost with it.
        match self.state {
            State::Cleared => {}
            State::InUse if memory.context.make_current().is_ok() && memory.clear_after_call().is_ok() => {}
            // It may still be written to.
            State::InUse | State::Lost => return std::mem::forget(memory),
        }
        let mut kept = self.memories.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.is_waited_for { kept.push_front(memory) } else { kept.push_back(memory) }
    }
}

impl Memory {
    fn new(context: &Arc<Context>) -> Result<Self, Error> {
        // If a later part cannot be created, drop frees the earlier ones.
        let (stream, event, cleared) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let mut memory = Self { context: context.clone(), pointer: 0, stream, event, cleared, is_waited_for: false };
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        memory.stream = context.call("cuStreamCreate", stream)?;
        let event = || context.call("cuEventCreate", result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING));
        memory.event = event()?;
        memory.cleared = event()?;
        // SAFETY: freed on drop.
        memory.pointer = context.call("cuMemAlloc", unsafe { result::malloc_sync(HASH) })?;
        memory.clear_and_wait()?;
        Ok(memory)
    }

    /// Whether the zeros are there.
    fn is_cleared(&self) -> bool {
        // SAFETY: the event is live.
        self.is_waited_for || unsafe { self.context.is_over(self.cleared) }
    }

    /// Waits for the call that writes it.
    fn wait(&self) -> Result<(), Error> {
        // SAFETY: the event is live.
        self.context.call("cuEventSynchronize", unsafe { result::event::synchronize(self.event) })
    }

    fn read(&self, hash: &mut [u8; HASH]) -> Result<(), Error> {
        // SAFETY: the length is the allocated length; waited for here.
        let copied = unsafe {
            result::memcpy_dtoh_async(hash, self.pointer, self.stream)
                .and_then(|()| result::stream::synchronize(self.stream))
        };
        self.context.call("cuMemcpyDtoHAsync", copied)
    }

    /// Puts clearing it on its own stream.
    fn clear(&self) -> Result<(), Error> {
        // SAFETY: the length is the allocated length.
        self.context.call("cuMemsetD8Async", unsafe { result::memset_d8_async(self.pointer, 0, HASH, self.stream) })
    }

    /// Clears it, when the call that writes it is done, and waits for that.
    fn clear_and_wait(&mut self) -> Result<(), Error> {
        self.clear()?;
        // SAFETY: the stream is live.
        self.context.call("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })?;
        self.is_waited_for = true;
        Ok(())
    }

    /// Puts clearing it on its own stream, after the call that writes it.
    fn clear_after_call(&mut self) -> Result<(), Error> {
        self.is_waited_for = false;
        let default = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and events are live.
        unsafe {
            let ordered = result::stream::wait_event(self.stream, self.event, default);
            self.context.call("cuStreamWaitEvent", ordered)?;
            self.clear()?;
            self.context.call("cuEventRecord", result::event::record(self.cleared, self.stream))
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        // An error cannot be handled here; what cannot be waited for may still be written to.
        // SAFETY: created here, and not used after this.
        unsafe {
            let is_done = self.stream.is_null() || result::stream::synchronize(self.stream).is_ok();
            if self.pointer != 0 && is_done {
                let _ = result::free_sync(self.pointer);
            }
            for event in [self.event, self.cleared].into_iter().filter(|event| !event.is_null()) {
                let _ = result::event::destroy(event);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}
