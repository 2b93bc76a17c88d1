//! Random numbers, sizes and bytes.

/// Numbers that look random: xorshift (G. Marsaglia, "Xorshift RNGs", 2003).
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1));
        // Nearby seeds diverge.
        for _ in 0..10 {
            random.next();
        }
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number less than `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 11) % n.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| (self.next() >> 32) as u8)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }

    /// A size of up to `most`: all doublings are equally frequent.
    pub fn size(&mut self, most: u64) -> u64 {
        let bits = 1 + self.below(u64::from(u64::BITS - most.leading_zeros()));
        self.below(1 << bits).min(most)
    }

    /// The size of a call, of up to `most` bytes. Up to 64 MiB all doublings are equally frequent. From there on each is half as
    /// frequent as the one before, so that the calls of each take about the same time together: otherwise the largest would take most of
    /// the time, and few calls would be made.
    pub fn size_of_call(&mut self, most: u64) -> u64 {
        const MUCH: u64 = 64 << 20;
        loop {
            let size = self.size(most);
            if self.below(size.next_power_of_two()) < MUCH {
                return size;
            }
        }
    }

    pub fn fill(&mut self, data: &mut [u8]) {
        let mut word = self.next();
        for chunk in data.chunks_mut(8) {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5a;
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }
}
