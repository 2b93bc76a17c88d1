//! Where a keystream starts: the initial counter block, and which of its bits count (SP 800-38A, section 6.5 and
//! appendix B.1).

use crate::Error;

/// Which bits of the counter block count, as a big-endian number at its end; the bits before them stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CounterMode {
    /// All 128 bits, wrapping to zero, as OpenSSL counts.
    #[default]
    Ctr128BE,
    /// The last 8 bytes. A call that would run past the largest number is refused.
    Ctr64BE,
    /// The last 4 bytes. A call that would run past the largest number is refused.
    Ctr32BE,
}

impl CounterMode {
    /// All counter modes, widest first.
    pub const ALL: [Self; 3] = [Self::Ctr128BE, Self::Ctr64BE, Self::Ctr32BE];

    /// How many bits count.
    pub fn bits(self) -> u32 {
        match self {
            Self::Ctr128BE => 128,
            Self::Ctr64BE => 64,
            Self::Ctr32BE => 32,
        }
    }
}

/// An initial counter block: the block that is encrypted into the first 16 bytes of keystream.
///
/// Never use the same key twice with counter blocks that overlap: the XOR of the two plaintexts would be plain to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    mode: CounterMode,
    block: u128,
}

impl Counter {
    /// The counter that starts at `block` and counts as `mode` says.
    pub fn new(mode: CounterMode, block: [u8; 16]) -> Self {
        Self { mode, block: u128::from_be_bytes(block) }
    }

    /// Which bits count.
    pub fn mode(&self) -> CounterMode {
        self.mode
    }

    /// The initial counter block.
    pub fn block(&self) -> [u8; 16] {
        self.block.to_be_bytes()
    }

    /// Where `len` bytes of keystream from byte `offset` on begin: the counter block, as a big-endian number, and how
    /// many bytes (fewer than 16) of its keystream block come before them. Counting on from it mod 2^128 is right for
    /// every mode, for what would carry out of a narrower field is refused here.
    pub(crate) fn start(&self, offset: u64, len: usize) -> Result<(u128, usize), Error> {
        let bits = self.mode.bits();
        if bits < 128 && len > 0 {
            let field = 1u128 << bits;
            let left = field - self.block % field;
            // Neither offset nor length reaches 2^64, so nothing overflows here.
            let needed = (u128::from(offset) + len as u128).div_ceil(16);
            if needed > left {
                return Err(Error::CounterOverflow { bits, needed, left });
            }
        }
        Ok((self.block.wrapping_add(u128::from(offset / 16)), (offset % 16) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(mode: CounterMode, block: u128) -> Counter {
        Counter::new(mode, block.to_be_bytes())
    }

    #[test]
    fn the_whole_block_wraps() {
        let c = counter(CounterMode::Ctr128BE, u128::MAX);
        assert_eq!(c.start(0, usize::MAX).unwrap(), (u128::MAX, 0));
        assert_eq!(c.start(37, 1).unwrap(), (1, 5));
        assert_eq!(c.block(), [0xff; 16]);
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
                    let (block, skip) = c.start(offset, (bytes - offset) as usize).unwrap();
                    assert_eq!((block, skip), (first + u128::from(offset / 16), (offset % 16) as usize));
                    let over = c.start(offset, (bytes - offset) as usize + 1).unwrap_err();
                    assert!(matches!(over, Error::CounterOverflow { needed, left: l, .. }
                        if needed == u128::from(left) + 1 && l == u128::from(left)));
                }
                assert!(c.start(bytes, 0).is_ok(), "no bytes need no block");
                assert!(c.start(bytes, 1).is_err());
                assert!(c.start(u64::MAX, usize::MAX).is_err());
            }
        }
    }
}
