//! The claim about an entry point that ends a decryption: the data is zeroed where the tags differ, and else stays as it is. Which bits of
//! them differ is known, since the verdict is no secret; what they are is not.

use crate::proof::aes;
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::ghash::field::Element;
use crate::proof::ghash::messages::{MESSAGES, described, table};
use crate::proof::ghash::{bytes_of, plus, unknown};
use crate::proof::kernel::{OUTPUT, Proved};
use crate::proof::launch::Launch;
use crate::proof::memory::{Byte, known, number};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::{Hash, Manifest};

/// Addresses of a hash, of tags, of the tags that are expected, and of verdicts.
const HASH: u64 = buffer(4);
const TAGS: u64 = buffer(6);
const EXPECTED: u64 = buffer(7);
const VERDICTS: u64 = buffer(8);

const ZERO: Byte = [Bit::ZERO; 8];

/// Proves that this many bytes are zeroed if `hash · factor` and the addend differ in bits of the mask, and else are as they were.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove_clear(
    manifest: &Manifest<Hash>,
    ptx: &str,
    bytes: usize,
    difference: [u8; 16],
    mask: [u8; 16],
) -> Result<Proved, String> {
    let mut cells = Cells::new();
    let cells = &mut cells;
    let [hash, factor] = std::array::from_fn(|_| Element::from_block(&aes::unknown(cells)));
    let addend = plus(&bytes_of(hash * factor), difference);
    let data = unknown(cells, bytes);
    let differs = difference.iter().zip(mask).any(|(difference, mask)| difference & mask != 0);
    let expected = if differs { vec![ZERO; bytes] } else { data.clone() };
    let arguments = |argument| {
        Some(match argument {
            Argument::Out => number(OUTPUT + 3, 8),
            Argument::Length => number(bytes as u64, 8),
            Argument::Hash => number(HASH, 8),
            Argument::Factor => bytes_of(factor),
            Argument::Addend => addend.clone(),
            Argument::Mask => mask.map(known).to_vec(),
            _ => return None,
        })
    };
    let entry = manifest.entry(Entry::Clear).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: 2, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: 0 };
    let given = [(HASH, &bytes_of(hash)[..]), (OUTPUT + 3, &data)];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &[("data", OUTPUT + 3, &expected)])? })
}

/// A message of a batch that is decrypted: its bytes, which bits of its tag are not as expected, and how many bytes of it count.
pub type Decrypted = (usize, [u8; 16], u32);

/// Whether a tag is not as expected in the bytes that count, by the bits that are not.
pub(super) fn differs(difference: &[u8; 16], count: u32) -> bool {
    difference[..count as usize].iter().any(|byte| *byte != 0)
}

/// Proves that each message whose tag is not as expected in the bytes that count is zeroed, that all others are as they were, and that
/// verdicts say which.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove_clear_messages(
    manifest: &Manifest<Hash>,
    ptx: &str,
    all: &[Decrypted],
    thread_blocks: u64,
) -> Result<Proved, String> {
    let mut cells = Cells::new();
    let cells = &mut cells;
    let mut messages = described(&all.iter().map(|(bytes, ..)| (*bytes, 0)).collect::<Vec<_>>());
    let data = unknown(cells, all.iter().map(|(bytes, ..)| bytes).sum());
    let tags = unknown(cells, 16 * all.len());
    let (mut expected_tags, mut expected, mut verdicts) = (vec![], data.clone(), vec![]);
    for (n, (bytes, difference, tag_bytes)) in all.iter().enumerate() {
        messages[n].tag_bytes = *tag_bytes;
        expected_tags.extend(plus(&tags[16 * n..][..16], *difference));
        let differs = differs(difference, *tag_bytes);
        if differs {
            expected[messages[n].at as usize..][..*bytes].fill(ZERO);
        }
        verdicts.extend(number(differs.into(), 4));
    }
    let arguments = |argument| {
        Some(match argument {
            Argument::Out => number(OUTPUT + 3, 8),
            Argument::Messages => number(MESSAGES, 8),
            Argument::All => number(all.len() as u64, 4),
            Argument::Tags => number(TAGS, 8),
            Argument::Expected => number(EXPECTED, 8),
            Argument::Verdicts => number(VERDICTS, 8),
            _ => return None,
        })
    };
    let entry = manifest.entry(Entry::ClearMessages).map_err(|e| e.to_string())?;
    let grid = Grid { blocks: thread_blocks, threads: manifest.threads as usize };
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: 0 };
    let described = table(&messages);
    let given = [(OUTPUT + 3, &data[..]), (MESSAGES, &described), (TAGS, &tags), (EXPECTED, &expected_tags)];
    let outputs = [("data", OUTPUT + 3, &expected[..]), ("verdicts", VERDICTS, &verdicts)];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &outputs)? })
}
