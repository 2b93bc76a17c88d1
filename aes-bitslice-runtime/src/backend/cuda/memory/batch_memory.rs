//! Memory that a call on many messages takes besides its data: device memory, pinned memory for what is copied to it or back, and the point of
//! a stream after which the results are available. It is kept from call to call, so that a call seldom allocates.
//!
//! ```text
//! copies            to the device ──┐        ┌─ results back, secrets cleared
//! caller's stream   ... calls ahead ┴─ work ─┴─ calls behind ...
//! ```

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{self, Event, Stream};
use crate::backend::cuda::memory::pinned::Pinned;
use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::threads::clear;
use cudarc::driver::result;
use cudarc::driver::sys::{CUdeviceptr, CUevent, CUstream};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The maximum number kept between calls, the share of the device's memory that is kept, but no less than `MOST` bytes, and the minimum size of
/// each in bytes. Memory beyond that is freed after its call.
const KEPT: usize = 16;
const SHARE: u64 = 64;
const MOST: usize = 256 << 20;
const LEAST: usize = 1 << 16;

/// The memory for batches of a device that is kept between calls.
pub(crate) struct BatchMemories {
    context: Arc<Context>,
    /// The maximum size of all that is kept, in bytes.
    most: usize,
    /// In the order of last use.
    kept: Mutex<Vec<Memory>>,
}

struct Memory {
    context: Arc<Context>,
    pinned: Pinned,
    /// Device memory, and its size in bytes, which is no less than that of the pinned memory.
    memory: handles::Memory,
    len: usize,
    /// Marks the end of the first copy, then that of the work.
    there: Event,
    /// Marks the end of the call.
    event: Event,
    /// Streams for parts of the work that do not wait for each other, once requested.
    beside: Vec<Stream>,
    /// A stream that copies the call's input to the device, and its results back, while the caller's stream is busy with other work.
    copies: Stream,
}

/// Memory for one call. It goes back on drop, which waits for the call.
pub(crate) struct BatchMemory {
    memories: Arc<BatchMemories>,
    /// Present until drop.
    memory: Option<Memory>,
    results: Range<usize>,
    /// What is secret of the bytes that were copied from or to the pinned memory, where they are cleared before it is kept.
    secrets: [Range<usize>; 2],
    /// Whether they are cleared on the device when the call is done.
    is_cleared: bool,
    state: State,
}

/// Streams beside the caller's.
pub(crate) struct Beside {
    context: Arc<Context>,
    streams: Vec<CUstream>,
    event: CUevent,
}

impl Beside {
    /// Does work on these streams, which begins after what is on `stream`, and which comes before later work on it.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread; the memory that this is of is there.
    pub(crate) unsafe fn run(
        &self,
        stream: CUstream,
        work: impl FnOnce(&[CUstream]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { context, streams, event } = self;
        // SAFETY: as the caller promises; the memory has the event and the streams.
        let begun = streams.iter().try_for_each(|other| unsafe { context.order(stream, *event, *other) });
        let worked = begun.and_then(|()| work(streams));
        streams.iter().fold(worked, |so_far, other| {
            // SAFETY: as above.
            let joined =
                unsafe { context.order(*other, *event, stream).or_else(|error| context.wait_instead(*other, error)) };
            // Nothing else would wait for what is there.
            so_far.and(joined.inspect_err(|error| context.poison(error.to_string())))
        })
    }
}

#[derive(PartialEq)]
enum State {
    /// Nothing accesses it.
    Idle,
    /// All accesses come before the event, or were waited for.
    InUse,
    /// It may be accessed at an unknown time.
    Lost,
}

impl BatchMemories {
    /// The memory of a device with this context and this many bytes of memory; none is allocated before it is needed.
    pub(crate) fn new(context: Arc<Context>, bytes: u64) -> Arc<Self> {
        Arc::new(Self { context, most: MOST.max((bytes / SHARE) as usize), kept: Mutex::default() })
    }

    /// At least `len` bytes of device memory for a call, of which the first `copied` are copied to it or back. The context was entered on
    /// this thread.
    pub(crate) fn take(self: &Arc<Self>, copied: usize, len: usize) -> Result<BatchMemory, Error> {
        let found = {
            let mut kept = lock(&self.kept);
            let fits = |memory: &Memory| memory.len >= len && memory.pinned.len() >= copied;
            let fitting = kept.iter().enumerate().filter(|(_, memory)| fits(memory));
            let smallest = fitting.min_by_key(|(_, memory)| memory.len).map(|(n, _)| n);
            smallest.map(|n| kept.remove(n))
        };
        let rounded = |len: usize| len.max(LEAST).checked_next_power_of_two().unwrap_or(len);
        let new = || Memory::new(&self.context, rounded(copied), rounded(len));
        let memory = Some(found.map_or_else(new, Ok)?);
        Ok(BatchMemory {
            memories: self.clone(),
            memory,
            results: 0..0,
            secrets: [0..0, 0..0],
            is_cleared: true,
            state: State::Idle,
        })
    }
}

impl BatchMemory {
    /// The pinned memory, to be written before [`run`](Self::run).
    pub(crate) fn pinned(&mut self) -> &mut [u8] {
        debug_assert!(self.state == State::Idle, "nothing reads it yet");
        &mut self.memory.as_mut().expect("there until drop").pinned
    }

    /// `count` streams on which parts of the work of [`run`](Self::run) may be.
    pub(crate) fn beside(&mut self, count: usize) -> Result<Beside, Error> {
        let Memory { context, beside, there, .. } = self.memory.as_mut().expect("there until drop");
        while beside.len() < count {
            beside.push(Stream::new(context)?);
        }
        let streams = beside[..count].iter().map(|stream| stream.raw).collect();
        Ok(Beside { context: context.clone(), streams, event: there.raw })
    }

    /// Copies the first `bytes` bytes to the device, does work there on a stream, copies the results back, and clears what is secret; without
    /// waiting, unless a driver call fails. The stream does not wait for the results.
    ///
    /// # Safety
    /// The stream is live and belongs to the context, which was entered on this thread; all the work is on it. `bytes` and the results are
    /// within what was requested as copied, and what is secret within the requested length.
    pub(crate) unsafe fn run(
        &mut self,
        stream: CUstream,
        bytes: usize,
        results: Range<usize>,
        secret: Range<usize>,
        work: impl FnOnce(CUdeviceptr) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.state = State::Lost;
        self.results = results.clone();
        self.secrets = [0..bytes, results.clone()].map(|copied| common(&copied, &secret));
        let Memory { context, pinned, memory, copies, there, event, .. } =
            self.memory.as_mut().expect("there until drop");
        let (pointer, copies, there) = (memory.pointer, copies.raw, there.raw);
        let at = |offset: usize| pointer + offset as u64;
        // SAFETY: both have this length, and stay until the event; nothing else uses them before; streams and event are live.
        let (copied, may_still_be_read) = unsafe {
            let copied = result::memcpy_htod_async(pointer, &pinned[..bytes], copies);
            let copied = context.call("cuMemcpyHtoDAsync", copied).and_then(|()| context.order(copies, there, stream));
            // After an error the caller's stream does not wait for the copy, so the caller has to.
            let may_still_be_read = copied.is_err() && result::stream::synchronize(copies).is_err();
            (copied, may_still_be_read)
        };
        let worked = copied.and_then(|()| work(pointer));
        // SAFETY: streams and event are live.
        let done = unsafe { context.order(stream, there, copies).or_else(|error| context.wait_instead(stream, error)) };
        if done.is_err() {
            return worked.and(done);
        }
        // After a failure, their place may hold other data, which is secret.
        let back = match worked {
            Ok(()) if results.is_empty() => Ok(()),
            // SAFETY: the results are within both memories, which stay until the event; nothing else accesses the pinned memory before it.
            Ok(()) => unsafe { result::memcpy_dtoh_async(&mut pinned[results.clone()], at(results.start), copies) },
            Err(_) => Ok(()),
        };
        // SAFETY: the range is within the memory, which stays until the event; the stream is live.
        let cleared = unsafe { result::memset_d8_async(at(secret.start), 0, secret.len(), copies) };
        self.is_cleared = cleared.is_ok();
        // SAFETY: both are live.
        unsafe { context.record(event.raw, copies) }?;
        if !may_still_be_read {
            self.state = State::InUse;
        }
        worked?;
        context.call("cuMemcpyDtoHAsync", back)?;
        context.call("cuMemsetD8Async", cleared)
    }

    /// Waits for the results, and returns what `value` makes of them.
    pub(crate) fn read<T>(mut self, value: impl FnOnce(&[u8]) -> T) -> Result<T, Error> {
        self.memories.context.enter()?;
        let memory = self.memory.as_ref().expect("there until drop");
        memory.event.wait()?;
        let value = value(&memory.pinned[self.results.clone()]);
        self.state = State::Idle;
        Ok(value)
    }
}

/// Gets the bytes of one part of a memory after the other, and returns where it is: each begins at a multiple of 16.
pub(crate) fn places() -> impl FnMut(usize) -> Range<usize> {
    let mut end = 0_usize;
    move |bytes| {
        let begin = end.next_multiple_of(16);
        end = begin + bytes;
        begin..end
    }
}

/// What two ranges have in common.
fn common(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    let start = one.start.max(other.start);
    start..one.end.min(other.end).max(start)
}

impl Drop for BatchMemory {
    fn drop(&mut self) {
        let Some(mut memory) = self.memory.take() else { return };
        // An error cannot be handled here; on a context that is lost, the memory is lost with it.
        match self.state {
            State::Idle => {}
            State::InUse if memory.context.make_current().is_ok() && memory.event.wait().is_ok() => {}
            // It may still be accessed.
            State::InUse | State::Lost => return std::mem::forget(memory),
        }
        if !self.is_cleared {
            // Cleared when it is freed.
            return;
        }
        self.secrets.iter().for_each(|secret| clear(&mut memory.pinned[secret.clone()]));
        let mut kept = lock(&self.memories.kept);
        kept.push(memory);
        let mut freed = vec![];
        while let Some(n) = surplus(kept.iter().map(|memory| memory.len), self.memories.most) {
            freed.push(kept.remove(n));
        }
        drop(kept);
        drop(freed);
    }
}

/// The index of a memory that is not kept where `most` bytes are, among memories with these lengths, in the order of last use; `None` if all are
/// kept.
fn surplus(lengths: impl Iterator<Item = usize> + Clone, most: usize) -> Option<usize> {
    let too_large = lengths.clone().position(|len| len > most);
    // The one least recently used: calls of other sizes may have come since.
    too_large.or((lengths.clone().count() > KEPT || lengths.sum::<usize>() > most).then_some(0))
}

impl Memory {
    fn new(context: &Arc<Context>, copied: usize, len: usize) -> Result<Self, Error> {
        Ok(Self {
            context: context.clone(),
            pinned: Pinned::new(context, copied)?,
            copies: Stream::new(context)?,
            beside: vec![],
            there: Event::new(context)?,
            event: Event::new(context)?,
            memory: handles::Memory::new(context, len)?,
            len,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _ = self.context.make_current();
        // An error cannot be handled here; on a context that is lost, the memory is lost with it.
        // SAFETY: nothing accesses the memory, which is freed after this.
        unsafe {
            let _ = result::memset_d8_async(self.memory.pointer, 0, self.len, self.copies.raw);
            let _ = result::stream::synchronize(self.copies.raw);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_of_what_was_copied() {
        let secret = 100..200;
        for (copied, both) in [(0..300, 100..200), (0..150, 100..150), (120..130, 120..130), (150..300, 150..200)] {
            assert_eq!([common(&copied, &secret), common(&secret, &copied)], [both.clone(), both]);
        }
        assert!([0..50, 0..100, 200..300, 250..300].iter().all(|copied| common(copied, &secret).is_empty()));
    }

    #[test]
    fn places_are_aligned_and_apart() {
        assert_eq!([96, 20, 48, 72, 624].map(places()), [0..96, 96..116, 128..176, 176..248, 256..880]);
    }

    #[test]
    fn neither_too_many_nor_too_large_ones_are_kept() {
        let kept = |lengths: &[usize]| {
            let mut lengths = lengths.to_vec();
            while let Some(n) = surplus(lengths.iter().copied(), MOST) {
                lengths.remove(n);
            }
            lengths
        };
        assert_eq!(kept(&[]), [0; 0]);
        assert_eq!(kept(&[LEAST; KEPT]), [LEAST; KEPT]);
        assert_eq!(kept(&[&[2 * LEAST][..], &[LEAST; KEPT]].concat()), [LEAST; KEPT]);
        assert_eq!(kept(&[MOST / 2, MOST / 2]), [MOST / 2, MOST / 2]);
        // Calls on little memory do not lose it to memory left behind by a call on much.
        assert_eq!(kept(&[MOST, LEAST, LEAST]), [LEAST, LEAST]);
        // Memory that is itself too large evicts no other.
        assert_eq!(kept(&[LEAST, MOST + 1, MOST / 2]), [LEAST, MOST / 2]);
    }
}
