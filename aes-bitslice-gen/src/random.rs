//! Random numbers that do not depend on the machine, so that results are deterministic.

/// Marsaglia's xorshift64, from a seed that is not zero.
#[derive(Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A generator for one of several tasks under one seed: neighbouring seeds and tasks give unrelated sequences
    /// (the finaliser of splitmix64).
    #[cfg(feature = "search")]
    pub(crate) fn for_task(seed: u64, task: u64) -> Self {
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(task.wrapping_mul(0xd1b5_4a32_d192_ed03));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ z >> 31).max(1))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize * n) >> 32
    }
}
