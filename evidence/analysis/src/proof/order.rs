//! Which memory accesses barriers order (PTX ISA, memory consistency model): `bar.sync` those of a thread block, or with a number those of a
//! warpgroup, `bar.warp.sync` those of a warp. Shuffles order none. Two accesses to a byte that nothing orders, of which one writes, are a race, except two stores of the same
//! value.
//!
//! This finds every race of a run, although threads take their turns in one order: it compares not when a thread had its turn, but how many
//! barriers precede an access.

use std::collections::HashMap;

/// Lanes of a warp.
pub const WARP: usize = 32;

/// Threads of a warpgroup: four neighbouring warps.
pub const WARPGROUP: usize = 4 * WARP;

/// How many barriers a thread has passed. Of two points in its run, the later one has more.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Barriers {
    /// Of the thread block.
    pub block: u32,
    /// Of its warpgroup.
    pub warpgroup: u32,
    /// Of its warp.
    pub warp: u32,
}

/// The point in the run of a thread at which an access occurs.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The thread block.
    pub block: u64,
    /// The thread within it.
    pub thread: usize,
    /// The barriers that the thread has passed.
    pub barriers: Barriers,
}

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// By a load.
    Read,
    /// By a store of a value that differs from the byte's.
    Write,
    /// By a store of the value that the byte has.
    Rewrite,
    /// By an atomic operation; those of several threads are not a race.
    Atomic,
}

/// Accesses of one kind between two writes: the latest, and a summary of all others.
#[derive(Clone, Copy, Default)]
struct Accesses {
    last: Option<Moment>,
    others: Option<Others>,
}

/// Accesses of several threads: the thread block, the warpgroup and the warp, where all are of one, and the most barriers that precede any.
#[derive(Clone, Copy)]
struct Others {
    block: Option<u64>,
    warpgroup: Option<usize>,
    warp: Option<usize>,
    barriers: Barriers,
}

/// The accesses to a byte: the last write, with stores of the same value that no barrier orders after it; the reads and atomic operations
/// after it; and earlier ones that are not yet ordered with such a store.
#[derive(Clone, Copy, Default)]
pub struct History {
    earlier: Accesses,
    writes: Accesses,
    reads: Accesses,
    atomics: Accesses,
}

/// What a thread block has seen of others: a thread of it has come to a counter in device memory, after others that had come to it. Each had put
/// a fence (`membar.gl`) before that, and this one has put another after it.
#[derive(Clone, Default)]
pub struct Seen {
    /// The barriers of the thread block that preceded the fence of each that has come, by index; those that ran first are before 0, 1, ...
    pub arrived: HashMap<u64, u32>,
    /// When the thread came to its second fence.
    pub by: Option<Moment>,
}

impl Seen {
    /// Whether these accesses precede what a thread does now.
    fn precede(&self, accesses: &Others, now: &Moment) -> bool {
        let is_before = |barriers: &u32| accesses.barriers.block < *barriers;
        let are_before_arrival = match accesses.block {
            Some(block) => self.arrived.get(&block).is_some_and(is_before),
            // Of several: all that ran until now.
            None => self.arrived.len() as u64 == now.block + 1 && self.arrived.values().all(is_before),
        };
        are_before_arrival && self.by.is_some_and(|by| by.block == now.block && by.is_before(now))
    }
}

impl Moment {
    fn warpgroup(&self) -> usize {
        self.thread / WARPGROUP
    }

    fn warp(&self) -> usize {
        self.thread / WARP
    }

    /// Whether a barrier, or its place in the same thread, orders it before one that occurs later in the run.
    pub(crate) fn is_before(&self, later: &Self) -> bool {
        self.thread == later.thread && self.block == later.block || Others::of(self).are_before(later)
    }
}

impl Others {
    fn of(one: &Moment) -> Self {
        let Moment { block, barriers, .. } = *one;
        Self { block: Some(block), warpgroup: Some(one.warpgroup()), warp: Some(one.warp()), barriers }
    }

    fn with(self, more: &Self) -> Self {
        let (own, other) = (self.barriers, more.barriers);
        Self {
            block: self.block.filter(|_| self.block == more.block),
            warpgroup: self.warpgroup.filter(|_| self.warpgroup == more.warpgroup),
            warp: self.warp.filter(|_| self.warp == more.warp),
            barriers: Barriers {
                block: own.block.max(other.block),
                warpgroup: own.warpgroup.max(other.warpgroup),
                warp: own.warp.max(other.warp),
            },
        }
    }

    fn are_before(&self, later: &Moment) -> bool {
        let (own, those) = (self.barriers, later.barriers);
        self.block == Some(later.block)
            && (own.block < those.block
                || self.warpgroup == Some(later.warpgroup()) && own.warpgroup < those.warpgroup
                || self.warp == Some(later.warp()) && own.warp < those.warp)
    }
}

impl Accesses {
    fn add(&mut self, one: Moment) {
        if let Some(last) = self.last.filter(|last| (last.thread, last.block) != (one.thread, one.block)) {
            self.add_others(&Others::of(&last));
        }
        self.last = Some(one);
    }

    fn add_others(&mut self, more: &Others) {
        self.others = Some(self.others.map_or(*more, |others| others.with(more)));
    }

    /// Accesses of all kinds together; as the last one, that of the thread whose turn it is.
    fn together(all: [Self; 3], thread: &Moment) -> Self {
        let mut together = Self::default();
        for last in all.iter().filter_map(|accesses| accesses.last) {
            if (last.thread, last.block) != (thread.thread, thread.block) {
                together.add_others(&Others::of(&last));
            } else if together.last.is_none_or(|other| other.barriers < last.barriers) {
                together.last = Some(last);
            }
        }
        all.iter().filter_map(|accesses| accesses.others).for_each(|others| together.add_others(&others));
        together
    }

    fn are_before(&self, later: &Moment, seen: &Seen) -> bool {
        let is_before = |last: Moment| last.is_before(later) || seen.precede(&Others::of(&last), later);
        let are_before = |others: Others| others.are_before(later) || seen.precede(&others, later);
        self.last.is_none_or(is_before) && self.others.is_none_or(are_before)
    }
}

impl History {
    /// Adds an access. Returns whether barriers order before it all accesses that would otherwise race with it.
    #[must_use]
    pub fn add(&mut self, access: Access, one: Moment) -> bool {
        self.add_after(access, one, &Seen::default())
    }

    /// Likewise, for a thread block that has seen others.
    #[must_use]
    pub fn add_after(&mut self, access: Access, one: Moment, seen: &Seen) -> bool {
        let [are_writes, are_reads, are_atomics] =
            [self.writes, self.reads, self.atomics].map(|accesses| accesses.are_before(&one, seen));
        match access {
            Access::Read => {
                self.reads.add(one);
                are_writes && are_atomics
            }
            Access::Atomic => {
                self.atomics.add(one);
                are_writes && are_reads
            }
            Access::Rewrite if !are_writes => {
                self.writes.add(one);
                // It may come before the write, and so must come after everything that precedes the write.
                are_reads && are_atomics && self.earlier.are_before(&one, seen)
            }
            Access::Write | Access::Rewrite => {
                // Of several stores of one value, any may be the first.
                let before = if access == Access::Write { self.writes } else { self.earlier };
                let earlier = Accesses::together([before, self.reads, self.atomics], &one);
                *self = Self { earlier, ..Self::default() };
                self.writes.add(one);
                are_writes && are_reads && are_atomics
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(block: u64, thread: usize, block_barriers: u32, warp_barriers: u32) -> Moment {
        let barriers = Barriers { block: block_barriers, warpgroup: 0, warp: warp_barriers };
        Moment { block, thread, barriers }
    }

    /// Past this many barriers of its warpgroup.
    fn in_warpgroup(block: u64, thread: usize, warpgroup: u32) -> Moment {
        Moment { block, thread, barriers: Barriers { warpgroup, ..Barriers::default() } }
    }

    /// Whether the last of some accesses is ordered after the others.
    fn in_order(all: &[(Access, Moment)]) -> bool {
        let mut history = History::default();
        let each: Vec<bool> = all.iter().map(|&(access, one)| history.add(access, one)).collect();
        *each.last().unwrap()
    }

    #[test]
    fn barriers_put_accesses_in_order() {
        use Access::{Atomic, Read, Rewrite, Write};
        for (first, second) in [(Write, Read), (Read, Write), (Write, Write), (Atomic, Read), (Write, Atomic)] {
            let race = |one, other| !in_order(&[(first, one), (second, other)]);
            assert!(!race(at(0, 3, 0, 0), at(0, 3, 0, 0)), "a thread");
            assert!(race(at(0, 3, 0, 0), at(0, 4, 0, 0)), "a warp");
            assert!(!race(at(0, 3, 0, 0), at(0, 4, 0, 1)), "a warp, and its barrier");
            assert!(race(at(0, 3, 0, 0), at(0, 36, 0, 1)), "two warps, and a barrier of one");
            assert!(!race(at(0, 3, 0, 0), at(0, 36, 1, 0)), "two warps, and a barrier of the thread block");
            assert!(race(at(0, 3, 0, 0), at(1, 3, 1, 1)), "two thread blocks");
            assert!(!race(in_warpgroup(0, 3, 0), in_warpgroup(0, 127, 1)), "a warpgroup, and its barrier");
            assert!(race(in_warpgroup(0, 3, 1), in_warpgroup(0, 127, 1)), "a warpgroup");
            assert!(race(in_warpgroup(0, 3, 0), in_warpgroup(0, 128, 1)), "two warpgroups, and a barrier of one");
            assert!(
                race(in_warpgroup(0, 3, 0), in_warpgroup(1, 3, 1)),
                "two thread blocks, and a barrier of a warpgroup"
            );
        }
        assert!(in_order(&[(Read, at(0, 3, 0, 0)), (Read, at(1, 4, 0, 0))]));
        assert!(in_order(&[(Atomic, at(0, 3, 0, 0)), (Atomic, at(1, 4, 0, 0))]));
        // Both writers of a value come before its reader.
        let written_twice = |other| in_order(&[(Write, at(0, 40, 0, 0)), (Rewrite, at(0, 3, 0, 0)), (Read, other)]);
        assert!(in_order(&[(Write, at(0, 40, 0, 0)), (Rewrite, at(0, 3, 0, 0))]));
        assert!(!written_twice(at(0, 4, 0, 1)) && !written_twice(at(0, 41, 0, 1)) && written_twice(at(0, 4, 1, 0)));
        // The second writer may be the first: what precedes the other one must precede it, too.
        for before in [Read, Atomic, Write] {
            let written_behind = |one, other| in_order(&[(before, one), (Write, at(0, 3, 0, 0)), (Rewrite, other)]);
            assert!(!written_behind(at(0, 3, 0, 0), at(0, 4, 0, 0)), "{before:?} of the thread that writes");
            assert!(!written_behind(at(0, 3, 0, 0), at(0, 36, 0, 0)), "{before:?}");
            assert!(written_behind(at(0, 3, 0, 0), at(0, 4, 0, 1)), "{before:?}, and a barrier");
        }
        // If one thread reads, and writes after a barrier, only the read precedes.
        let after_a_barrier = |other| in_order(&[(Read, at(0, 3, 0, 0)), (Write, at(0, 3, 1, 0)), (Rewrite, other)]);
        assert!(after_a_barrier(at(0, 36, 1, 0)) && !after_a_barrier(at(0, 36, 0, 0)));
        // Stores of one value, again and again.
        let again = [(Write, at(0, 3, 0, 0)), (Rewrite, at(0, 4, 0, 0)), (Rewrite, at(0, 3, 1, 0))];
        assert!(in_order(&[&again[..], &[(Rewrite, at(1, 3, 0, 0))]].concat()));
        assert!(!in_order(&[&[(Read, at(0, 3, 0, 0))], &again[..], &[(Rewrite, at(1, 3, 0, 0))]].concat()));
    }

    /// Three thread blocks write, come to a barrier, and then to a counter; the last one to come sees what the others did before the barrier.
    #[test]
    fn the_last_thread_block_sees_the_others() {
        let order = |seen: &Seen, last: Moment| {
            let mut history = History::default();
            (0..3).for_each(|block| _ = history.add(Access::Atomic, at(block, 5, 2, 0)));
            history.add_after(Access::Write, last, seen)
        };
        let arrived = HashMap::from([(0, 3), (1, 3), (2, 3)]);
        let seen = Seen { arrived: arrived.clone(), by: Some(at(2, 0, 3, 0)) };
        assert!(order(&seen, at(2, 0, 3, 0)) && order(&seen, at(2, 7, 4, 0)));
        assert!(!order(&seen, at(2, 7, 3, 0)), "a thread that has not met the one that has seen it");
        assert!(!order(&Seen::default(), at(2, 0, 3, 0)), "nothing seen");
        assert!(!order(&Seen { by: None, ..seen.clone() }, at(2, 0, 3, 0)), "no second fence");
        for block in 0..3 {
            let without = || arrived.clone().into_iter().filter(|(other, _)| *other != block);
            let no_fence = Seen { arrived: without().collect(), ..seen.clone() };
            let too_early = Seen { arrived: without().chain([(block, 2)]).collect(), ..seen.clone() };
            assert!(!order(&no_fence, at(2, 0, 3, 0)) && !order(&too_early, at(2, 0, 3, 0)));
        }
    }

    #[test]
    fn all_reads_lie_before_a_write() {
        use Access::{Read, Write};
        let reads = |moments: [Moment; 3], write| {
            in_order(&[(Read, moments[0]), (Read, moments[1]), (Read, moments[2]), (Write, write)])
        };
        let of_a_warp = [at(0, 1, 0, 0), at(0, 2, 0, 0), at(0, 1, 0, 1)];
        assert!(reads(of_a_warp, at(0, 1, 0, 1)));
        assert!(!reads(of_a_warp, at(0, 2, 0, 1)));
        assert!(reads(of_a_warp, at(0, 2, 0, 2)));
        let of_two = [at(0, 1, 0, 0), at(0, 40, 0, 0), at(0, 1, 0, 0)];
        assert!(!reads(of_two, at(0, 1, 0, 7)));
        assert!(reads(of_two, at(0, 2, 1, 0)));
        assert!(!reads([at(0, 1, 0, 0), at(1, 1, 0, 0), at(0, 1, 1, 1)], at(0, 1, 9, 9)));
    }
}
