//! The claim about an entry point for the tags of many messages: each tag is the hash of the additional data, the ciphertext and their
//! lengths, plus the mask of its message (SP 800-38D, section 7.1, steps 4 to 6). Where the messages are and how long is known; the rest
//! is not.

use crate::proof::aes::{self, Block};
use crate::proof::anf::Cells;
use crate::proof::context::{Grid, buffer};
use crate::proof::ghash::field::{Element, blocks_of, ghash};
use crate::proof::ghash::{TABLES, bytes_of, table_bytes, unknown};
use crate::proof::kernel::{INPUT, OUTPUT, Proved};
use crate::proof::launch::Launch;
use crate::proof::memory::{Byte, known, number};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::messages::{Message, words_of};
use aes_bitslice_core::order::Order;

/// Addresses of the messages' descriptions, of their order, of additional data, and of masks.
pub(super) const MESSAGES: u64 = buffer(5);
pub(super) const ORDER: u64 = buffer(6);
pub(super) const AAD: u64 = buffer(7);
pub(super) const MASKS: u64 = buffer(8);

/// The description of messages, one after the other, with these numbers of bytes of data and of additional data.
pub(super) fn described(lengths: &[(usize, usize)]) -> Vec<Message> {
    let (mut at, mut aad_at) = (0, 0);
    let describe = |&(bytes, aad_bytes): &(usize, usize)| {
        let message = Message {
            first: [0; 16],
            at,
            bytes: bytes as u64,
            aad_at,
            aad_bytes: aad_bytes as u32,
            tag_bytes: 16,
            first_run: 0,
        };
        at += bytes as u64;
        aad_at += aad_bytes as u32;
        message
    };
    lengths.iter().map(describe).collect()
}

/// The blocks of a message that are hashed (SP 800-38D, section 7.1, step 5).
pub(super) fn hashed(message: &Message, aad: &[Byte], data: &[Byte]) -> Vec<Block> {
    let of = |all: &[Byte], at: usize, bytes: usize| blocks_of(&all[at..][..bytes], Blocks::AsTheyAre);
    let bits = u128::from(message.aad_bytes) << 67 | u128::from(message.bytes) << 3;
    let parts = [
        of(aad, message.aad_at as usize, message.aad_bytes as usize),
        of(data, message.at as usize, message.bytes as usize),
        vec![aes::known(bits.to_be_bytes())],
    ];
    parts.concat()
}

/// The description as a table.
pub(super) fn table(messages: &[Message]) -> Vec<Byte> {
    messages.iter().flat_map(words_of).flatten().map(known).collect()
}

/// Proves that each message has its tag under one hash key, for messages with these numbers of bytes of data and of additional data.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove_tags(
    manifest: &Manifest<Hash>,
    ptx: &str,
    lengths: &[(usize, usize)],
    thread_blocks: u64,
) -> Result<Proved, String> {
    let shape = manifest.message_shape.ok_or("it has no entry point for many messages")?;
    let mut cells = Cells::new();
    let key = Element::from_block(&aes::unknown(&mut cells));
    let tables = (TABLES, table_bytes(Blocks::AsTheyAre, key, &shape, 1));
    let of_tables = |argument| (argument == Argument::Tables).then(|| number(TABLES, 8));
    prove_messages(manifest, ptx, Entry::HashMessages, cells, lengths, thread_blocks, &|_| key, tables, &of_tables)
}

/// Proves that each message has its tag under a hash key of its own, where `1 << wide` threads share a message.
///
/// # Errors
/// As [`prove_tags`].
pub fn prove_tags_of_jobs(
    manifest: &Manifest<Hash>,
    ptx: &str,
    lengths: &[(usize, usize)],
    wide: u32,
    thread_blocks: u64,
) -> Result<Proved, String> {
    let mut cells = Cells::new();
    let bytes = unknown(&mut cells, 16 * lengths.len());
    let keys: Vec<Element> = blocks_of(&bytes, Blocks::AsTheyAre).iter().map(Element::from_block).collect();
    let of_keys = |argument| match argument {
        Argument::HashKeys => Some(number(TABLES, 8)),
        Argument::Wide => Some(number(wide.into(), 4)),
        _ => None,
    };
    let key = |n: usize| keys[n];
    prove_messages(manifest, ptx, Entry::HashJobs, cells, lengths, thread_blocks, &key, (TABLES, bytes), &of_keys)
}

/// Proves the tags of messages, of which each has a key, at an entry point that also takes these `others`, and has this `table` in memory.
#[expect(clippy::too_many_arguments, reason = "those of the two claims")]
fn prove_messages(
    manifest: &Manifest<Hash>,
    ptx: &str,
    entry: Entry,
    mut cells: Cells,
    lengths: &[(usize, usize)],
    thread_blocks: u64,
    key: &dyn Fn(usize) -> Element,
    (at_table, table_of_keys): (u64, Vec<Byte>),
    others: &dyn Fn(Argument) -> Option<Vec<Byte>>,
) -> Result<Proved, String> {
    let cells = &mut cells;
    let messages = described(lengths);
    let data = unknown(cells, lengths.iter().map(|(bytes, _)| bytes).sum());
    let aad = unknown(cells, lengths.iter().map(|(_, bytes)| bytes).sum());
    let masks = unknown(cells, 16 * lengths.len());

    let mut expected = vec![];
    for (n, (message, mask)) in messages.iter().zip(masks.chunks(16)).enumerate() {
        let mask = Element::from_block(&blocks_of(mask, Blocks::AsTheyAre)[0]);
        expected.extend(bytes_of(ghash(key(n), &hashed(message, &aad, &data)) + mask));
    }

    let order = Order::longest_first(messages.len(), |n| messages[n].hashed_blocks()).expect("few");
    let order: Vec<Byte> = (0..messages.len()).flat_map(|n| number(order.at(n) as u64, 4)).collect();
    let arguments = |argument| {
        Some(match argument {
            Argument::In => number(INPUT, 8),
            Argument::Messages => number(MESSAGES, 8),
            Argument::Order => number(ORDER, 8),
            Argument::All => number(messages.len() as u64, 4),
            Argument::Aad => number(AAD, 8),
            Argument::Masks => number(MASKS, 8),
            Argument::Out => number(OUTPUT, 8),
            other => return others(other),
        })
    };
    let entry = manifest.entry(entry).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: thread_blocks, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: manifest.shared_bytes };
    let described = table(&messages);
    let given = [
        (INPUT, &data[..]),
        (MESSAGES, &described),
        (ORDER, &order),
        (AAD, &aad),
        (MASKS, &masks),
        (at_table, &table_of_keys),
    ];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &[("tags", OUTPUT, &expected)])? })
}
