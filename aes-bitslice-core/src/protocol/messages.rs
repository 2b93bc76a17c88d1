//! Batches of GCM messages (SP 800-38D), as described to kernels in memory: where each is, its first counter block, which of its counters
//! are processed together, and which messages are hashed side by side. All of it is public, except first counter blocks of nonces that are
//! not 12 bytes long: they are computed from the hash key and reveal it.
//!
//! | table | words | what |
//! |---|---|---|
//! | messages | 12 each, and 12 more | see [`manifest`](super::manifest); of the last 12, one counts: the number of all runs |
//! | first messages | 1 per tile of [`TILE`] runs | the message that the tile's first run belongs to |
//! | order | 1 per message | the indices of the messages in the [order](super::order) of their [hashed blocks](Message::hashed_blocks) |

/// Words per message.
pub const MESSAGE_WORDS: usize = 12;
/// Counters per run.
pub const RUN: u64 = 32;
/// Runs per tile.
pub const TILE: usize = 8;
/// Messages that are hashed side by side; a thread block works on this many at a time.
pub const GROUP: u32 = 8;
/// In one launch, a message may be shared by as many groups of four threads as two to the power of this: all of a unit of work.
pub const WIDEST: u32 = 5;
/// The index of the word that holds a message's first run.
const FIRST_RUN: usize = 10;

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// J0, the first counter block (SP 800-38D, section 7.1). Its encryption masks the tag, and the next counters encrypt the data.
    pub first: [u8; 16],
    /// The offset of its first byte in the data of all messages.
    pub at: u64,
    /// Its length in bytes, at most 2^36 - 32.
    pub bytes: u64,
    /// The offset of its additional data in the additional data of all messages.
    pub aad_at: u32,
    /// The length of its additional data in bytes.
    pub aad_bytes: u32,
    /// The number of tag bytes that count.
    pub tag_bytes: u32,
    /// The number of runs of all messages before it.
    pub first_run: u32,
}

/// The number of runs of counters that a message of this many bytes takes: one counter per block, and one for the tag.
#[inline]
pub fn runs_of(bytes: u64) -> u64 {
    (bytes.div_ceil(16) + 1).div_ceil(RUN)
}

impl Message {
    /// The number of runs of counters that it takes.
    #[inline]
    pub fn runs(&self) -> u64 {
        runs_of(self.bytes)
    }

    /// The number of blocks that are hashed, without the length block.
    pub fn hashed_blocks(&self) -> u64 {
        u64::from(self.aad_bytes).div_ceil(16) + self.bytes.div_ceil(16)
    }
}

/// The logarithm of the number of groups of four threads that share a message in one launch, for which a batch takes the least time: of `count`
/// messages, of which the longest has `longest` hashed blocks, and all together some 32 `runs`, on a device that works on `units` units of 32 groups
/// at a time. More groups share out a message more evenly, and leave more of the last step unused.
pub fn groups(count: u64, longest: u64, runs: u64, units: u64) -> u32 {
    // The time of the tags in that of a step of 32 blocks; and that of the group with the longest message, or of all groups together.
    const TAGS: f64 = 0.2;
    let time = |wide: u32| {
        let step = 32 << wide;
        let shared = (count << wide).div_ceil(32) as f64 / units as f64;
        let is_equal = longest.div_ceil(32) * count <= runs + count;
        let (rounds, steps) = match is_equal {
            true => (shared.ceil(), longest.div_ceil(step) as f64),
            false => (shared, runs as f64 / count as f64 / f64::from(1 << wide) + 0.5),
        };
        (rounds * (steps + TAGS)).max(longest.div_ceil(step) as f64 + TAGS)
    };
    (0..=WIDEST).min_by(|one, other| time(*one).total_cmp(&time(*other))).unwrap_or_default()
}

/// The words of a message.
#[inline]
pub fn words_of(message: &Message) -> [[u8; 4]; MESSAGE_WORDS] {
    let word = |i: usize| message.first.as_chunks().0[i];
    let [at, bytes] = [message.at, message.bytes].map(|x| [x as u32, (x >> 32) as u32]);
    [
        u32::from_le_bytes(word(0)),
        u32::from_le_bytes(word(1)),
        u32::from_le_bytes(word(2)),
        u32::from_be_bytes(word(3)),
        at[0],
        at[1],
        bytes[0],
        bytes[1],
        message.aad_at,
        message.aad_bytes,
        message.first_run,
        message.tag_bytes,
    ]
    .map(u32::to_le_bytes)
}

/// The words after the last message; `runs` is the number of all runs.
pub fn words_of_end(runs: u32) -> [[u8; 4]; MESSAGE_WORDS] {
    std::array::from_fn(|i| if i == FIRST_RUN { runs.to_le_bytes() } else { [0; 4] })
}

/// The tiles whose first run belongs to a message.
#[inline]
pub fn tiles_that_begin_in(message: &Message) -> std::ops::Range<usize> {
    let end = u64::from(message.first_run) + message.runs();
    (message.first_run as usize).div_ceil(TILE)..(end as usize).div_ceil(TILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_shared_by_more_groups() {
        let of_equal = |count: u64, blocks: u64| groups(count, blocks, count * (blocks + 1).div_ceil(32), 528);
        // 17 units, or more: one group for each message would leave most of the device idle.
        assert_eq!([of_equal(1, 1 << 20), of_equal(10, 100), of_equal(4096, 1024)], [5, 2, 3]);
        assert_eq!([of_equal(44_739, 94), of_equal(1 << 18, 16), of_equal(1 << 20, 64)], [0; 3]);
        // One long message among many short ones.
        assert_eq!(groups(10_000, 1 << 16, 12_000, 528), 5);
    }

    #[test]
    fn messages_in_their_tables() {
        let first: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message =
            |at, bytes, first_run| Message { first, at, bytes, aad_at: 5, aad_bytes: 17, tag_bytes: 16, first_run };
        // 31 blocks and the tag's counter make a run.
        let all = [message(0, 0, 0), message(1 << 33, 16 * 31, 1), message(7, 16 * (31 + 256), 2), message(9, 64, 11)];
        for pair in all.windows(2) {
            assert_eq!(u64::from(pair[0].first_run) + pair[0].runs(), u64::from(pair[1].first_run));
        }
        assert_eq!(all.each_ref().map(tiles_that_begin_in), [0..1, 1..1, 1..2, 2..2]);
        assert_eq!(
            words_of(&all[1]).map(u32::from_le_bytes),
            [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0c0d_0e0f, 0, 2, 496, 0, 5, 17, 1, 16]
        );
        assert_eq!(words_of_end(12).map(u32::from_le_bytes), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 0]);
        assert_eq!(all[2].hashed_blocks(), 2 + 31 + 256);
    }
}
