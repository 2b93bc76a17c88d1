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

use super::device::{Device, Stored, make_current};
use super::kernel::{Kernel, RoundKeys, Span};
use super::launch::Work;
use super::{Choice, DeviceKey};
use crate::Error;
use aes_bitslice_gen::emit::Grid;
use aes_bitslice_gen::kernel::Mode;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUevent_wait_flags, CUstream};
use cudarc::driver::{CudaContext, result};
use std::sync::{Arc, PoisonError};

/// The front is whole multiples of so many bytes, so that both shares stay aligned.
const GRAIN: u64 = 64 << 10;

/// For a kernel of a pair, the grid where it is another than alone. Of the bitsliced one, as many thread blocks as are
/// on the device at a time (3 a multiprocessor for CTR, 4 for ECB, on compute capability 9.0) or a multiple of that, as
/// measured: so the last of them end together.
pub(super) fn grid(mode: Mode, kind: Stored) -> Option<Option<Grid>> {
    match (kind, mode) {
        (Stored::Planes | Stored::Tbox, _) => None,
        (Stored::TboxBeside, _) => Some(None),
        (Stored::BitsBeside, Mode::Ctr) => Some(Some(Grid::Persistent { each: 3 })),
        (Stored::BitsBeside, _) => Some(Some(Grid::Persistent { each: 4 * 14 })),
    }
}

/// A stream beside the caller's, and the events that order the two.
pub(super) struct SideStream {
    context: Arc<CudaContext>,
    stream: CUstream,
    forked: CUevent,
    joined: CUevent,
}

// SAFETY: handles, which any thread may use that has made the context its own.
unsafe impl Send for SideStream {}

impl SideStream {
    fn take(device: &Device) -> Result<Self, Error> {
        if let Some(kept) = device.side_streams.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(kept);
        }
        let event = || device.call("cuEventCreate", result::event::create(CUevent_flags::CU_EVENT_DISABLE_TIMING));
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking);
        let stream = device.call("cuStreamCreate", stream)?;
        Ok(Self { context: device.context().clone(), stream, forked: event()?, joined: event()? })
    }

    /// Runs `beside` on this stream and `work` on the caller's, at the same time; what comes after on the caller's waits
    /// for both.
    ///
    /// # Safety
    /// The caller's stream is live and of the device's context.
    unsafe fn run(
        &self,
        device: &Device,
        stream: CUstream,
        work: impl FnOnce() -> Result<(), Error>,
        beside: impl FnOnce(CUstream) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // SAFETY: streams and events are live, as the caller vouches and by ownership.
        unsafe {
            device.call("cuEventRecord", result::event::record(self.forked, stream))?;
            let forked =
                result::stream::wait_event(self.stream, self.forked, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT);
            device.call("cuStreamWaitEvent", forked)?;
        }
        let launched = work().and_then(|()| beside(self.stream));
        // Also after an error: the caller's stream has to wait for what was launched.
        // SAFETY: as above.
        unsafe {
            device.call("cuEventRecord", result::event::record(self.joined, self.stream))?;
            let joined = result::stream::wait_event(stream, self.joined, CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT);
            device.call("cuStreamWaitEvent", joined)?;
        }
        launched
    }

    fn give_back(self, device: &Device) {
        device.side_streams.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }
}

impl Drop for SideStream {
    fn drop(&mut self) {
        // Nothing can be done here about an error. The driver lets what is on the stream end first.
        let _ = make_current(&self.context);
        // SAFETY: all three are ours, and not used after this.
        unsafe {
            let _ = result::event::destroy(self.forked);
            let _ = result::event::destroy(self.joined);
            let _ = result::stream::destroy(self.stream);
        }
    }
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
        let front = span.len - (u128::from(span.len) * u128::from(bitsliced) / 1000) as u64;
        // The front also has what comes before the first whole block of key stream.
        let head = work.head();
        let front = (front.saturating_sub(head).next_multiple_of(GRAIN) + head).min(span.len);
        let front = Share { kernel: tbox, keys: tbox_keys, span: span.part(0, front), work };
        let back = Share {
            kernel: bits,
            keys: bits_keys,
            span: span.part(front.span.len, span.len - front.span.len),
            work: work.after(front.span.len),
        };
        let side = SideStream::take(device)?;
        // SAFETY: parts of the span that the caller vouches for; they do not meet.
        let launched =
            unsafe { side.run(device, stream, || front.launch(device, stream), |beside| back.launch(device, beside)) };
        side.give_back(device);
        launched
    }

    fn one_of_pair(&self, mode: Mode, kind: Stored) -> Result<(Arc<Kernel>, &RoundKeys), Error> {
        self.stored(mode, kind)?.ok_or_else(|| self.none_for(mode, Choice::PAIR))
    }
}
