//! How data in host memory goes to a GPU and back: the size of chunks, the number of streams, and the number of
//! threads.
//!
//! Measured on an H200 on PCIe 5, with sixteen cores (docs/record/2026-11-host-memory.md): pinned data needs large chunks and few threads,
//! because only the GPU copies. Unpinned data is staged through pinned memory by threads, which copy slower than the
//! link: one for each core, with chunks that together stay in the last-level cache. The less data, the smaller the
//! chunks, so that the first is not in flight alone for long; data whose transfer takes hardly longer than the latency
//! itself is not cut at all (Li et al. 2012, table IV). Even smaller data is read and written over the link by kernels,
//! where they can.

use std::thread;

/// The size from which data is worth copying, in chunks, so that both directions are busy: a kernel that reads and
/// writes over the link does not come near its rate, but a small call completes before the first copy would.
const WORTH_COPYING: usize = 4 << 20;

/// How data in host memory goes to a GPU and back. Fields that are `None` are chosen according to the size of the call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Transfers {
    /// Bytes of a chunk, rounded up to a multiple of 16; at most 64 MiB.
    pub chunk_bytes: Option<usize>,
    /// Chunks in flight at the same time, for each thread: 1 to 32.
    pub streams: Option<usize>,
    /// Threads for each GPU: 1 to 16.
    pub workers: Option<usize>,
}

/// The [`Transfers`] of one call, all decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) chunk_bytes: usize,
    pub(crate) streams: usize,
    /// For all GPUs.
    pub(crate) workers: usize,
    /// Whether kernels read and write host memory themselves, over the link: nothing is copied to the device and back.
    pub(crate) over_link: bool,
}

impl Transfers {
    /// The plan for a call on `bytes` bytes, pinned or not, on `devices` GPUs, that copies all of them.
    pub(crate) fn plan(self, bytes: usize, pinned: bool, devices: usize) -> Plan {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        self.plan_with(bytes, pinned, devices, cores)
    }

    /// The plan for a call whose kernels can read and write host memory, as they do in small calls.
    pub(crate) fn plan_over_link(self, bytes: usize, pinned: bool, devices: usize) -> Plan {
        match self.chunk_bytes {
            None if bytes < WORTH_COPYING => {
                // Pinned memory is not cut, because no thread copies anything.
                let whole = Self { chunk_bytes: pinned.then_some(bytes.next_multiple_of(4096)), ..self };
                Plan { over_link: true, ..whole.plan(bytes, pinned, devices) }
            }
            _ => self.plan(bytes, pinned, devices),
        }
    }

    fn plan_with(self, bytes: usize, pinned: bool, devices: usize, cores: usize) -> Plan {
        /// The size from which data is worth sending to another GPU.
        const WORTH_A_GPU: usize = 8 << 20;
        let devices = match self.chunk_bytes {
            Some(_) => devices,
            None => (bytes / WORTH_A_GPU).clamp(1, devices),
        };
        // A fraction of a GPU's data, between a size that is worth a launch and one beyond which nothing is gained.
        let part = |parts: usize, least: usize, most: usize| {
            (bytes / devices / parts).clamp(least, most).next_power_of_two().min(most)
        };
        let (chunk_bytes, streams, workers) = if pinned && bytes / devices < 128 << 20 {
            (part(16, 1 << 20, 4 << 20), 4, 1)
        } else if pinned {
            (8 << 20, 2, 2)
        } else if devices == 1 {
            (part(64, 1 << 20, 3 << 20), 2, cores.clamp(1, 16))
        } else {
            // More threads and GPUs share the cache.
            (part(64, 1 << 20, 3 << 20), 1, (cores / devices).clamp(1, 12))
        };
        let (chunk_bytes, chunks) = match self.chunk_bytes {
            Some(set) => {
                let set = set.clamp(16, 64 << 20).next_multiple_of(16);
                (set, bytes.div_ceil(set).max(1))
            }
            None => {
                // All of the same size: a short one at the end would be in flight alone.
                let chunks = (bytes / chunk_bytes).max(1);
                (bytes.div_ceil(chunks).next_multiple_of(4096), chunks)
            }
        };
        let streams = self.streams.unwrap_or(streams).clamp(1, 32);
        let workers = devices * self.workers.unwrap_or(workers).clamp(1, 16);
        // No thread without work; and if there are few chunks, each gets its own thread before a thread gets two.
        let workers = workers.min(chunks);
        Plan { chunk_bytes, streams: streams.min(chunks.div_ceil(workers)), workers, over_link: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(bytes: usize, pinned: bool, devices: usize) -> Plan {
        Transfers::default().plan_with(bytes, pinned, devices, 16)
    }

    #[test]
    fn small_calls_are_not_cut() {
        for pinned in [true, false] {
            for bytes in [1, 16, 4096, 512 << 10] {
                let Plan { chunk_bytes, streams, workers, .. } = plan(bytes, pinned, 1);
                assert!(chunk_bytes >= bytes && (streams, workers) == (1, 1), "{bytes}");
                // Nor for a few bytes more, nor for several GPUs.
                assert_eq!(plan(bytes + 15, pinned, 1).workers, 1);
                assert_eq!(plan(bytes, pinned, 4), plan(bytes, pinned, 1));
            }
        }
    }

    #[test]
    fn only_calls_that_are_small_and_not_cut_by_hand_go_over_the_link() {
        let transfers = Transfers::default();
        for pinned in [true, false] {
            assert!(transfers.plan_over_link(1, pinned, 1).over_link);
            assert!(transfers.plan_over_link((4 << 20) - 1, pinned, 2).over_link);
            assert!(!transfers.plan_over_link(4 << 20, pinned, 1).over_link);
            let by_hand = Transfers { chunk_bytes: Some(4096), ..transfers };
            assert!(!by_hand.plan_over_link(4096, pinned, 1).over_link);
        }
        let Plan { chunk_bytes, streams, workers, .. } = transfers.plan_over_link((4 << 20) - 1, true, 1);
        assert_eq!((chunk_bytes, streams, workers), (4 << 20, 1, 1));
        // Copied data is cut as before.
        let Plan { streams, over_link, .. } = plan(3 << 20, true, 1);
        assert_eq!((streams, over_link), (3, false));
    }

    #[test]
    fn large_calls_take_a_bounded_amount_of_memory() {
        // Streams and workers for all GPUs, and about the bytes of a chunk.
        let most = |pinned, devices, expected: (usize, usize), chunk: usize| {
            for bytes in [4 << 30, 1 << 40] {
                let Plan { chunk_bytes, streams, workers, .. } = plan(bytes, pinned, devices);
                assert_eq!((streams, workers), expected, "{bytes} bytes, {devices} GPUs");
                assert!((chunk..chunk + chunk / 100).contains(&chunk_bytes), "{chunk_bytes}");
            }
        };
        most(true, 1, (2, 2), 8 << 20);
        most(true, 4, (2, 8), 8 << 20);
        most(false, 1, (2, 16), 3 << 20);
        // Sixteen cores, however many GPUs they feed.
        most(false, 4, (1, 16), 3 << 20);
    }

    #[test]
    fn chunks_of_pinned_memory_are_a_part_of_what_each_gpu_gets() {
        let pinned = |bytes, devices| {
            let Plan { chunk_bytes, streams, workers, .. } = plan(bytes, true, devices);
            (chunk_bytes >> 20, streams, workers)
        };
        assert_eq!(pinned(32 << 20, 1), (2, 4, 1));
        assert_eq!([pinned(16 << 20, 4), pinned(128 << 20, 4)], [(1, 4, 2), (2, 4, 4)]);
        assert_eq!(plan(32 << 20, false, 4).chunk_bytes, 1 << 20, "no smaller one is worth a launch");
        // From 128 MiB for each on, nothing is gained with more than two streams.
        assert_eq!([pinned((128 << 20) - 4096, 1), pinned(128 << 20, 1)], [(4, 4, 1), (8, 2, 2)]);
        assert_eq!([pinned(256 << 20, 4), pinned(512 << 20, 4)], [(4, 4, 4), (8, 2, 8)]);
    }

    #[test]
    fn what_is_set_is_kept_within_bounds() {
        let set = |chunk_bytes, streams, workers| {
            let some = Transfers { chunk_bytes: Some(chunk_bytes), streams: Some(streams), workers: Some(workers) };
            some.plan_with(1 << 30, false, 1, 16)
        };
        assert_eq!(set(1 << 20, 3, 5), Plan { chunk_bytes: 1 << 20, streams: 3, workers: 5, over_link: false });
        assert_eq!(set(0, 0, 0), Plan { chunk_bytes: 16, streams: 1, workers: 1, over_link: false });
        assert_eq!(set(usize::MAX, 99, 99), Plan { chunk_bytes: 64 << 20, streams: 1, workers: 16, over_link: false });
    }
}
