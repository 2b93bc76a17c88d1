//! The order in which messages of a batch are processed side by side: those with the most blocks first, so that neighbours are about equally
//! long. Messages with equally many blocks stay in the order in which they were given.

use crate::memory::{NoMemory, filled};

/// Bits of a number of blocks by which messages are sorted at a time.
const DIGIT: u32 = 11;

/// An order of messages.
#[derive(Clone, Debug)]
pub struct Order {
    /// Their numbers; `None` if they are in order as they were given.
    numbers: Option<Vec<u32>>,
}

impl Order {
    /// Messages that are equally long.
    pub const AS_GIVEN: Self = Self { numbers: None };

    /// The order of `count` messages, at most 2^32, of which each has this number of blocks, the longest first.
    pub fn longest_first(count: usize, blocks: impl Fn(usize) -> u64) -> Result<Self, NoMemory> {
        if (0..count).map(&blocks).is_sorted_by(|one, next| one >= next) {
            return Ok(Self::AS_GIVEN);
        }
        let (least, most) = (0..count).map(&blocks).fold((u64::MAX, 0), |(a, b), n| (a.min(n), b.max(n)));
        // From the lowest digit to the highest: what is in order by lower digits stays so among equal ones.
        let mut order = Self::AS_GIVEN;
        for shift in (0..u64::BITS - (most - least).leading_zeros()).step_by(DIGIT as usize) {
            let digit = |n: usize| ((most - blocks(n)) >> shift) as usize % (1 << DIGIT);
            let mut places = [0_usize; 1 << DIGIT];
            (0..count).for_each(|n| places[digit(n)] += 1);
            let mut begin = 0;
            places.iter_mut().for_each(|place| begin += std::mem::replace(place, begin));
            let mut next = filled(0, count)?;
            for n in (0..count).map(|position| order.at(position)) {
                let place = &mut places[digit(n)];
                next[*place] = n as u32;
                *place += 1;
            }
            order = Self { numbers: Some(next) };
        }
        Ok(order)
    }

    /// The number of the message at this position.
    #[inline]
    pub fn at(&self, position: usize) -> usize {
        self.numbers.as_ref().map_or(position, |numbers| numbers[position] as usize)
    }

    /// Whether messages are in order as they were given.
    pub fn is_as_given(&self) -> bool {
        self.numbers.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a stable sort by comparison, with numbers of blocks of one digit and of several, equal ones, and ones that are in order.
    #[test]
    fn the_longest_are_first_and_equal_ones_as_given() {
        let mixed = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let lengths: [&dyn Fn(u64) -> u64; 7] = [
            &|n| mixed(n) >> 61,
            &|n| mixed(n) >> 53,
            &|n| mixed(n) >> 40,
            &|n| mixed(n) >> 32,
            &|n| 5_000_000 + n % 3,
            &|n| 9_000 - n,
            &|_| 7,
        ];
        for (i, length) in lengths.iter().enumerate() {
            // Miri takes too long for the last.
            for count in [0, 1, 2, 3, 100].into_iter().chain((!cfg!(miri)).then_some(5000)) {
                let order = Order::longest_first(count, |n| length(n as u64)).unwrap();
                let mut expected: Vec<usize> = (0..count).collect();
                expected.sort_by_key(|&n| std::cmp::Reverse(length(n as u64)));
                assert_eq!((0..count).map(|n| order.at(n)).collect::<Vec<_>>(), expected, "{i}, {count}");
                assert_eq!(order.is_as_given(), expected.is_sorted(), "{i}, {count}");
            }
        }
    }
}
