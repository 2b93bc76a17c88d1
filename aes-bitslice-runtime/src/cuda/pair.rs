//! Two kernels side by side on shares of one input: one that looks tables up, which keeps shared memory busy, and a
//! bitsliced one, which keeps the logic units busy. On one multiprocessor they get in each other's way little.
//!
//! The table kernel has one thread block on every multiprocessor, and takes the front of the data; thread blocks of the
//! bitsliced one fill what it leaves of registers and shared memory, on a stream of ours:
//!
//! ```text
//! caller's stream ──┬── table kernel, front ─────────┬──►
//!             fork  └── bitsliced kernel, back ──────┘  join
//! ```
//!
//! On a stream that is captured into a graph, the two come one after the other: a stream of ours in the capture could not be
//! used for anything else until it ends.

use super::device::{Device, Stored, make_current};
use super::kernel::{Kernel, Span};
use super::round_keys::RoundKeys;
use super::{Choice, DeviceKey};
use crate::Error;
use crate::work::Work;
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::{self, CUevent, CUevent_flags, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaContext, result};
use std::ptr;
use std::sync::{Arc, PoisonError};

/// The front is whole multiples of so many bytes, so that both shares stay aligned.
const GRAIN: u64 = 64 << 10;

/// How many side streams are kept between calls.
const KEPT: usize = 8;

/// A stream beside the caller's, and the events that order the two.
///
/// Calls return before their work is done, so a stream that is kept for the next call may still have work that waits for
/// another caller's stream. It is taken again only when that is done, so no caller waits for another.
pub(super) struct SideStream {
    context: Arc<CudaContext>,
    // Null until it is made.
    stream: CUstream,
    forked: CUevent,
    joined: CUevent,
}

// SAFETY: handles, which any thread may use that has made the context its own.
unsafe impl Send for SideStream {}

impl SideStream {
    fn take(device: &Device) -> Result<Self, Error> {
        let idle = {
            let mut kept = device.side_streams.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().position(Self::is_idle).map(|i| kept.swap_remove(i))
        };
        idle.map_or_else(|| Self::new(device), Ok)
    }

    fn new(device: &Device) -> Result<Self, Error> {
        // What is made is destroyed on drop, if what comes after it cannot be made.
        let mut side = Self {
            context: device.context().clone(),
            stream: ptr::null_mut(),
            forked: ptr::null_mut(),
            joined: ptr::null_mut(),
        };
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        side.stream = device.call("cuStreamCreate", stream)?;
        let event = || device.call("cuEventCreate", result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING));
        side.forked = event()?;
        side.joined = event()?;
        Ok(side)
    }

    /// Whether everything that it was used for is done. An error is none of this call's: then it only is not taken.
    fn is_idle(&self) -> bool {
        // To ask for an event would spoil a graph that is captured meanwhile, of another stream or by another thread, but
        // for a thread that says that it has nothing to do with those.
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the pointer is to a live value, where the mode until now is put; the event is alive.
        unsafe {
            if sys::cuThreadExchangeStreamCaptureMode(&mut mode).result().is_err() {
                return false;
            }
            let done = result::event::query(self.joined);
            let _ = sys::cuThreadExchangeStreamCaptureMode(&mut mode);
            done.is_ok()
        }
    }

    /// Runs `beside` on this stream and `work` on the caller's, at the same time; what comes after on the caller's waits
    /// for both.
    ///
    /// # Safety
    /// The caller's stream is live, of the device's context, and not in capture.
    unsafe fn run(
        self,
        device: &Device,
        stream: CUstream,
        work: impl FnOnce() -> Result<(), Error>,
        beside: impl FnOnce(CUstream) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // SAFETY: streams and event are live, as the caller vouches and by ownership.
        unsafe { order(device, stream, self.forked, self.stream) }?;
        let launched = work().and_then(|()| beside(self.stream));
        // Also after an error: the caller's stream has to wait for what was launched.
        // SAFETY: as above.
        let joined = unsafe { order(device, self.stream, self.joined, stream) };
        match joined {
            Ok(()) => self.give_back(device),
            Err(_) => {
                // The caller's stream does not wait for what was launched here, so the caller has to.
                // SAFETY: the stream is ours and alive.
                let waited = unsafe { result::stream::synchronize(self.stream) };
                // The errors to report came before this one; it may have told that the context is lost.
                let _ = device.call("cuStreamSynchronize", waited);
            }
        }
        launched.and(joined)
    }

    fn give_back(self, device: &Device) {
        let mut kept = device.side_streams.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT {
            kept.push(self);
        }
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // Nothing can be done here about an error. The driver lets what is on the stream end first, without a wait here.
        let _ = make_current(&self.context);
        // SAFETY: all three are ours, and not used after this.
        unsafe {
            for event in [self.forked, self.joined].into_iter().filter(|event| !event.is_null()) {
                let _ = result::event::destroy(event);
            }
            if !self.stream.is_null() {
                let _ = result::stream::destroy(self.stream);
            }
        }
    }
}

/// Makes what comes on one stream from now on wait for what is on another.
///
/// # Safety
/// Both streams and the event are live and of the device's context.
unsafe fn order(device: &Device, before: CUstream, event: CUevent, after: CUstream) -> Result<(), Error> {
    // SAFETY: as the caller vouches.
    unsafe {
        device.call("cuEventRecord", result::event::record(event, before))?;
        let waits = result::stream::wait_event(after, event, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT);
        device.call("cuStreamWaitEvent", waits)
    }
}

/// Whether what is put on a stream is captured into a graph.
///
/// # Safety
/// The stream is live and of the device's context.
unsafe fn is_in_capture(device: &Device, stream: CUstream) -> Result<bool, Error> {
    let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the caller vouches for the stream; the pointer is to a live value.
    let asked = unsafe { sys::cuStreamIsCapturing(stream, &mut status) };
    device.call("cuStreamIsCapturing", asked.result())?;
    Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// How many of `len` bytes are for the table kernel, if `bitsliced` (fewer than 1000) thousandths are for the other: the
/// `head` bytes before the first whole block of key stream and whole grains, or everything.
fn front(len: u64, head: u64, bitsliced: u32) -> u64 {
    let share = len - (u128::from(len) * u128::from(bitsliced) / 1000) as u64;
    let grains = share.saturating_sub(head).checked_next_multiple_of(GRAIN);
    grains.and_then(|grains| grains.checked_add(head)).map_or(len, |front| front.min(len))
}

/// One share of a call.
struct Share<'a> {
    kernel: Arc<Kernel>,
    keys: &'a RoundKeys,
    span: Span,
    work: Work,
}

impl Share<'_> {
    /// # Safety
    /// As [`DeviceKey::launch`].
    unsafe fn launch(&self, device: &Device, stream: CUstream) -> Result<(), Error> {
        let Self { kernel, keys, span, work } = self;
        match span.len {
            0 => Ok(()),
            // SAFETY: as the caller vouches.
            _ => unsafe { kernel.run(device, stream, *span, *work, Some(keys)) },
        }
    }
}

impl DeviceKey {
    /// Puts the work on a stream, without waiting, `bitsliced` thousandths of it for the bitsliced kernel.
    ///
    /// # Safety
    /// As [`DeviceKey::launch`].
    pub(super) unsafe fn launch_pair(
        &self,
        stream: CUstream,
        span: Span,
        work: Work,
        bitsliced: u32,
    ) -> Result<(), Error> {
        let device = self.device();
        let (tbox, tbox_keys) = self.one_of_pair(work.mode(), Stored::TboxBeside)?;
        let (bits, bits_keys) = self.one_of_pair(work.mode(), Stored::BitsBeside)?;
        let front = front(span.len, work.head(), bitsliced);
        let back = span.part(front, span.len - front);
        let after = work.after(front, || unreachable!("no pair is stored for CBC"));
        let front = Share { kernel: tbox, keys: tbox_keys, span: span.part(0, front), work };
        let back = Share { kernel: bits, keys: bits_keys, span: back, work: after };
        // SAFETY: parts of the span that the caller vouches for; they do not meet.
        unsafe {
            if is_in_capture(device, stream)? {
                front.launch(device, stream)?;
                return back.launch(device, stream);
            }
            let side = SideStream::take(device)?;
            side.run(device, stream, || front.launch(device, stream), |beside| back.launch(device, beside))
        }
    }

    fn one_of_pair(&self, mode: Mode, kind: Stored) -> Result<(Arc<Kernel>, &RoundKeys), Error> {
        self.stored(mode, kind)?.ok_or_else(|| self.none_for(mode, Choice::PAIR))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;

    const LENGTHS: [u64; 16] = [
        0,
        1,
        15,
        16,
        17,
        1000,
        GRAIN - 1,
        GRAIN,
        GRAIN + 1,
        GRAIN + 15,
        2 * GRAIN + 7,
        (1 << 20) + 5,
        1 << 30,
        (1 << 40) + 3,
        u64::MAX - GRAIN,
        u64::MAX,
    ];

    #[test]
    fn the_front_is_the_head_and_whole_grains_or_everything() {
        for len in LENGTHS {
            for head in 0..16 {
                for bitsliced in [0, 1, 150, 240, 500, 999] {
                    let front = front(len, head, bitsliced);
                    let case = format!("{front} of {len}, head {head}, {bitsliced} thousandths");
                    assert!(front <= len, "{case}");
                    assert!(front == len || (front - head).is_multiple_of(GRAIN), "{case}");
                    // What was asked for, rounded up to a grain.
                    let share = u128::from(len) * u128::from(1000 - bitsliced) / 1000;
                    let over = u128::from(front).checked_sub(share).expect("no less than its share");
                    assert!(over <= u128::from(GRAIN + head), "{case}");
                }
            }
        }
        assert_eq!(front(1000 * GRAIN, 0, 240), 760 * GRAIN);
        assert_eq!(front(1000 * GRAIN, 5, 240), 760 * GRAIN + 5);
    }

    #[test]
    fn the_back_begins_where_the_key_stream_of_the_front_ends() {
        for len in LENGTHS {
            for skip in 0..16 {
                for counter in [0, 1, u128::MAX - 1, u128::MAX] {
                    let work = Work::Ctr { counter, skip };
                    let front = front(len, work.head(), 240);
                    let Work::Ctr { counter: second, skip: left } = work.after(front, || unreachable!()) else {
                        panic!("CTR stays CTR")
                    };
                    // Bytes of key stream between the two counters.
                    let blocks = second.wrapping_sub(counter);
                    assert_eq!(16 * blocks + left as u128, skip as u128 + u128::from(front), "{len} {skip} {counter}");
                    assert!(left < 16);
                    assert!(front == len || left == 0, "the back begins with a block");
                }
            }
            let work = Work::Ecb(Direction::Encrypt).after(front(len, 0, 240), || unreachable!());
            assert!(matches!(work, Work::Ecb(Direction::Encrypt)));
        }
    }
}
