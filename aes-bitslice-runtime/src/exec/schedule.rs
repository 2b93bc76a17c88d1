//! The assignment of a call's chunks to several workers: each takes its own share first, front to back, then from what
//! the slowest of the others has left.

use crate::base::lock::lock;
use crate::base::sync::{Mutex, MutexGuard};
use std::ops::Range;

/// The chunks of a call that no worker has taken yet.
pub(crate) struct Schedule(Mutex<Vec<Share>>);

struct Share {
    left: Range<usize>,
    weight: f64,
}

impl Schedule {
    /// A schedule for this many chunks, in shares proportional to the weights; no weight is negative, and not all are
    /// zero.
    pub(crate) fn new(chunks: usize, weights: &[f64]) -> Self {
        Self::of(shares(chunks, weights), weights)
    }

    /// A schedule with these shares, for owners with these weights.
    pub(crate) fn of(shares: Vec<Range<usize>>, weights: &[f64]) -> Self {
        Self(Mutex::new(shares.into_iter().zip(weights).map(|(left, &weight)| Share { left, weight }).collect()))
    }

    /// The next chunk for the owner of a share: from its own share, else from another.
    pub(crate) fn next(&self, owner: usize) -> Option<usize> {
        self.next_own(owner).or_else(|| self.next_of_others(0, |_| true))
    }

    /// The next chunk of the owner's share.
    pub(crate) fn next_own(&self, owner: usize) -> Option<usize> {
        self.lock()[owner].left.next()
    }

    /// The last chunk of the share whose owner would need the longest time for the rest of it, so that all owners end
    /// together even if the weights were wrong. Takes only from shares that `may_take_of` allows and that keep at least
    /// `leave` chunks.
    pub(crate) fn next_of_others(&self, leave: usize, may_take_of: impl Fn(usize) -> bool) -> Option<usize> {
        let mut shares = self.lock();
        let time = |share: &Share| share.left.len() as f64 / share.weight.max(f64::MIN_POSITIVE);
        let from = shares.iter_mut().enumerate().filter(|(of, share)| share.left.len() > leave && may_take_of(*of));
        from.max_by(|(_, a), (_, b)| time(a).total_cmp(&time(b)))?.1.left.next_back()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Share>> {
        lock(&self.0)
    }
}

/// Cuts a number of chunks into adjoining ranges, with lengths proportional to the weights, rounded to whole chunks.
pub(crate) fn shares(chunks: usize, weights: &[f64]) -> Vec<Range<usize>> {
    let all: f64 = weights.iter().sum();
    let mut start = 0;
    let mut sum = 0.0;
    let share = |(index, weight): (usize, &f64)| {
        sum += weight;
        let end = if index + 1 == weights.len() {
            chunks
        } else {
            ((chunks as f64 * sum / all).round() as usize).clamp(start, chunks)
        };
        std::mem::replace(&mut start, end)..end
    };
    weights.iter().enumerate().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_adjoin_and_cover_all() {
        assert_eq!(shares(8, &[1.0, 1.0]), [0..4, 4..8]);
        assert_eq!(shares(8, &[3.0, 1.0]), [0..6, 6..8]);
        for chunks in 0..40 {
            for weights in [&[1.0][..], &[0.0, 1.0], &[1.0, 0.0], &[0.1, 0.7, 0.1, 0.1], &[1e-9, 1.0, 3.0]] {
                let shares = shares(chunks, weights);
                assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, chunks));
                assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
            }
        }
    }

    /// In whatever order the owners ask, every chunk is handed out once.
    #[test]
    fn every_chunk_is_taken_once() {
        for chunks in [0, 1, 2, 7, 64] {
            for order in [[0, 1, 2], [2, 2, 0], [1, 1, 1]] {
                let schedule = Schedule::new(chunks, &[5.0, 1.0, 0.0]);
                let mut taken: Vec<_> = (0..).map_while(|turn| schedule.next(order[turn % 3])).collect();
                taken.sort_unstable();
                assert_eq!(taken, (0..chunks).collect::<Vec<_>>());
                assert!((0..3).all(|owner| schedule.next(owner).is_none()));
            }
        }
    }

    #[test]
    fn own_chunks_come_first_and_then_those_of_the_slowest() {
        let schedule = Schedule::new(12, &[1.0, 1.0, 1.0]);
        assert_eq!([schedule.next(0), schedule.next(1), schedule.next(1)], [Some(0), Some(4), Some(5)]);
        assert_eq!((0..3).map(|_| schedule.next(0)).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
        // The third has four left, the second two.
        assert_eq!([schedule.next(0), schedule.next(0)], [Some(11), Some(10)]);
        assert_eq!(schedule.next(2), Some(8));
    }

    #[test]
    fn who_is_slow_has_much_left_for_his_weight() {
        let schedule = Schedule::of(vec![0..3, 3..11, 0..0], &[1.0, 8.0, 1.0]);
        assert_eq!(schedule.next(2), Some(2), "three for the one are more than eight for the other");
        assert_eq!((0..3).map(|_| schedule.next(2)).collect::<Vec<_>>(), [Some(1), Some(10), Some(0)]);
    }

    /// An owner that may not take from the slowest takes from the next; chunks reserved for an owner are left to it.
    #[test]
    fn chunks_are_taken_of_whom_one_may_take() {
        let schedule = Schedule::of(vec![0..0, 0..4, 4..7], &[1.0, 1.0, 1.0]);
        assert_eq!(schedule.next_own(0), None);
        assert_eq!(schedule.next_of_others(1, |of| of == 2), Some(6));
        assert_eq!(schedule.next_of_others(1, |of| of == 2), Some(5));
        assert_eq!(schedule.next_of_others(1, |of| of == 2), None, "the last is its owner's");
        assert_eq!(schedule.next_of_others(0, |_| false), None);
        assert_eq!((0..4).map_while(|_| schedule.next_of_others(1, |_| true)).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!([schedule.next_own(1), schedule.next_own(2)], [Some(0), Some(4)]);
    }
}
