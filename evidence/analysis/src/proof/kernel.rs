//! The claim about a kernel, and its proof: a launch on unknown data with unknown round keys writes exactly what the mode's definition
//! gives, bit for bit, and nothing else.
//!
//! Lengths, counters, numbers of units and sizes of a launch are known: the proof is for those of the [`Case`]. Each bit of the data, of
//! each round key and of the IV is unknown. Round keys are taken as independent of each other: what holds for all round keys holds for
//! those that the key schedule produces.

use crate::proof::aes::{self, Block};
use crate::proof::anf::{Bit, Cells};
use crate::proof::context::{Grid, buffer};
use crate::proof::kernel_cells::TILE;
use crate::proof::launch::{Code, Launch};
use crate::proof::memory::{Byte, number};
use crate::proof::mode::{self, Start};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::aes::schedule::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::column_basis::ColumnBasis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::key_source::KeySource;
use aes_bitslice_core::layout::MAX_ROUNDS;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::{Mode, State};

/// Addresses of the input, of the output, and of the blocks before the shares of warps.
pub(crate) const INPUT: u64 = buffer(1);
pub(crate) const OUTPUT: u64 = buffer(2);
const PREVIOUS: u64 = buffer(3);

/// Bytes that a warp works on at a time.
const TILE_BYTES: usize = 16 * TILE;

/// The known part of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The length of the key.
    pub key_bits: KeyBits,
    /// Bytes of data. Whole blocks go to the entry point for these, unless `skip` is not 0 or they are not `aligned`.
    pub bytes: usize,
    /// Bytes of the first block that come before the data, below 16; 0 except in counter modes.
    pub skip: usize,
    /// Whether the data begins at a multiple of 16 bytes. If not, input begins one byte past one, and output three.
    pub aligned: bool,
    /// Thread blocks.
    pub thread_blocks: u64,
    /// Warps in each: at least one, or four for kernels that count in shared memory, and at most as many as the manifest says.
    pub warps: usize,
    /// Where the mode begins.
    pub start: Start,
    /// Whether the output replaces the input.
    pub in_place: bool,
}

/// What a proof compared.
#[derive(Clone, Copy, Debug)]
pub struct Proved {
    /// Bits of the output.
    pub bits: usize,
}

/// Round keys as a kernel takes them: in the order of use, those between the first and the last in the kernel's basis of columns, and for
/// decryption the round keys of the equivalent inverse cipher (FIPS 197, section 5.3.5).
pub fn round_keys(keys: &[Block], direction: Direction, basis: &ColumnBasis) -> Vec<Block> {
    let last = keys.len() - 1;
    let of_round = |round| {
        let is_between = round > 0 && round < last;
        let key = match direction {
            Direction::Encrypt => keys[round],
            Direction::Decrypt if is_between => aes::mix_columns(&keys[last - round], direction),
            Direction::Decrypt => keys[last - round],
        };
        std::array::from_fn(|bit| {
            let row = if is_between { basis.rows()[bit % 32] } else { 1 << (bit % 32) };
            let column = &key[bit / 32 * 32..];
            (0..32).filter(|i| row >> i & 1 == 1).fold(Bit::ZERO, |sum, i| sum ^ column[i])
        })
    };
    (0..=last).map(of_round).collect()
}

/// [Round keys](round_keys) as an argument: room for the largest number of rounds, unknown after the last, and the number of rounds.
pub(crate) fn key_argument(cells: &mut Cells, keys: &[Block], direction: Direction, basis: &ColumnBasis) -> Vec<Byte> {
    let mut bits = round_keys(keys, direction, basis);
    let last = bits.len() - 1;
    bits.resize_with(MAX_ROUNDS + 1, || aes::unknown(cells));
    [bits.as_flattened().as_chunks().0, &number(last as u64, 4)].concat()
}

/// Proves that an entry point of a kernel computes its mode.
///
/// # Errors
/// In words: the first wrong bit, the instruction that cannot be followed, or why there is no such launch.
pub fn prove<'a>(manifest: &Manifest, code: impl Into<Code<'a>>, case: &Case) -> Result<Proved, String> {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let mode = manifest.mode().map_err(|e| words(&e))?;
    if manifest.keys != KeySource::Argument {
        return Err("its round keys do not come with the launch".into());
    }
    let threads = 32 * case.warps;
    if threads > manifest.threads as usize || manifest.tile_blocks as usize != TILE {
        return Err("it is for fewer threads, or tiles of another size".into());
    }
    if case.bytes == 0 {
        return Err("there is nothing to compare".into());
    }
    if case.skip > 0 && mode.state() != State::Counters {
        return Err("only counter modes begin within a block".into());
    }
    let basis = manifest.key_basis().map_err(|e| words(&e))?;
    let tweak_basis = manifest.tweak_key_basis().map_err(|e| words(&e))?;

    let mut bases = vec![manifest.basis().map_err(|e| words(&e))?];
    bases.extend(manifest.tweak_basis.and_then(|rows| Basis::new(rows).ok()));
    let code = code.into();
    let mut cells = Cells::in_bases(&bases);
    let cells = &mut cells;
    let input: Vec<Block> = (0..(case.skip + case.bytes).div_ceil(16)).map(|_| aes::unknown(cells)).collect();
    let iv = aes::unknown(cells);
    let keys = aes::unknown_keys(cells, case.key_bits);
    let tweak_keys = aes::unknown_keys(cells, case.key_bits);
    let given = mode::Given { mode, start: case.start, keys: &keys, tweak_keys: &tweak_keys, iv: &iv };
    let (expected, blocks, stolen) = if mode.has_tweaks() {
        let (blocks, stolen) = case.start.units().blocks(case.bytes as u64);
        (given.of_units(cells, &input.as_flattened()[..8 * case.bytes])?, blocks, stolen)
    } else {
        (given.of_blocks(cells, &input)?.into_flattened(), input.len() as u64, 0)
    };
    given.make_kernel_cells(cells, blocks as usize)?;

    let are_blocks = case.bytes.is_multiple_of(16) && case.start.unit_bytes.is_multiple_of(16);
    let is_whole = case.aligned && case.skip == 0 && are_blocks;
    let entry = &manifest.entries[if is_whole { &Entry::Blocks } else { &Entry::Bytes }];
    let (from, mut to) = (INPUT + u64::from(!case.aligned), OUTPUT + 3 * u64::from(!case.aligned));
    if case.in_place {
        to = from;
    }
    let grid = Grid { blocks: case.thread_blocks, threads };
    let launch = Launch { code, entry, grid, shared_bytes: manifest.shared_bytes };
    let data = |bits: &[Bit]| bits.as_chunks().0[case.skip..][..case.bytes].to_vec();
    let given_data = data(input.as_flattened());
    let given_keys = key_argument(cells, &keys, mode.direction(), &basis);
    let given_tweak_keys = tweak_basis.map(|basis| key_argument(cells, &tweak_keys, Direction::Encrypt, &basis));
    // Equal shares of warps, in whole tiles. In place, the block before each but the first is gathered before the launch.
    let share = TILE_BYTES * case.bytes.div_ceil(TILE_BYTES).div_ceil(case.thread_blocks as usize * case.warps);
    let previous = (share..case.bytes).step_by(share).flat_map(|at| &given_data[at - 16..at]).copied();
    let previous: Vec<Byte> = if case.in_place && mode == Mode::CbcDecrypt { previous.collect() } else { vec![] };
    let arguments = |argument| {
        Some(match argument {
            Argument::In => number(from, 8),
            Argument::Out => number(to, 8),
            Argument::Blocks => number(blocks, 8),
            Argument::Ragged => number(stolen, 4),
            Argument::Length => number(case.bytes as u64, 8),
            Argument::Skip => number(case.skip as u64, 4),
            // The block before share `n`, from 1 on, is `n` strides from there.
            Argument::Previous if case.in_place => number(PREVIOUS - 16, 8),
            Argument::Stride if case.in_place => number(16, 8),
            Argument::Previous => number(from - 16, 8),
            Argument::Stride => number(share as u64, 8),
            Argument::Iv => iv.as_chunks().0.to_vec(),
            Argument::Counter | Argument::FirstUnit => case.start.argument(mode).as_chunks().0.to_vec(),
            Argument::UnitBytes => number(case.start.unit_bytes as u64, 4),
            Argument::Before => number(case.start.before as u64, 4),
            Argument::Keys => given_keys.clone(),
            Argument::TweakKeys => given_tweak_keys.clone()?,
            _ => return None,
        })
    };
    let given = [(from, &given_data[..]), (PREVIOUS, &previous)];
    Ok(Proved { bits: launch.prove(cells, arguments, &given, &[("output", to, &data(&expected))])? })
}
