//! The start of a keystream: the initial counter block, and which of its bits count (SP 800-38A, section 6.5 and
//! appendix B.1).

use crate::base::error::Error;

/// The bits of the counter block that count, as a big-endian number at its end; the bits before them do not change.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum CounterMode {
    /// All 128 bits, wrapping to zero, as in OpenSSL.
    #[default]
    Ctr128BE,
    /// The last 8 bytes. A call that would run past the largest number is refused.
    Ctr64BE,
    /// The last 4 bytes. A call that would run past the largest number is refused.
    Ctr32BE,
    /// The last 4 bytes, wrapping to zero, as in GCM (SP 800-38D, section 6.2). A call that would return to the initial
    /// counter block is refused.
    Inc32,
}

impl CounterMode {
    /// All counter modes, widest first.
    pub const ALL: [Self; 4] = [Self::Ctr128BE, Self::Ctr64BE, Self::Ctr32BE, Self::Inc32];

    /// The number of bits that count.
    pub fn bits(self) -> u32 {
        match self {
            Self::Ctr128BE => 128,
            Self::Ctr64BE => 64,
            Self::Ctr32BE | Self::Inc32 => 32,
        }
    }
}

/// The bits of the last 4 bytes.
const LAST_WORD: u128 = u32::MAX as u128;

/// An initial counter block: the block that is encrypted into the first 16 bytes of keystream.
///
/// Never use the same key twice with counter blocks that overlap: this would reveal the XOR of the two plaintexts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    mode: CounterMode,
    block: u128,
}

impl Counter {
    /// Creates a counter that starts at `block` and counts according to `mode`.
    pub fn new(mode: CounterMode, block: [u8; 16]) -> Self {
        Self { mode, block: u128::from_be_bytes(block) }
    }

    /// Generates a counter for a new message: a random initial counter block, all 128 bits of which count, from the
    /// operating system's random number generator. Keep it: decryption needs the same counter.
    ///
    /// Counter blocks of two messages under one key overlap with a probability of less than n² b / 2^127, for n
    /// messages of b blocks of 16 bytes each: 2^-57 for a million messages of 16 GiB.
    ///
    /// # Errors
    /// [`Error::Random`] if the system does not supply random bytes.
    pub fn random() -> Result<Self, Error> {
        let mut block = [0; 16];
        getrandom::fill(&mut block)?;
        Ok(Self::new(CounterMode::Ctr128BE, block))
    }

    /// The bits that count.
    pub fn mode(&self) -> CounterMode {
        self.mode
    }

    /// The initial counter block.
    pub fn block(&self) -> [u8; 16] {
        self.block.to_be_bytes()
    }

    /// Refuses `bytes` bytes of key stream from byte `position` on if the counter would run past its field.
    pub(crate) fn check(&self, position: u128, bytes: u64) -> Result<(), Error> {
        let bits = self.mode.bits();
        if bits < 128 && bytes > 0 {
            let field = 1u128 << bits;
            let left = if self.mode == CounterMode::Inc32 { field } else { field - self.block % field };
            // A position is a sum of a few numbers below 2^64, so nothing overflows here.
            let needed = (position + u128::from(bytes)).div_ceil(16);
            if needed > left {
                return Err(Error::CounterOverflow { bits, needed, left });
            }
        }
        Ok(())
    }

    /// The counter block of byte `position` of the key stream, as a big-endian number. Counting on from it mod 2^128 is
    /// right for the [number of bytes](Self::bytes_to_wrap) before the counter wraps in a narrower field; if it does
    /// not wrap there, more is [refused](Self::check).
    pub(crate) fn at(&self, position: u128) -> u128 {
        self.block_at(position).block
    }

    /// The counter block of byte `position`, with the number of low bits that count and wrap.
    pub(crate) fn block_at(&self, position: u128) -> CounterBlock {
        let first = match self.mode {
            // GCM's may be secret.
            CounterMode::Inc32 => CounterBlock::of_gcm(self.block, true),
            _ => CounterBlock::new(self.block),
        };
        first.after(position / 16)
    }

    /// Bytes of key stream from byte `position` on until the counter wraps in a field of fewer than 128 bits; `None` if
    /// it never does.
    pub(crate) fn bytes_to_wrap(&self, position: u128) -> Option<u128> {
        let blocks = (LAST_WORD + 1) - (self.at(position) & LAST_WORD);
        (self.mode == CounterMode::Inc32).then(|| 16 * blocks - position % 16)
    }
}

/// A counter block as a big-endian number, and how many of its last bits count on from it: 32 or 128. They wrap, and the others stay.
#[derive(Clone, Copy)]
pub struct CounterBlock {
    pub(crate) block: u128,
    pub(crate) bits: u32,
    /// Whether the number is secret, as a hash is (SP 800-38D, section 7.1): no branch depends on it then.
    pub(crate) is_secret: bool,
}

impl CounterBlock {
    /// A block of which all bits count.
    pub(crate) fn new(block: u128) -> Self {
        Self { block, bits: 128, is_secret: false }
    }

    /// A block of which 32 bits count.
    pub(crate) fn of_gcm(block: u128, is_secret: bool) -> Self {
        Self { block, bits: 32, is_secret }
    }

    /// The block that comes `blocks` blocks later.
    pub(crate) fn after(self, blocks: u128) -> Self {
        let counts = u128::MAX >> (128 - self.bits);
        Self { block: self.block & !counts | self.block.wrapping_add(blocks) & counts, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_blocks_wrap_in_the_bits_that_count() {
        let last = u128::MAX - 1;
        let after = |bits, blocks| CounterBlock { bits, ..CounterBlock::new(last) }.after(blocks).block;
        assert_eq!((after(128, 1), after(128, 2), after(128, 5)), (u128::MAX, 0, 3));
        assert_eq!((after(32, 1), after(32, 2), after(32, 5)), (u128::MAX, !LAST_WORD, !LAST_WORD + 3));
        assert_eq!((after(32, 1 << 32), after(32, (1 << 32) + 1)), (last, u128::MAX));
    }

    fn counter(mode: CounterMode, block: u128) -> Counter {
        Counter::new(mode, block.to_be_bytes())
    }

    #[test]
    fn random_counters_differ() {
        let (a, b) = (Counter::random().unwrap(), Counter::random().unwrap());
        assert_eq!(a.mode(), CounterMode::Ctr128BE);
        assert_ne!(a.block(), b.block());
        // A byte that is zero in all of 64 was not drawn.
        let any = (0..64).fold(0, |any, _| any | u128::from_be_bytes(Counter::random().unwrap().block()));
        assert!(!any.to_be_bytes().contains(&0), "{any:x}");
    }

    #[test]
    fn the_whole_block_wraps() {
        let c = counter(CounterMode::Ctr128BE, u128::MAX);
        c.check(u64::MAX.into(), u64::MAX).unwrap();
        assert_eq!((c.at(0), c.at(15), c.at(16), c.at(37)), (u128::MAX, u128::MAX, 0, 1));
        assert_eq!(c.block(), [0xff; 16]);
    }

    #[test]
    fn the_last_word_wraps_and_carries_nowhere() {
        let c = counter(CounterMode::Inc32, u128::MAX - 1);
        assert_eq!(c.mode(), CounterMode::Inc32);
        let high = u128::MAX - LAST_WORD;
        assert_eq!((c.at(16), c.at(32), c.at(33), c.at(48)), (u128::MAX, high, high, high + 1));
        assert_eq!((c.bytes_to_wrap(0), c.bytes_to_wrap(5), c.bytes_to_wrap(31)), (Some(32), Some(27), Some(1)));
        assert_eq!(c.bytes_to_wrap(32), Some(16 << 32));
        c.check(0, 16 << 32).unwrap();
        assert!(matches!(c.check(1, 16 << 32), Err(Error::CounterOverflow { bits: 32, .. })));
        assert_eq!(counter(CounterMode::Ctr32BE, 0).bytes_to_wrap(0), None);
    }

    #[test]
    fn a_narrow_field_is_used_to_its_last_block_and_not_beyond() {
        for (mode, field) in [(CounterMode::Ctr32BE, 1u128 << 32), (CounterMode::Ctr64BE, 1 << 64)] {
            // Other bits of the block, all ones, neither count nor are carried into.
            let high = u128::MAX - (field - 1);
            for left in [1u64, 2, 5] {
                let first = high + (field - u128::from(left));
                let c = counter(mode, first);
                let bytes = 16 * left;
                for offset in 0..bytes {
                    c.check(offset.into(), bytes - offset).unwrap();
                    assert_eq!(c.at(offset.into()), first + u128::from(offset / 16));
                    let over = c.check(offset.into(), bytes - offset + 1).unwrap_err();
                    assert!(matches!(over, Error::CounterOverflow { needed, left: l, .. }
                        if needed == u128::from(left) + 1 && l == u128::from(left)));
                }
                assert!(
                    c.check(bytes.into(), 0).is_ok() && c.check(u64::MAX.into(), 0).is_ok(),
                    "no bytes need no block"
                );
                assert!(c.check(bytes.into(), 1).is_err());
                assert!(c.check(u64::MAX.into(), u64::MAX).is_err());
            }
        }
    }

    /// A key stream is longer than 2^64 bytes where the offset is near that.
    #[test]
    fn positions_have_more_than_64_bits() {
        let c = counter(CounterMode::Ctr128BE, 5);
        for blocks in [(1 << 28) - 1, 1 << 28, (1 << 32) + 3, (1 << 60) - 1, 1 << 60, (1 << 61) + 7_u128] {
            assert_eq!(c.at(16 * blocks + 15), 5 + blocks);
        }
        let c = counter(CounterMode::Inc32, LAST_WORD);
        assert_eq!([1 << 32, (1 << 32) + 1, 1 << 60].map(|blocks| c.at(16 * blocks)), [LAST_WORD, 0, LAST_WORD]);
        let c = counter(CounterMode::Ctr64BE, 0);
        c.check((1 << 68) - 16, 16).unwrap();
        assert!(c.check((1 << 68) - 16, 17).is_err() && c.check(1 << 68, 1).is_err());
        let over = c.check(1 << 68, u64::MAX).unwrap_err();
        let needed = (1 << 64) + (1 << 60);
        assert!(matches!(over, Error::CounterOverflow { bits: 64, needed: n, left } if n == needed && left == 1 << 64));
    }
}
