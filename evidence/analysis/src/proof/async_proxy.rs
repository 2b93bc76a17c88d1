//! What is known of shared memory that copies and tensor cores reach by another way than threads do, the async proxy (PTX ISA): which copies
//! have arrived, and what they see of what threads have written. The rules for the instructions are in [`copies`](super::copies).

use crate::proof::order::Moment;
use crate::proof::thread::Thread;
use crate::proof::value::Why;
use std::collections::HashMap;
use std::ops::Range;

/// A barrier in shared memory.
pub(crate) struct Barrier {
    /// Threads that arrive in each phase, and those of this phase that have not.
    pub(crate) threads: u64,
    pub(crate) missing: u64,
    /// Bytes of this phase that are expected and have not come.
    pub(crate) bytes: u64,
    /// The phases that are over.
    pub(crate) over: u32,
}

impl Barrier {
    /// Ends the phase if nothing is missing.
    pub(crate) fn complete(&mut self) {
        if self.missing == 0 && self.bytes == 0 {
            self.missing = self.threads;
            self.over += 1;
        }
    }
}

/// Shared memory of a thread block, as far as the async proxy is concerned.
#[derive(Default)]
pub(crate) struct AsyncProxy {
    /// By address.
    pub(crate) barriers: HashMap<u64, Barrier>,
    /// Bytes that were copied, until a thread writes there: the barrier, and its phase.
    pub(crate) copied: HashMap<u64, (u64, u32)>,
    /// Bytes that a thread has written, and when it came to a fence after that.
    pub(crate) written: HashMap<u64, (usize, Option<Moment>)>,
    /// What each thread has written since its last fence.
    pub(crate) unpublished: HashMap<usize, Vec<u64>>,
}

impl AsyncProxy {
    pub(crate) fn barrier(&mut self, at: u64) -> Result<&mut Barrier, Why> {
        self.barriers.get_mut(&at).ok_or_else(|| format!("no barrier is at {at:#x}"))
    }

    /// Whether the copies of these bytes have arrived for threads.
    pub(crate) fn have_arrived(&self, bytes: Range<u64>, threads: &[Thread]) -> Result<(), Why> {
        let mut last = None;
        for copy in bytes.filter_map(|at| self.copied.get(&at)) {
            // Neighbours are of one copy, as a rule.
            if last.replace(copy) != Some(copy) {
                let (barrier, phase) = copy;
                let has_waited = |thread: &Thread| thread.arrivals.get(barrier).is_some_and(|over| phase < over);
                if !threads.iter().all(has_waited) {
                    return Err("a thread has not waited for the copy of these bytes".into());
                }
            }
        }
        Ok(())
    }

    /// Whether the async proxy sees what threads have written there.
    pub(crate) fn are_published(&self, mut bytes: Range<u64>, by: &Moment) -> Result<(), Why> {
        let is_published =
            |at: u64| self.written.get(&at).is_none_or(|(_, fence)| fence.is_some_and(|fence| fence.is_before(by)));
        if bytes.all(is_published) {
            Ok(())
        } else {
            Err("no fence of the async proxy, with a barrier after it, follows what a thread has written there".into())
        }
    }
}
