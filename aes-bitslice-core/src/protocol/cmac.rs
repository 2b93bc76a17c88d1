//! Batches of CMAC messages (SP 800-38B), as described to kernels in memory. All of it is public.
//!
//! # Entry point
//!
//! | parameter | kind | what |
//! |---|---|---|
//! | `in` | start of the data | any alignment; fast where messages start at multiples of four bytes |
//! | `messages` | buffer, aligned to 16 bytes | the table below |
//! | `stride` | u64 | 0, or the distance from each whole tile to the next, where these are alike otherwise: the table then has the first of them, and the tile that is not whole |
//! | `all` | u32 | the number of messages |
//! | `subkeys` | buffer of u32 | K1 and K2, 32 bytes: secret |
//! | `tags` | buffer of u32 | the output for the tags, 16 bytes each, in the order of the table |
//!
//! | table | words | what |
//! |---|---|---|
//! | `messages` | 4 per message | 0, 1: offset of its last block in the data; 2: its blocks; 3: bytes in its last block, 0 to 16 |
//!
//! Messages are in the [order](super::order) of their [blocks](Message::blocks). A tile is [`TILE`] messages. Copies of the last message fill up the last tile.

use super::order::Order;

/// Messages in a tile.
pub const TILE: usize = 256;
/// The maximum length of a message in bytes: blocks are counted in 32 bits.
pub const LONGEST: u64 = 16 * (u32::MAX as u64);

/// A message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The offset of its first byte in the data of all messages.
    pub at: u64,
    /// Its length in bytes, at most [`LONGEST`].
    pub bytes: u64,
}

impl Message {
    /// The number of blocks, of which the last may be shorter; an empty message is one block of padding only (section 6.2).
    pub fn blocks(&self) -> u64 {
        self.bytes.div_ceil(16).max(1)
    }

    /// Bytes before the last block.
    pub fn before_last(&self) -> u64 {
        16 * (self.blocks() - 1)
    }

    fn words(&self) -> [[u8; 4]; 4] {
        let last = self.at + self.before_last();
        let words = [last as u32, (last >> 32) as u32, self.blocks() as u32, (self.bytes - self.before_last()) as u32];
        words.map(u32::to_le_bytes)
    }
}

/// Which messages the table has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The number of messages.
    count: usize,
    /// The distance from each whole tile to the next; 0 if the table has all messages.
    pub stride: u64,
}

impl Listed {
    /// For `count` messages. If all are equally long, each begins `stride` bytes after the one before it; otherwise that is 0.
    pub fn of(count: usize, stride: u64) -> Self {
        let several = count >= 2 * TILE;
        Self { count, stride: stride.checked_mul(TILE as u64).filter(|_| several).unwrap_or(0) }
    }

    /// Words of the table.
    pub fn words(self) -> usize {
        let tiles = if self.stride == 0 { self.count.div_ceil(TILE) } else { 1 + (self.count % TILE).min(1) };
        4 * TILE * tiles
    }

    /// Writes a part of the table of messages, given by their numbers, in this order: starts with entry `from`, and writes as many as fit.
    pub fn write(self, message: impl Fn(usize) -> Message, order: &Order, from: usize, part: &mut [[u8; 4]]) {
        let omitted = if self.stride == 0 { 0 } else { self.count / TILE - 1 };
        for (entry, words) in (from..).zip(part.as_chunks_mut().0) {
            let position = if entry < TILE { entry } else { entry + TILE * omitted };
            *words = message(order.at(position.min(self.count - 1))).words();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_their_table() {
        let message = |at, bytes| Message { at, bytes };
        let all = [message(7, 0), message(1 << 33, 17), message(3, 16), message(0, LONGEST), message(9, 32)];
        let order = Order::longest_first(all.len(), |n| all[n].blocks()).unwrap();
        let listed = Listed::of(all.len(), 0);
        let write = |from, part: &mut [[u8; 4]]| listed.write(|n| all[n], &order, from, part);
        let mut table = vec![[0xff; 4]; listed.words()];
        let (first, second) = table.split_at_mut(4 * 3);
        write(3, second);
        write(0, first);
        let words = |n: usize| [0, 1, 2, 3].map(|i| u32::from_le_bytes(table[4 * n + i]));
        assert_eq!(table.len(), 4 * TILE);
        assert_eq!(words(0), [(LONGEST - 16) as u32, 15, u32::MAX, 16]);
        assert_eq!(words(1), [16, 2, 2, 1]);
        assert_eq!(words(2), [25, 0, 2, 16]);
        assert_eq!(words(3), [7, 0, 1, 0]);
        assert!((4..TILE).all(|n| words(n) == [3, 0, 1, 16]));
        Listed::of(0, 0).write(|_| unreachable!("there is none"), &Order::AS_GIVEN, 0, &mut []);
    }

    #[test]
    fn of_equal_messages_the_first_tile_stands_for_all_whole_ones() {
        let message = |n: usize| Message { at: 20 * n as u64, bytes: 16 };
        for (count, entries) in [(511, 512), (512, 256), (700, 512), (1024, 256)] {
            let listed = Listed::of(count, 20);
            assert_eq!(
                (listed.stride, listed.words()),
                (if count < 512 { 0 } else { 20 * 256 }, 4 * entries),
                "{count}"
            );
            let mut table = vec![[0xff; 4]; listed.words()];
            listed.write(message, &Order::AS_GIVEN, 0, &mut table);
            for (n, entry) in table.chunks(4).enumerate() {
                let last = if n < TILE { n } else { (n + count / TILE * TILE - TILE).min(count - 1) };
                assert_eq!(entry, message(last).words(), "{count}, {n}");
            }
        }
        assert_eq!(Listed::of(1000, u64::MAX).stride, 0);
    }
}
