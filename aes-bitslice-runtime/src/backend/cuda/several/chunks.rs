//! Chunks of memory that is sharded over GPUs: how shares are cut, and one thread that keeps all GPUs busy with them.
//!
//! Each GPU has a few chunks on separate streams, so that the thread blocks of the next begin where those of the last
//! end; whenever a chunk completes, another is launched. A GPU that finishes its share takes the last chunk of
//! another's, where it can access that GPU's memory.

use crate::backend::cuda::commands::{Slot, Span};
use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::gather::copy_rows;
use crate::backend::cuda::several::sharded_buffer::ShardedBuffer;
use crate::backend::device::key::KeyOnDevice;
use crate::base::error::Error;
use crate::exec::call::{Call, PartOf};
use crate::exec::choice::Choice;
use crate::exec::schedule::Schedule;
use crate::op::operation::Pass;
use cudarc::driver::result;
use std::ops::Range;
use std::thread;

/// The number of chunks that a GPU has at a time: one that ends, one that is at work, one that begins.
pub(crate) const DEPTH: usize = 3;

/// The number of chunks that are left to their owner: it finishes them before another GPU could, which accesses them
/// over a link.
const LEFT_TO_OWNER: usize = 1;

/// The size of a chunk in bytes, where the largest share has `share` bytes and a GPU this many multiprocessors. Few
/// chunks, because thread blocks of each wait for the last of the previous one; not too few, because GPUs take over
/// whole chunks from one another. A whole number of MiB for each multiprocessor, so that every warp has equally many
/// tiles.
pub(crate) fn chunk_bytes(share: usize, multiprocessors: u32) -> usize {
    (share / 16).clamp(256 << 20, 1 << 30).next_multiple_of((multiprocessors.max(1) as usize) << 20)
}

/// A chunk of a share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShareChunk {
    pub(crate) share: usize,
    /// Its start in the whole buffer.
    pub(crate) at: usize,
    pub(crate) len: usize,
}

/// Cuts shares into chunks of `bytes` bytes, the last of each share shorter; also returns which chunks belong to which
/// share.
pub(crate) fn cut(shares: &[Range<usize>], bytes: usize) -> (Vec<ShareChunk>, Vec<Range<usize>>) {
    let mut chunks = Vec::new();
    let owned = |(share, range): (usize, &Range<usize>)| {
        let first = chunks.len();
        let starts = range.clone().step_by(bytes);
        chunks.extend(starts.map(|at| ShareChunk { share, at, len: bytes.min(range.end - at) }));
        first..chunks.len()
    };
    let owned = shares.iter().enumerate().map(owned).collect();
    (chunks, owned)
}

/// A GPU at work on a call.
pub(crate) struct Gpu<'k, O: Pass> {
    pub(crate) key: &'k DeviceKey,
    /// The choice of the cipher's kernel, if the cipher has work to do.
    pub(crate) choice: Option<Choice>,
    pub(crate) idle: Vec<Slot<'k>>,
    pub(crate) busy: Vec<Busy<'k, O>>,
    /// The results of its completed chunks.
    pub(crate) done: Vec<PartOf<O>>,
}

/// A slot in which a chunk is at work.
pub(crate) struct Busy<'k, O: Pass> {
    slot: Slot<'k>,
    call: Call<O>,
    len: u64,
}

impl<'k, O: Pass> Gpu<'k, O> {
    /// Launches a chunk in an idle slot.
    ///
    /// # Safety
    /// The span is within memory that this device can access and that is live until the work is done.
    unsafe fn launch(&mut self, call: Call<O>, span: Span) -> Result<(), Error> {
        self.key.device().enter()?;
        let slot = self.idle.pop().expect("asked for where a slot is idle");
        // From here on there may be something to wait for.
        self.busy.push(Busy { slot, call, len: span.len });
        let Busy { slot, call, .. } = self.busy.last_mut().expect("pushed above");
        // SAFETY: as the caller guarantees.
        unsafe { self.key.launch_in(slot, span, call, self.choice) }
    }

    /// Takes back the slots that are done; returns whether there were any.
    fn reap(&mut self) -> Result<bool, Error> {
        let busy = self.busy.len();
        let mut index = 0;
        while let Some(busy) = self.busy.get_mut(index) {
            if !busy.slot.is_done()? {
                index += 1;
                continue;
            }
            let Busy { slot, call, len } = self.busy.swap_remove(index);
            self.done.push(call.part(len, &call.kernels().hash_in(&slot)));
            self.idle.push(slot);
        }
        Ok(self.busy.len() < busy)
    }

    /// Waits for everything that was launched.
    pub(crate) fn wait(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        // For each of them, whatever the first returns.
        for busy in &mut self.busy {
            outcome = outcome.and(busy.slot.wait());
        }
        outcome
    }
}

/// Launches chunk after chunk until none is left and all are done, or one fails; then some may still be at work.
pub(crate) fn drive<O: Pass>(
    gpus: &mut [Gpu<'_, O>],
    schedule: &Schedule,
    chunk: impl Fn(usize) -> (Call<O>, Span),
    reaches: impl Fn(usize, usize) -> bool,
    started: &mut bool,
) -> Result<(), Error> {
    loop {
        let mut moved = false;
        // One chunk to each in turn, so that all begin at once.
        for (index, gpu) in gpus.iter_mut().enumerate() {
            moved |= gpu.reap()?;
            if gpu.idle.is_empty() {
                continue;
            }
            // Takes from others only when its own share has only chunks that are at work.
            let of_others = || {
                let may = |owner| owner != index && reaches(index, owner);
                (gpu.busy.len() <= 1).then(|| schedule.next_of_others(LEFT_TO_OWNER, may))?
            };
            if let Some((call, span)) = schedule.next_own(index).or_else(of_others).map(&chunk) {
                (moved, *started) = (true, true);
                // SAFETY: chunks of buffers that the caller has borrowed until all was waited for, and that this GPU
                // can access.
                unsafe { gpu.launch(call, span) }?;
            }
        }
        if !moved {
            if gpus.iter().all(|gpu| gpu.busy.is_empty()) {
                return Ok(());
            }
            thread::yield_now();
        }
    }
}

/// The last block of every chunk, before anything is overwritten: the next chunk is chained to it. The first idle slot
/// of each GPU has staging memory for the blocks of its own chunks.
pub(crate) fn ends<O: Pass>(
    gpus: &mut [Gpu<'_, O>],
    data: &ShardedBuffer,
    chunks: &[ShareChunk],
    owned: &[Range<usize>],
) -> Result<Vec<[u8; 16]>, Error> {
    let mut ends = vec![[0; 16]; chunks.len()];
    let mut of_shares = ends.as_flattened_mut();
    // All copies are in flight before the first is waited for.
    let mut copies = Vec::new();
    for ((gpu, owned), (_, share)) in gpus.iter_mut().zip(owned).zip(data.memory()) {
        let chunks = &chunks[owned.clone()];
        let to = of_shares.split_off_mut(..16 * chunks.len()).expect("shares that cover all");
        let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { continue };
        let (context, slot) = (gpu.key.device().context(), &mut gpu.idle[0]);
        context.enter()?;
        let room = slot.room(0, to.len());
        // SAFETY: all chunks except the last are as long as the first, and end where the next begins, in a share that
        // is borrowed until the slot was waited for, here or on drop; the slot has room for one block of each.
        unsafe {
            let (apart, others) = (first.len as u64, chunks.len() as u64 - 1);
            copy_rows(context, *slot.queue(), (share.pointer + apart - 16, apart), 16, others, room)?;
            let end = share.pointer + share.range.len() as u64 - 16;
            let copied = result::memcpy_dtod_async(room + 16 * others, end, 16, *slot.queue());
            context.call("cuMemcpyDtoDAsync", copied)?;
        }
        slot.copy_out_staged(0, to.len())?;
        debug_assert!(last.at + last.len == share.range.end);
        copies.push((context, slot, to));
    }
    for (context, slot, to) in copies {
        context.enter()?;
        slot.wait()?;
        to.copy_from_slice(slot.staging(0, to.len()));
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_their_shares() {
        let chunk = |share, at, len| ShareChunk { share, at, len };
        let (chunks, owned) = cut(&[0..100, 100..100, 100..164], 48);
        assert_eq!(chunks, [chunk(0, 0, 48), chunk(0, 48, 48), chunk(0, 96, 4), chunk(2, 100, 48), chunk(2, 148, 16)]);
        assert_eq!(owned, [0..3, 3..3, 3..5]);
        assert_eq!(cut(&[0..0, 0..0], 48), (vec![], vec![0..0, 0..0]));
    }

    #[test]
    fn chunks_are_whole_grains_of_some_size() {
        for share in [0, 1, 1 << 30, (4 << 30) + 5, 100 << 30, usize::MAX] {
            let bytes = chunk_bytes(share, 132);
            assert!(bytes.is_multiple_of(132 << 20) && (256 << 20..=1056 << 20).contains(&bytes));
        }
        assert!(
            [0, 1, 14, 148].into_iter().all(|n| chunk_bytes(4 << 30, n).is_multiple_of(n.max(1) as usize * (1 << 20)))
        );
        assert_eq!((chunk_bytes(4 << 30, 132), chunk_bytes(4 << 30, 64)), (264 << 20, 256 << 20));
    }
}
