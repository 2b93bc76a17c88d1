//! Which memory accesses barriers order (PTX ISA, memory consistency model): `bar.sync` those of a thread block, `bar.warp.sync` those of a
//! warp. Shuffles order none. Two accesses to a byte that nothing orders, of which one writes, are a race, except two stores of the same
//! value.
//!
//! This finds every race of a run, although threads take their turns in one order: it compares not when a thread had its turn, but how many
//! barriers precede an access.

/// Lanes of a warp.
pub const WARP: usize = 32;

/// The point in the run of a thread at which an access occurs.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The thread block.
    pub block: u64,
    /// The thread within it.
    pub thread: usize,
    /// Barriers of the thread block that the thread has passed.
    pub block_barriers: u32,
    /// Barriers of its warp that the thread has passed.
    pub warp_barriers: u32,
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

/// Accesses of several threads: the thread block and the warp, where all are of one, and the most barriers that precede any.
#[derive(Clone, Copy)]
struct Others {
    block: Option<u64>,
    warp: Option<usize>,
    block_barriers: u32,
    warp_barriers: u32,
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

impl Moment {
    fn warp(&self) -> usize {
        self.thread / WARP
    }

    /// Which of a thread's accesses is later.
    fn barriers(&self) -> (u32, u32) {
        (self.block_barriers, self.warp_barriers)
    }

    /// Whether a barrier, or its place in the same thread, orders it before one that occurs later in the run.
    fn is_before(&self, later: &Self) -> bool {
        self.thread == later.thread && self.block == later.block || Others::of(self).are_before(later)
    }
}

impl Others {
    fn of(one: &Moment) -> Self {
        let Moment { block, block_barriers, warp_barriers, .. } = *one;
        Self { block: Some(block), warp: Some(one.warp()), block_barriers, warp_barriers }
    }

    fn with(self, more: &Self) -> Self {
        Self {
            block: self.block.filter(|_| self.block == more.block),
            warp: self.warp.filter(|_| self.warp == more.warp),
            block_barriers: self.block_barriers.max(more.block_barriers),
            warp_barriers: self.warp_barriers.max(more.warp_barriers),
        }
    }

    fn are_before(&self, later: &Moment) -> bool {
        self.block == Some(later.block)
            && (self.block_barriers < later.block_barriers
                || self.warp == Some(later.warp()) && self.warp_barriers < later.warp_barriers)
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
            } else if together.last.is_none_or(|other| other.barriers() < last.barriers()) {
                together.last = Some(last);
            }
        }
        all.iter().filter_map(|accesses| accesses.others).for_each(|others| together.add_others(&others));
        together
    }

    fn are_before(&self, later: &Moment) -> bool {
        self.last.is_none_or(|last| last.is_before(later)) && self.others.is_none_or(|others| others.are_before(later))
    }
}

impl History {
    /// Adds an access. Returns whether barriers order before it all accesses that would otherwise race with it.
    #[must_use]
    pub fn add(&mut self, access: Access, one: Moment) -> bool {
        let [are_writes, are_reads, are_atomics] =
            [self.writes, self.reads, self.atomics].map(|accesses| accesses.are_before(&one));
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
                are_reads && are_atomics && self.earlier.are_before(&one)
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
        Moment { block, thread, block_barriers, warp_barriers }
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
