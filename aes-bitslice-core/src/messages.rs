//! Many messages of GCM (SP 800-38D), as kernels have them described in memory: where each lies, its first counter block, which counters
//! of it are taken together, and which messages are hashed side by side. All of it is public, but for
//! first counter blocks of nonces that have not 12 bytes: they are made of the hash key, and tell it.
//!
//! | table | words | what |
//! |---|---|---|
//! | messages | 12 a message | see [`hash_manifest`](crate::hash_manifest) |
//! | runs | 1 a run of 32 counters | the number of its message |
//! | order | 1 a message | the numbers of the messages, the longest first, so that neighbours are about equally long |

/// Words of a message.
pub const MESSAGE_WORDS: usize = 12;
/// Counters of a run.
pub const RUN: u64 = 32;

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

/// Writes all three tables, of little-endian words: [`MESSAGE_WORDS`] a message, a word for each of all runs, and a word a message.
///
/// # Panics
/// If a table has another number of words.
pub fn write_tables(all: &[Message], messages: &mut [[u8; 4]], runs: &mut [[u8; 4]], order: &mut [[u8; 4]]) {
    let (words, rest) = messages.as_chunks_mut::<MESSAGE_WORDS>();
    assert!(rest.is_empty() && words.len() == all.len() && order.len() == all.len(), "a place for each message");
    let mut run = 0;
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
        let end = run + message.runs() as usize;
        runs[run..end].fill((n as u32).to_le_bytes());
        run = end;
    }
    assert_eq!(run, runs.len(), "a word for each run");
    order.iter_mut().enumerate().for_each(|(n, number)| *number = (n as u32).to_le_bytes());
    // Which costs nothing where all are equally long.
    order.sort_by_key(|&n| std::cmp::Reverse(all[u32::from_le_bytes(n) as usize].hashed_blocks()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_their_tables() {
        let first: [u8; 16] = std::array::from_fn(|i| i as u8);
        let message = |at, bytes| Message { first, at, bytes, aad_at: 5, aad_bytes: 17, tag_bytes: 16 };
        // 31 blocks and the tag's counter are a run.
        let all = [message(0, 0), message(1 << 33, 16 * 31), message(7, 16 * 31 + 1), message(9, 64)];
        let (mut messages, mut runs, mut order) = (vec![[0; 4]; 48], vec![[9; 4]; 5], vec![[0; 4]; 4]);
        write_tables(&all, &mut messages, &mut runs, &mut order);
        let [messages, runs, order] =
            [messages, runs, order].map(|table| table.into_iter().map(u32::from_le_bytes).collect::<Vec<_>>());
        assert_eq!((runs, order), (vec![0, 1, 2, 2, 3], vec![2, 1, 3, 0]));
        assert_eq!(messages[12..24], [0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0c0d_0e0f, 0, 2, 496, 0, 5, 17, 1, 16]);
        assert_eq!((messages[34], messages[46], all[2].hashed_blocks()), (2, 4, 2 + 32));
    }
}
