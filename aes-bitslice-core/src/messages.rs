//! Many messages of GCM (SP 800-38D), as kernels have them described in memory: where each lies, its first counter block, which counters
//! of it are taken together, and which messages are hashed side by side. All of it is public, but for
//! first counter blocks of nonces that have not 12 bytes: they are made of the hash key, and tell it.
//!
//! | table | words | what |
//! |---|---|---|
//! | messages | 12 a message, and 12 more | see [`hash_manifest`](crate::hash_manifest); of the last 12, one counts: the number of all runs |
//! | first messages | 1 a tile of [`TILE`] runs | the message of its first run |
//! | order | 1 a message | the numbers of the messages, the longest first, so that neighbours are about equally long |

/// Words of a message.
pub const MESSAGE_WORDS: usize = 12;
/// Counters of a run.
pub const RUN: u64 = 32;
/// Runs of a tile.
pub const TILE: usize = 8;
/// The word of a message that has its first run.
const FIRST_RUN: usize = 10;

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// J0, the first counter block (SP 800-38D, section 7.1). Its cipher hides the tag, and the next counters meet the data.
    pub first: [u8; 16],
    /// The first byte in the data of all messages.
    pub at: u64,
    /// Bytes, at most 2^36 - 32.
    pub bytes: u64,
    /// The first byte of its additional data, in that of all messages.
    pub aad_at: u32,
    /// Bytes of additional data.
    pub aad_bytes: u32,
    /// Bytes of the tag that count.
    pub tag_bytes: u32,
}

impl Message {
    /// Runs of counters that it takes: that of the tag is one more than the blocks.
    pub fn runs(&self) -> u64 {
        (self.bytes.div_ceil(16) + 1).div_ceil(RUN)
    }

    /// Blocks that are hashed, without the lengths.
    pub fn hashed_blocks(&self) -> u64 {
        u64::from(self.aad_bytes).div_ceil(16) + self.bytes.div_ceil(16)
    }
}

/// The tables as they lie in memory, of little-endian words.
pub struct Tables<'a> {
    /// [`MESSAGE_WORDS`] a message, and as many more.
    pub messages: &'a mut [[u8; 4]],
    /// A word a tile.
    pub first_messages: &'a mut [[u8; 4]],
    /// A word a message.
    pub order: &'a mut [[u8; 4]],
}

impl Tables<'_> {
    /// Describes messages.
    ///
    /// # Panics
    /// If a table has another number of words.
    pub fn write(self, all: &[Message]) {
        let (words, rest) = self.messages.as_chunks_mut::<MESSAGE_WORDS>();
        let (end, words) = words.split_last_mut().expect("one more than messages");
        let tables = (rest.len(), words.len(), self.order.len());
        assert_eq!(tables, (0, all.len(), all.len()), "a place for each message");
        let (mut run, mut tiles) = (0, 0);
        for (n, (message, words)) in all.iter().zip(words).enumerate() {
            let word = |i: usize| message.first.as_chunks().0[i];
            let [at, bytes] = [message.at, message.bytes].map(|x| [x as u32, (x >> 32) as u32]);
            *words = [
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
                run as u32,
                message.tag_bytes,
            ]
            .map(u32::to_le_bytes);
            run += message.runs() as usize;
            let tiles_until = run.div_ceil(TILE);
            self.first_messages[tiles..tiles_until].fill((n as u32).to_le_bytes());
            tiles = tiles_until;
        }
        assert_eq!(tiles, self.first_messages.len(), "a word for each tile");
        *end = [[0; 4]; MESSAGE_WORDS];
        end[FIRST_RUN] = (run as u32).to_le_bytes();
        self.order.iter_mut().enumerate().for_each(|(n, number)| *number = (n as u32).to_le_bytes());
        // Which costs nothing where all are equally long.
        self.order.sort_by_key(|&n| std::cmp::Reverse(all[u32::from_le_bytes(n) as usize].hashed_blocks()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_their_tables() {
        let first: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message = |at, bytes| Message { first, at, bytes, aad_at: 5, aad_bytes: 17, tag_bytes: 16 };
        // 31 blocks and the tag's counter are a run.
        let all = [message(0, 0), message(1 << 33, 16 * 31), message(7, 16 * 31 + 16 * 32 * 8), message(9, 64)];
        let (mut messages, mut first_messages, mut order) = (vec![[9; 4]; 60], vec![[9; 4]; 2], vec![[0; 4]; 4]);
        let tables = Tables { messages: &mut messages, first_messages: &mut first_messages, order: &mut order };
        tables.write(&all);
        let [messages, first_messages, order] = [messages, first_messages, order]
            .map(|table| table.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>());
        assert_eq!((first_messages, order), (vec![0, 2], vec![2, 1, 3, 0]));
        assert_eq!(messages[12..24], [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0c0d_0e0f, 0, 2, 496, 0, 5, 17, 1, 16]);
        assert_eq!((messages[34], messages[46], messages[58]), (2, 11, 12));
        assert_eq!(messages[48..58], [0; 10]);
        assert_eq!(all[2].hashed_blocks(), 2 + 31 + 256);
    }
}
