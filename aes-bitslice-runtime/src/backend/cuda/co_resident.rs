//! Two kernels at the same time on shares of one input: one that looks up tables, which keeps shared memory busy, and a
//! bitsliced one, which keeps the logic units busy. On one multiprocessor they interfere little.
//!
//! The table kernel has one thread block on every multiprocessor, and takes the front of the data; thread blocks of the
//! bitsliced kernel fill the registers and shared memory that it leaves, on a side stream:
//!
//! ```text
//! caller's stream ──┬── table kernel, front ─────────┬──►
//!             fork  └── bitsliced kernel, back ──────┘  join
//! ```
//!
//! On a stream that is captured into a graph, the two run one after the other: a side stream in the capture could not
//! be used for anything else until the capture ends.

use crate::backend::cuda::commands::{Kernel, RoundKeys, Span};
use crate::backend::cuda::kernel::capture::is_in_capture;
use crate::backend::cuda::kernel::side_stream::SideStreams;
use crate::base::error::Error;
use crate::exec::work::Work;
use cudarc::driver::sys::CUstream;

/// The front is a whole multiple of this many bytes, so that both shares stay aligned.
const GRAIN: u64 = 64 << 10;

/// How many of `len` bytes are for the table kernel, if `bitsliced` (fewer than 1000) thousandths are for the other:
/// the `head` bytes before the first whole block of key stream and whole grains, or everything.
fn front(len: u64, head: u64, bitsliced: u32) -> u64 {
    let share = len - (u128::from(len) * u128::from(bitsliced) / 1000) as u64;
    let grains = share.saturating_sub(head).checked_next_multiple_of(GRAIN);
    grains.and_then(|grains| grains.checked_add(head)).map_or(len, |front| front.min(len))
}

/// A kernel launched on a share of a call, and the round keys for the launch.
pub(crate) struct Part<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) keys: &'a RoundKeys,
}

impl Part<'_> {
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and the stream is live.
    unsafe fn launch(&self, stream: CUstream, span: Span, work: &dyn Work) -> Result<(), Error> {
        match span.len {
            0 => Ok(()),
            // SAFETY: as the caller guarantees.
            _ => unsafe { self.kernel.run(&mut { stream }, span, Some(self.keys), |shape| work.launches(shape)) },
        }
    }
}

/// Puts the cipher of some work on a stream, without waiting, `bitsliced` thousandths of it for the bitsliced kernel and the rest
/// for the table kernel. Both kernels are for its mode.
///
/// # Safety
/// The span is within memory of the device that is live until the work is done, and the stream is live.
pub(crate) unsafe fn launch(
    side_streams: &SideStreams,
    stream: CUstream,
    span: Span,
    work: &dyn Work,
    tables: &Part<'_>,
    bits: &Part<'_>,
    bitsliced: u32,
) -> Result<(), Error> {
    // No co-resident kernels are stored for what is chained or cannot be cut.
    let front = front(span.len, work.head(), bitsliced);
    let Some(after) = work.after(front) else {
        // SAFETY: as the caller guarantees.
        return unsafe { tables.launch(stream, span, work) };
    };
    let (front, back) = (span.part(0, front), span.part(front, span.len - front));
    // SAFETY: parts of the span that the caller guarantees; they do not overlap.
    unsafe {
        if is_in_capture(tables.kernel.driver(), stream)? {
            tables.launch(stream, front, work)?;
            return bits.launch(stream, back, &*after);
        }
        side_streams.run(stream, || tables.launch(stream, front, work), |side| bits.launch(side, back, &*after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::counter::{Counter, CounterMode};
    use crate::exec::call::Call;
    use crate::op::ctr::Ctr;

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
                    // The requested share, rounded up to a grain.
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
                    let first = Counter::new(CounterMode::Ctr128BE, u128::to_be_bytes(counter));
                    let ctr = Ctr::new(&first, skip);
                    let front = front(len, Call::on_a_device(ctr).head(), 240);
                    let after = ctr.at(front);
                    assert_eq!(after.position(), u128::from(skip) + u128::from(front), "{len} {skip} {counter}");
                    assert!(front == len || after.skip() == 0, "the back begins with a block");
                }
            }
        }
    }
}
