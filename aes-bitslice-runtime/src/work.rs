//! What one call asks for, and how it is cut into parts that can be done in any order.

use crate::parallel::Buffers;
use crate::{Direction, Mode};

/// What is to be done with a call's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Whole blocks through the block cipher, each on its own (SP 800-38A, section 6.1).
    Ecb(Direction),
    /// XOR with the key stream that starts `skip` (fewer than 16) bytes into the block of `counter`; counters wrap mod
    /// 2^128 (section 6.5).
    Ctr { counter: u128, skip: usize },
    /// Whole blocks of ciphertext through the block cipher, each XORed with the one before; the first with `iv` (section
    /// 6.2).
    CbcDecrypt { iv: [u8; 16] },
}

/// A part of a call, with what is to be done with it.
pub(crate) struct Part<'a> {
    pub(crate) work: Work,
    pub(crate) data: Buffers<'a>,
}

impl Work {
    /// The work of a mode, from a counter or, for CBC, an IV as a big-endian number.
    pub(crate) fn of_mode(mode: Mode, start: u128) -> Self {
        match mode {
            Mode::EcbEncrypt => Self::Ecb(Direction::Encrypt),
            Mode::EcbDecrypt => Self::Ecb(Direction::Decrypt),
            Mode::Ctr => Self::Ctr { counter: start, skip: 0 },
            Mode::CbcDecrypt => Self::CbcDecrypt { iv: start.to_be_bytes() },
        }
    }

    pub(crate) fn mode(self) -> Mode {
        match self {
            Self::Ecb(direction) => Mode::ecb(direction),
            Self::Ctr { .. } => Mode::Ctr,
            Self::CbcDecrypt { .. } => Mode::CbcDecrypt,
        }
    }

    /// How many bytes into a block the data begins.
    pub(crate) fn skip(self) -> usize {
        match self {
            Self::Ctr { skip, .. } => skip,
            Self::Ecb(_) | Self::CbcDecrypt { .. } => 0,
        }
    }

    /// Bytes before the first whole block of key stream, which are done apart.
    pub(crate) fn head(self) -> u64 {
        (16 - self.skip() as u64) % 16
    }

    /// The same from a byte on: what remains when so many are done. `before` is the block of ciphertext before that byte,
    /// which CBC is chained to.
    pub(crate) fn after(self, bytes: u64, before: impl FnOnce() -> [u8; 16]) -> Self {
        match self {
            Self::Ecb(direction) => Self::Ecb(direction),
            Self::Ctr { counter, skip } => {
                let position = u128::from(bytes) + skip as u128;
                Self::Ctr { counter: counter.wrapping_add(position / 16), skip: (position % 16) as usize }
            }
            Self::CbcDecrypt { .. } if bytes == 0 => self,
            Self::CbcDecrypt { .. } => Self::CbcDecrypt { iv: before() },
        }
    }

    /// Cuts the data into parts that end where blocks end, all but the first `bytes` long, that one shorter by what is
    /// missing of its first block, and the last as long as there is data. `bytes` is a multiple of 16.
    ///
    /// What a part is chained to is read now, before anything is overwritten.
    pub(crate) fn cut(self, data: Buffers<'_>, bytes: usize) -> Vec<Part<'_>> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(16));
        let mut parts = Vec::with_capacity((self.skip() + data.len()).div_ceil(bytes));
        let (mut work, mut rest) = (self, data);
        while rest.len() > 0 {
            let len = (bytes - work.skip()).min(rest.len());
            let (data, after) = rest.split_at(len);
            let last = || *data.input().last_chunk().expect("whole blocks, and not none");
            let next = work.after(data.len() as u64, last);
            parts.push(Part { work, data });
            (work, rest) = (next, after);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(work: Work, len: usize, bytes: usize) -> Vec<usize> {
        let data: Vec<u8> = (0..len).map(|i| i as u8).collect();
        let mut output = vec![0; len];
        let parts = work.cut(Buffers::To { input: &data, output: &mut output }, bytes);
        assert_eq!(parts.iter().flat_map(|part| part.data.input()).copied().collect::<Vec<_>>(), data);
        parts.iter().map(|part| part.data.len()).collect()
    }

    #[test]
    fn parts_cover_all_and_end_with_blocks() {
        let ctr = |skip| Work::Ctr { counter: u128::MAX, skip };
        assert_eq!(lengths(ctr(0), 100, 32), [32, 32, 32, 4]);
        assert_eq!(lengths(ctr(5), 100, 32), [27, 32, 32, 9]);
        assert_eq!(lengths(ctr(15), 1, 16), [1]);
        assert_eq!(lengths(ctr(15), 18, 16), [1, 16, 1]);
        assert_eq!(lengths(Work::Ecb(Direction::Encrypt), 96, 64), [64, 32]);
        assert!(lengths(ctr(3), 0, 16).is_empty());
    }

    #[test]
    fn parts_carry_on_where_the_one_before_ends() {
        let mut data: Vec<u8> = (0..96).collect();
        let blocks = |work: Work, data: &mut [u8]| -> Vec<Work> {
            work.cut(Buffers::InPlace(data), 32).into_iter().map(|part| part.work).collect()
        };
        let ctr = |counter, skip| Work::Ctr { counter, skip };
        assert_eq!(blocks(ctr(u128::MAX, 9), &mut data), [ctr(u128::MAX, 9), ctr(1, 0), ctr(3, 0), ctr(5, 0)]);
        let cbc = |first: u8| Work::CbcDecrypt { iv: std::array::from_fn(|i| first + i as u8) };
        assert_eq!(blocks(cbc(200), &mut data), [cbc(200), cbc(16), cbc(48)]);
    }
}
