//! Pinned memory into which kernels write tags, each with the point of a stream after which the tag is there. It is kept from call to call. A
//! tag that nobody asks for is waited for by nobody: it stays there until its memory is used again, once its call is done.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::Event;
use crate::backend::cuda::memory::pinned::{self, Pinned};
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::op::partial_hash::HASH;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Results that are allocated at a time.
const AT_A_TIME: usize = 64;
/// Of those that nobody has asked for, as many are looked at, whether their calls are done, before others are allocated.
const LOOKED_AT: usize = 4;
/// What is there before a call, and stays if it never writes: no verdict that says that a message is authentic.
const NOTHING: [u8; HASH] = [0xff; HASH];

/// The results of a device.
pub(crate) struct TagResults {
    context: Arc<Context>,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    idle: Vec<Slot>,
    /// Those that were dropped before anybody asked for them, in this order: their calls may be under way.
    left: VecDeque<Slot>,
}

/// Memory of several results.
struct Memory {
    _pinned: Pinned,
    start: *mut u8,
    on_device: CUdeviceptr,
}

// SAFETY: each slot alone uses its bytes, through the pointer.
unsafe impl Send for Memory {}
// SAFETY: each slot alone uses its bytes, through the pointer.
unsafe impl Sync for Memory {}

/// Room for one tag: [`NOTHING`] unless its call is under way, or nobody has asked for it.
struct Slot {
    context: Arc<Context>,
    memory: Arc<Memory>,
    number: usize,
    event: Event,
}

/// The tag of one call.
pub(crate) struct TagResult {
    results: Arc<TagResults>,
    /// Present until drop.
    slot: Option<Slot>,
    is_under_way: bool,
}

impl TagResults {
    /// Those of a device with this context; none is allocated before it is needed.
    pub(crate) fn new(context: Arc<Context>) -> Arc<Self> {
        Arc::new(Self { context, all: Mutex::default() })
    }

    /// Room for the tag of a call. The context was entered on this thread.
    pub(crate) fn take(self: &Arc<Self>) -> Result<TagResult, Error> {
        let mut all = lock(&self.all);
        let mut slot = all.idle.pop();
        // Those of one stream may be late: some are looked at, and nothing is waited for.
        for _ in 0..all.left.len().min(LOOKED_AT) {
            if slot.is_some() {
                break;
            }
            let oldest = all.left.pop_front().expect("as many as were counted");
            if oldest.event.is_done().unwrap_or(false) {
                oldest.clear();
                slot = Some(oldest);
            } else {
                all.left.push_back(oldest);
            }
        }
        drop(all);
        if slot.is_none() {
            let mut more = self.more()?;
            slot = more.pop();
            lock(&self.all).idle.extend(more);
        }
        Ok(TagResult { results: self.clone(), slot, is_under_way: false })
    }

    fn more(&self) -> Result<Vec<Slot>, Error> {
        let mut pinned = Pinned::new(&self.context, AT_A_TIME * HASH)?;
        let no_access = || Error::Cuda { call: "cuPointerGetAttribute".into(), code: "no device pointer".into() };
        let on_device = pinned::on_device(&pinned).ok_or_else(no_access)?;
        pinned.fill(NOTHING[0]);
        let start = pinned.as_mut_ptr();
        let memory = Arc::new(Memory { _pinned: pinned, start, on_device });
        let slot = |number| {
            let event = Event::new(&self.context)?;
            Ok(Slot { context: self.context.clone(), memory: memory.clone(), number, event })
        };
        (0..AT_A_TIME).map(slot).collect()
    }
}

impl TagResult {
    fn slot(&self) -> &Slot {
        self.slot.as_ref().expect("there until drop")
    }

    /// Does work on a stream that writes the tag.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread; all the work is on it.
    pub(crate) unsafe fn fill(
        &mut self,
        stream: CUstream,
        work: impl FnOnce(CUdeviceptr) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.is_under_way = true;
        let Slot { context, memory, number, event } = self.slot();
        // Even after a failure, some of it may be on the stream.
        let worked = work(memory.on_device + (HASH * number) as u64);
        // SAFETY: the caller guarantees the stream, and the event is live.
        let recorded = unsafe { context.record(event.raw, stream) };
        if recorded.is_err() {
            // It may be written at an unknown time.
            std::mem::forget(self.slot.take());
            return recorded;
        }
        worked
    }

    /// Waits for the tag.
    pub(crate) fn read(mut self) -> Result<[u8; HASH], Error> {
        self.results.context.enter()?;
        self.slot().event.wait()?;
        let tag = self.slot().read();
        self.slot().clear();
        self.is_under_way = false;
        Ok(tag)
    }
}

impl Drop for TagResult {
    fn drop(&mut self) {
        let Some(slot) = self.slot.take() else { return };
        // The driver is asked only where the call has written something.
        let is_done = self.is_under_way
            && slot.read() != NOTHING
            && self.results.context.make_current().is_ok()
            && slot.event.is_done().unwrap_or(false);
        if is_done {
            slot.clear();
        }
        let mut all = lock(&self.results.all);
        if self.is_under_way && !is_done {
            all.left.push_back(slot);
        } else {
            all.idle.push(slot);
        }
    }
}

impl Slot {
    fn start(&self) -> *mut [u8; HASH] {
        // SAFETY: within the memory.
        unsafe { self.memory.start.add(HASH * self.number).cast() }
    }

    /// The tag, or a part of it before the call is done.
    fn read(&self) -> [u8; HASH] {
        // SAFETY: these bytes are this slot's, and any value is one of an array of bytes.
        unsafe { self.start().read_volatile() }
    }

    fn clear(&self) {
        // SAFETY: these bytes are this slot's, and their call was waited for.
        unsafe { self.start().write_volatile(NOTHING) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // An error cannot be handled here. Nobody has waited for what was left: memory that a call may still write to is not freed.
        if self.context.make_current().is_err() || self.event.wait().is_err() {
            std::mem::forget(self.memory.clone());
        }
    }
}
