//! Pieces of memory that is spread over GPUs: how parts are cut, and one thread that keeps all GPUs busy with them.
//!
//! Each GPU has a few pieces on streams of its own, so that the thread blocks of the next begin where those of the last end;
//! whenever one is done, another is launched. A GPU that is through with its part takes the last piece of another's, where it
//! reaches that one's memory.

use super::kernel::Span;
use super::pool::Slot;
use super::spread::SpreadBuffer;
use super::{Choice, DeviceKey, cbc};
use crate::Error;
use crate::schedule::Schedule;
use crate::work::Work;
use cudarc::driver::result;
use std::ops::Range;
use std::thread;

/// Pieces that a GPU has at a time: one that ends, one that is at work, one that begins.
pub(super) const DEPTH: usize = 3;

/// Pieces that are left to their owner: it is done with them before another could be, who reaches them over a link.
const LEFT_TO_OWNER: usize = 1;

/// Bytes of a piece, where the largest part has so many: few, for each has thread blocks that wait for the last of the one
/// before; not too few, for what is taken of another is a piece.
pub(super) fn piece_bytes(part: usize) -> usize {
    (part / 16).clamp(256 << 20, 1 << 30).next_multiple_of(1 << 20)
}

/// A piece of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) part: usize,
    /// Where it begins, in the whole buffer.
    pub(super) at: usize,
    pub(super) len: usize,
}

/// Cuts parts into pieces of so many bytes, the last of each part shorter; and which pieces are whose.
pub(super) fn cut(parts: &[Range<usize>], bytes: usize) -> (Vec<Piece>, Vec<Range<usize>>) {
    let mut pieces = Vec::new();
    let share = |(part, range): (usize, &Range<usize>)| {
        let first = pieces.len();
        let starts = range.clone().step_by(bytes);
        pieces.extend(starts.map(|at| Piece { part, at, len: bytes.min(range.end - at) }));
        first..pieces.len()
    };
    let shares = parts.iter().enumerate().map(share).collect();
    (pieces, shares)
}

/// A GPU at work on a call.
pub(super) struct Gpu<'k> {
    pub(super) key: &'k DeviceKey,
    pub(super) choice: Choice,
    pub(super) idle: Vec<Slot<'k>>,
    pub(super) busy: Vec<Slot<'k>>,
    /// How many pieces it was given.
    pub(super) done: usize,
}

impl Gpu<'_> {
    /// Launches a piece in an idle slot.
    ///
    /// # Safety
    /// The span lies in memory that this device reaches and that is live until the work is done.
    unsafe fn launch(&mut self, work: Work, span: Span) -> Result<(), Error> {
        self.key.device().enter()?;
        let slot = self.idle.pop().expect("asked for where a slot is idle");
        let stream = slot.stream();
        // From here on there may be something to wait for.
        self.busy.push(slot);
        self.done += 1;
        // SAFETY: as the caller vouches; the stream is the slot's.
        unsafe { self.key.launch(stream, span, work, Some(self.choice)) }
    }

    /// Takes back the slots that are done; whether there were any.
    fn reap(&mut self) -> Result<bool, Error> {
        let busy = self.busy.len();
        let mut index = 0;
        while let Some(slot) = self.busy.get_mut(index) {
            match slot.is_done()? {
                true => self.idle.push(self.busy.swap_remove(index)),
                false => index += 1,
            }
        }
        Ok(self.busy.len() < busy)
    }

    /// Waits for all that was launched.
    pub(super) fn wait(&mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        // All of them, whatever the first says.
        for slot in &mut self.busy {
            outcome = outcome.and(slot.wait());
        }
        outcome
    }
}

/// Launches piece after piece until none is left and all are done, or one fails; then some may still be at work.
pub(super) fn drive(
    gpus: &mut [Gpu<'_>],
    schedule: &Schedule,
    piece: impl Fn(usize) -> (Work, Span),
    reaches: impl Fn(usize, usize) -> bool,
    started: &mut bool,
) -> Result<(), Error> {
    loop {
        let mut moved = false;
        // One piece to each in turn, so that all begin at once.
        for (index, gpu) in gpus.iter_mut().enumerate() {
            moved |= gpu.reap()?;
            if gpu.idle.is_empty() {
                continue;
            }
            // Of others only when there is nothing of one's own but what is at work.
            let of_others = || {
                let may = |owner| owner != index && reaches(index, owner);
                (gpu.busy.len() <= 1).then(|| schedule.next_of_others(LEFT_TO_OWNER, may))?
            };
            if let Some((work, span)) = schedule.next_own(index).or_else(of_others).map(&piece) {
                (moved, *started) = (true, true);
                // SAFETY: pieces of buffers that the caller has borrowed until all was waited for, in reach of this GPU.
                unsafe { gpu.launch(work, span) }?;
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

/// The last block of every piece, as it is before anything is overwritten: what the next is chained to.
pub(super) fn ends(
    gpus: &mut [Gpu<'_>],
    data: &SpreadBuffer,
    pieces: &[Piece],
    shares: &[Range<usize>],
) -> Result<Vec<[u8; 16]>, Error> {
    let mut ends = vec![[0; 16]; pieces.len()];
    let mut of_shares = ends.as_flattened_mut();
    // All are on their way before the first is waited for.
    let mut copies = Vec::new();
    for ((gpu, share), (_, part)) in gpus.iter_mut().zip(shares).zip(data.memory()) {
        let pieces = &pieces[share.clone()];
        let to = of_shares.split_off_mut(..16 * pieces.len()).expect("shares that cover all");
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        let (device, slot) = (gpu.key.device(), &mut gpu.idle[0]);
        device.enter()?;
        assert!(slot.len() >= to.len());
        let room = slot.buffer() + to.len() as u64;
        // SAFETY: all pieces but the last are as long as the first, and end where the next begins, in a part that is borrowed
        // until the slot was waited for, here or on drop; the slot has room for one block of each.
        unsafe {
            let others = pieces.len() as u64 - 1;
            cbc::gather(
                device,
                slot.stream(),
                part.pointer + first.len as u64 - 16,
                first.len as u64,
                others,
                slot.buffer(),
            )?;
            let end = part.pointer + part.range.len() as u64 - 16;
            let copied = result::memcpy_dtod_async(room - 16, end, 16, slot.stream());
            device.call("cuMemcpyDtoDAsync", copied)?;
        }
        debug_assert!(last.at + last.len == part.range.end);
        copies.push((device, slot, to));
    }
    for (device, slot, to) in copies {
        device.enter()?;
        // SAFETY: waited for at once.
        let copied = unsafe { slot.copy_out(0, to) };
        slot.wait().and(copied)?;
    }
    Ok(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_their_parts() {
        let piece = |part, at, len| Piece { part, at, len };
        let (pieces, shares) = cut(&[0..100, 100..100, 100..164], 48);
        assert_eq!(pieces, [piece(0, 0, 48), piece(0, 48, 48), piece(0, 96, 4), piece(2, 100, 48), piece(2, 148, 16)]);
        assert_eq!(shares, [0..3, 3..3, 3..5]);
        assert_eq!(cut(&[0..0, 0..0], 48), (vec![], vec![0..0, 0..0]));
    }

    #[test]
    fn pieces_are_whole_grains_of_some_size() {
        for part in [0, 1, 1 << 30, (4 << 30) + 5, 100 << 30, usize::MAX] {
            let bytes = piece_bytes(part);
            assert!(bytes.is_multiple_of(1 << 20) && (256 << 20..=1 << 30).contains(&bytes));
        }
        assert_eq!(piece_bytes(4 << 30), 256 << 20);
    }
}
