//! The claims about a hash kernel, and their proofs: whatever the hash key and the data are, a launch writes what its manifest says
//! ([`Hash`](struct@Hash)), and nothing else.
//!
//! An element of GF(2^128) is 128 formal bits, which are polynomials in the bits of the hash key and of the data. The tables are made for
//! the unknown hash key by [`tables`], the function that makes them for a known one.
//!
//! | file | idea |
//! |---|---|
//! | [`field`] | GF(2^128) and GHASH by their definitions, on formal bits |
//! | [`messages`] | the tags of many messages |
//! | [`clear`] | the end of a decryption |
//! | [`gcm`], [`gcm_batch`] | GCM in one launch, of one message and of many |
//! | [`described`] | messages that arrays describe: no secrets, and atomic operations in any order |
//!
//! Here is the hash of one message: the launch adds `hash · factor + addend` to its output, whatever the factor, the addend and the output
//! before are. So launches for parts of a message, each with its power of the hash key as a factor, add up to the hash of the message.

pub mod clear;
pub mod described;
pub mod field;
pub mod gcm;
pub mod gcm_batch;
pub mod messages;

use crate::proof::aes;
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::kernel::{INPUT, OUTPUT, Proved};
use crate::proof::launch::Launch;
use crate::proof::memory::{Byte, number};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::ghash::{Blocks, Shape, tables};
use aes_bitslice_core::manifest::{Hash, Manifest};
use field::{Element, blocks_of, ghash};

/// The address of the tables.
const TABLES: u64 = buffer(4);

/// The bytes of the tables of a hash key.
fn table_bytes(blocks: Blocks, key: Element, shape: &Shape, units: u32) -> Vec<Byte> {
    tables(blocks, key, shape, units).iter().flat_map(|word| word.bytes().to_vec()).collect()
}

fn unknown(cells: &mut Cells, bytes: usize) -> Vec<Byte> {
    (0..bytes).map(|_| std::array::from_fn(|_| cells.unknown())).collect()
}

/// The bytes of the block that represents an element.
fn bytes_of(element: Element) -> Vec<Byte> {
    element.to_block().as_chunks().0.to_vec()
}

/// A block, and the bits of a known one.
fn plus(bytes: &[Byte], known: [u8; 16]) -> Vec<Byte> {
    let sum = |(byte, known): (&Byte, u8)| std::array::from_fn(|i| byte[i] ^ Bit::constant(known >> i & 1 == 1));
    bytes.iter().zip(known).map(sum).collect()
}

/// The known part of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// In which order the bytes of a block are read.
    pub blocks: Blocks,
    /// Bytes of the message, at least 1.
    pub bytes: usize,
    /// For the entry point for any alignment: how far past a multiple of 16 the message begins.
    pub offset: Option<u64>,
    /// The number of units.
    pub units: u32,
}

/// Proves that an entry point of a kernel computes the hash of a message.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove(manifest: &Manifest<Hash>, ptx: &str, case: &Case) -> Result<Proved, String> {
    if case.bytes == 0 || case.units == 0 {
        return Err("there is no message, or no unit".into());
    }
    let mut cells = Cells::new();
    let cells = &mut cells;
    let mut element = || Element::from_block(&aes::unknown(cells));
    let (key, factor, addend, before) = (element(), element(), element(), element());
    let message = unknown(cells, case.bytes);
    let expected = ghash(key, &blocks_of(&message, case.blocks)) * factor + addend + before;

    let of_tables = table_bytes(case.blocks, key, &manifest.shape, case.units);
    let tiles = manifest.shape.tiles(case.bytes as u64);
    let grid = Grid { blocks: tiles.min(case.units.into()), threads: manifest.threads as usize };
    let entry = if case.offset.is_some() { Entry::HashBytes } else { Entry::Hash };
    let entry = manifest.entry(entry).map_err(|e| e.to_string())?;
    let launch = Launch { code: ptx.into(), entry, grid, shared_bytes: manifest.shared_bytes };
    let from = INPUT + case.offset.unwrap_or(0);
    let arguments = |argument| {
        Some(match argument {
            Argument::In => number(from, 8),
            Argument::Length => number(case.bytes as u64, 8),
            Argument::Tables => number(TABLES, 8),
            Argument::Units => number(case.units.into(), 4),
            Argument::Out => number(OUTPUT, 8),
            Argument::Factor => bytes_of(factor),
            Argument::Addend => bytes_of(addend),
            _ => return None,
        })
    };
    let given = [(from, &message[..]), (TABLES, &of_tables), (OUTPUT, &bytes_of(before))];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &[("hash", OUTPUT, &bytes_of(expected))])? })
}
