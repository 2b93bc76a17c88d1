//! A second stream beside the caller's: two launches of a call run at the same time, one on each.
//!
//! ```text
//! caller's stream ──┬── work ────┬──►
//!             fork  └── side ────┘  join
//! ```

use crate::backend::cuda::context::Context;
use crate::backend::cuda::handles::{Event, Stream};
use crate::base::error::Error;
use crate::base::lock::lock;
use cudarc::driver::result;
use cudarc::driver::sys::CUstream;
use std::sync::{Arc, Mutex};

/// The number of side streams kept between calls.
const KEPT: usize = 8;

/// A second stream, and the events that order the two.
///
/// Calls return before their work is done, so a stream kept for the next call may still have work that waits for another caller's stream.
/// It is taken again only when that work is done, so no caller waits for another.
struct SideStream {
    forked: Event,
    joined: Event,
    stream: Stream,
}

impl SideStream {
    fn new(context: &Arc<Context>) -> Result<Self, Error> {
        Ok(Self { stream: Stream::new(context)?, forked: Event::new(context)?, joined: Event::new(context)? })
    }

    /// Whether everything that it was used for is done. An error does not belong to this call: the stream is just not taken.
    fn is_idle(&self) -> bool {
        self.joined.is_done().unwrap_or(false)
    }
}

/// The side streams of a device that are kept between calls.
pub(crate) struct SideStreams {
    context: Arc<Context>,
    kept: Mutex<Vec<SideStream>>,
}

impl SideStreams {
    /// The side streams of a device with this context; none is created before it is needed.
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, kept: Mutex::default() }
    }

    /// Runs `on_side` on the stream passed to it, and `work` on the caller's, at the same time; later work on the caller's stream waits for
    /// both.
    ///
    /// # Safety
    /// The caller's stream is live, belongs to the device's context, and is not in capture.
    pub(crate) unsafe fn run(
        &self,
        stream: CUstream,
        work: impl FnOnce() -> Result<(), Error>,
        on_side: impl FnOnce(CUstream) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let context = &*self.context;
        let side = self.take()?;
        // SAFETY: streams and event are live, as the caller guarantees and by ownership.
        unsafe { context.order(stream, side.forked.raw, side.stream.raw) }?;
        let launched = work().and_then(|()| on_side(side.stream.raw));
        // Also after an error: the caller's stream has to wait for what was launched.
        // SAFETY: streams and event are live, as the caller guarantees and by ownership.
        let joined = unsafe { context.order(side.stream.raw, side.joined.raw, stream) };
        match joined {
            Ok(()) => self.give_back(side),
            Err(_) => {
                // The caller's stream does not wait for what was launched here, so the caller has to.
                // SAFETY: the stream is the side stream's and alive.
                let waited = unsafe { result::stream::synchronize(side.stream.raw) };
                // The errors to report came before this one; it may have shown that the context is lost.
                let _ = context.call("cuStreamSynchronize", waited);
            }
        }
        launched.and(joined)
    }

    fn take(&self) -> Result<SideStream, Error> {
        let idle = {
            let mut kept = lock(&self.kept);
            kept.iter().position(SideStream::is_idle).map(|i| kept.swap_remove(i))
        };
        idle.map_or_else(|| SideStream::new(&self.context), Ok)
    }

    fn give_back(&self, side: SideStream) {
        let mut kept = lock(&self.kept);
        if kept.len() < KEPT {
            kept.push(side);
        }
    }
}
