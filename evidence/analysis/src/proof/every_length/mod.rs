//! The claim about a mode for every length, counter, address and number of thread blocks, by induction over what a warp does.
//!
//! All numbers of a launch are unknown: the number of blocks of data, the counter, the addresses, the index of the thread block and how many
//! there are. A turn of the kernel's inner loop is a tile. In counter modes it is within another loop: a turn of that, a *run*, makes tables for
//! the tiles whose counters share all but their lowest 32 bits; in other modes a share of tiles is one run. Each loop is cut at its head: what it
//! changes is forgotten there, except for what it hands on, which becomes any that the invariant allows; and a turn must keep the invariant.
//!
//! | cut | invariant |
//! |---|---|
//! | run | `from` is any tile below `to`, the end of the share; the planes of the round keys are in shared memory |
//! | tile | `tile` is any with `from <= tile < end`, `end <= to`, and no tile before `end` begins another run; the tables are there; registers that a turn is handed have addresses that go along with the tile, and words of the tile or of the block before, which were read early |
//!
//! Data is a whole number of pieces: of blocks, or, in counter modes and of any alignment, of bytes, the first of which may be any byte of a
//! block. A turn of the inner loop must write, for the pieces of the tile that exist, and no others, the mode's output, and go on with the tile
//! that the warp takes next: the next number of an atomic counter that began with `from` plus the number of warps, or in CBC, where each warp
//! has a share of its own, the tile after this. So every tile is taken once. It reads from these tiles only, and from its own tile nothing after
//! that is written. Outside the inner loop nothing is written in device memory, nor read, except for the first tile and the block before a
//! share. Each access is at a multiple of its bytes. A warp that leaves a run goes on with `end`, or ends if that is `to`.
//!
//! | module | idea |
//! |---|---|
//! | [`counters`], `chain`, [`units`], [`ends`] | what is special to counters, to CBC, to XTS, and to XTS where ciphertext is stolen |
//! | `shares` | who takes which tiles |
//! | `data` | what a tile may access, and must write |
//! | `walk`, `turns`, `stretches` | ways between cuts, and what is proved of them; in XTS, where a share is in stretches of tiles |
//!
//! # Arguments on paper
//!
//! - Shares: thread block `b` of `n` begins at `b q + min(b, r)`, where `q` and `r` are the quotient and the rest of all tiles divided by `n`,
//!   and ends `q` tiles later, or one more if `b < r`. The kernel's numbers are compared to these. So each share begins where the one before
//!   ends, the first at 0, and the last ends with all tiles, of which there are fewer than 2^32 - 64. In CBC, warp `w` of `n` has the tiles from
//!   `w q` to `w q + q` that exist, where `q` is all tiles divided by `n`, rounded up: `n q` is below all tiles plus `n`.
//! - The cases of carries are all: see [`Carries`]. Every tile from a run's first on is taken: the atomic counter gives every number once, and
//!   a warp ends only after a number that is not below `end`.
//! - Warps meet between tiles of one run in shared memory only, where each writes to bytes of its own (the caller compares those of all
//!   warps: [`Proved::shared`]), and reads these and the tables, which no tile changes.
//!
//! # Assumptions
//!
//! - The data lies in at most [`MOST_BLOCKS`] blocks and has at least one piece. Addresses are at least 2^16 and at most 2^63, so
//!   that no buffer wraps, and are multiples of 4 bytes where the entry point is for aligned data. The output is the input's buffer or does not
//!   overlap it.
//! - In CBC, all tiles and the warps of all thread blocks are fewer than 2^32, and the ciphertext block before a warp's share, except the first,
//!   is where the arguments `previous` and `stride` say, in memory that is not written.
//! - Of a turn of a loop that follows another, only one way is followed, to see whether barriers order the accesses of both.
//! - A loop of statements that do nothing, on which the way is not known, ends.
//! - In XTS, units have 2^20 blocks at most, and fewer than a unit has come before the data; the number of warps is a power of two. Units have
//!   whole blocks, or a stretch is one of those that are enumerated ([`ends`]).
//! - The entry point, the blocks of a unit, the block of one with which a tile begins, the number of warps, the length of the key, the warp that is followed and the case of carries are known, and enumerated by the caller.

mod chain;
pub mod counters;
mod data;
pub mod ends;
mod shares;
mod stretches;
mod turns;
pub mod units;
mod walk;

use crate::proof::accesses::Symbolic;
use crate::proof::aes::{self, Block};
use crate::proof::anf::Cells;
use crate::proof::context::Grid;
use crate::proof::every_length::chain::Chain;
use crate::proof::every_length::counters::{Carries, Counters};
use crate::proof::every_length::data::{Data, Pieces, Tiles};
use crate::proof::every_length::ends::{Ends, Stretch};
use crate::proof::every_length::shares::{Owner, Shares};
use crate::proof::every_length::units::{Begin, Place, Units};
use crate::proof::every_length::walk::{Cut, Proof};
use crate::proof::form::{Form, Unknown, Unknowns};
use crate::proof::kernel::key_argument;
use crate::proof::kernel_cells::TILE;
use crate::proof::loops::{Loop, live};
use crate::proof::machine::Machine;
use crate::proof::memory::number;
use crate::proof::mode::{Given, Start};
use crate::proof::order::WARP;
use crate::ptx::Program;
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::aes::schedule::KeyBits;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::basis::Basis;
use aes_bitslice_core::entry::Entry;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use std::collections::{BTreeMap, BTreeSet};

/// The most blocks of a launch: the numbers of all tiles, and of as many more as there are warps, fit into 32 bits.
pub const MOST_BLOCKS: u64 = (1 << 40) - (1 << 15);

/// What is known of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The entry point: for whole blocks that are aligned, or at any alignment.
    pub entry: Entry,
    /// The length of the key.
    pub key_bits: KeyBits,
    /// Warps of a thread block.
    pub warps: usize,
    /// The warp that is followed.
    pub warp: usize,
    /// What carries, in counter modes.
    pub carries: Option<Carries>,
    /// What is known of the units, in XTS.
    pub place: Option<Place>,
    /// What is known of a stretch, in XTS where ciphertext is stolen.
    pub ends: Option<Ends>,
}

/// What a proof looked at.
#[derive(Clone, Debug, Default)]
pub struct Proved {
    /// Ways through the kernel between cuts.
    pub ways: usize,
    /// Ways of a turn that write a tile.
    pub tiles: usize,
    /// The addresses of the bytes of shared memory that the warp writes during its tiles.
    pub shared: BTreeSet<u64>,
}

/// The address of a buffer, and the unknown that it is.
fn buffer(unknowns: &mut Unknowns) -> (Form, Unknown) {
    (unknowns.number(1 << 16, 1 << 63), unknowns.count() - 1)
}

/// Proves that a kernel computes its mode for every length, counter, number of thread blocks and address.
///
/// # Errors
/// In words: what is not as the claim says, or the instruction that cannot be followed.
pub fn prove(manifest: &Manifest, ptx: &str, case: &Case) -> Result<Proved, String> {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let mode = manifest.mode().map_err(|e| words(&e))?;
    let entry = manifest.entry(case.entry).map_err(|e| words(&e))?;
    let basis = manifest.key_basis().map_err(|e| words(&e))?;
    let tweak_basis = manifest.tweak_key_basis().map_err(|e| words(&e))?;
    let mut bases = vec![manifest.basis().map_err(|e| words(&e))?];
    bases.extend(manifest.tweak_basis.and_then(|rows| Basis::new(rows).ok()));
    let mut cells = Cells::in_bases(&bases);
    let [keys, tweak_keys] = [0, 1].map(|_| aes::unknown_keys(&mut cells, case.key_bits));
    let given_tweak_keys = tweak_basis.map(|basis| key_argument(&mut cells, &tweak_keys, Direction::Encrypt, &basis));
    let given_keys = key_argument(&mut cells, &keys, mode.direction(), &basis);
    let program = Program::read(ptx)?;
    let threads = WARP * case.warps;
    if threads > manifest.threads as usize || case.warp >= case.warps || manifest.tile_blocks as usize != TILE {
        return Err("it is for fewer threads, or tiles of another size".into());
    }
    let grid = Grid { blocks: 1, threads };
    let mut machine = Machine::new(&program, &entry.name, grid, manifest.shared_bytes.into(), &mut cells)?;

    // What a tile, of which some blocks may not exist, and the block before it must become.
    let context = &mut machine.context;
    let input: Vec<Block> = (0..TILE).map(|_| aes::unknown(context.cells)).collect();
    let before = aes::unknown(context.cells);
    let (mut units, mut stretch) = (None, None);
    let ragged = case.ends.map_or(0, |ends| ends.ragged);
    let (tiles, counter, output) = match mode {
        Mode::Ctr | Mode::CtrLe32 | Mode::Keystream => {
            let carries = case.carries.ok_or("a counter carries somehow")?;
            let Counters { words, tiles, stream } = Counters::new(context, mode, &keys, carries)?;
            let sums = || stream.iter().zip(&input).map(|(stream, block)| aes::sum(stream, block)).collect();
            (tiles, words, if mode == Mode::Keystream { stream } else { sums() })
        }
        Mode::EcbEncrypt | Mode::EcbDecrypt | Mode::Prg | Mode::CbcDecrypt => {
            let start = Start { number: 0, unit_bytes: 16, before: 0 };
            let given = Given { mode, start, keys: &keys, tweak_keys: &[], iv: &before };
            let output = given.of_blocks(context.cells, &input)?;
            (Tiles::of_data(&mut context.unknowns), vec![], output)
        }
        Mode::XtsEncrypt | Mode::XtsDecrypt => {
            let place = case.place.ok_or("units have some number of blocks")?;
            let turns_of = Some(case.entry).filter(|_| case.ends.is_none());
            let units =
                units.insert(Units::new(context, [&keys, &tweak_keys], mode.direction(), place, turns_of, &input)?);
            if let Some(ends) = case.ends {
                let start = Start { number: 0, unit_bytes: 16, before: 0 };
                let given = Given { mode, start, keys: &keys, tweak_keys: &tweak_keys, iv: &before };
                stretch = Some(Stretch::new(context, &given, units, ends)?);
            }
            (Tiles::of_data(&mut context.unknowns), units.first.to_vec(), vec![])
        }
        other => return Err(format!("{other} has no proof for every length")),
    };

    // The numbers of the launch.
    let unknowns = &mut context.unknowns;
    let one = Form::constant(1);
    let has_bytes = entry.parameters.iter().any(|parameter| parameter.name == Argument::Length);
    let pieces = if has_bytes { Pieces::bytes(unknowns) } else { Pieces::blocks(unknowns) };
    let blocks = pieces.in_blocks(unknowns);
    let ((input_at, input_buffer), (output_at, output_buffer)) = (buffer(unknowns), buffer(unknowns));
    let thread_block = unknowns.number(0, (1 << 31) - 2);
    let thread_blocks = unknowns.number(1, (1 << 31) - 1);
    unknowns.assume(thread_blocks.plus(-1, &thread_block).plus(-1, &one));
    let to = unknowns.number(1, (1 << 32) - 64);
    let run_end = if tiles.next_run.is_some() { unknowns.number(1, (1 << 32) - 64) } else { to.clone() };
    // Kernels compute the first tile that has no last block, which is known of the launch then; and how many tiles there are.
    let there = tiles.skipped.plus(1, &blocks);
    unknowns.shifted(&there, 8);
    let all = unknowns.shifted(&there.plus(1, &Form::constant(255)), 8);
    let owner = if mode == Mode::CbcDecrypt { Owner::Warp } else { Owner::ThreadBlock };
    let shares = Shares { owner, all, thread_block, thread_blocks, warps: case.warps };
    let aligned = if case.entry == Entry::Bytes { 1 } else { 4 };
    let mut buffers = BTreeMap::from([input_buffer, output_buffer].map(|buffer| (buffer, aligned)));
    if let Some(units) = units.as_ref().filter(|_| case.entry == Entry::Bytes) {
        // Whether both addresses and the bytes of a unit are multiples of 4.
        let bytes = (16 * units.place.blocks + ragged) as i128;
        let both = unknowns.combined([&input_at, &output_at], 0, 64);
        let all = unknowns.combined([&both, &Form::constant(bytes)], bytes, 64);
        let lowest = unknowns.integer(&all, 2);
        unknowns.assume(lowest.plus(-1, &Form::constant(bytes % 4)));
    }
    let mut chained = None;
    if owner == Owner::Warp {
        let all_warps = shares.thread_blocks.times(case.warps as i128);
        unknowns.assume(Form::constant(u32::MAX.into()).plus(-1, &shares.all).plus(-1, &all_warps));
        let (previous_at, previous) = buffer(unknowns);
        let stride = unknowns.number(0, 1 << 62);
        let [iv, before] = [0, 1].map(|_| aes::unknown(context.cells));
        buffers.insert(previous, 1);
        chained = Some((previous_at, Chain { previous, stride, iv, before }));
    }
    let of_launch = context.unknowns.facts();

    // What the launch is given.
    let data = Data { input: input_buffer, output: output_buffer, pieces, tiles };
    let live = live(machine.function);
    let grid = [&shares.thread_block, &shares.thread_blocks].map(Form::clone);
    let mut symbolic = Symbolic::new(grid, buffers, live.clone());
    symbolic.words.extend(units.iter_mut().flat_map(|units| std::mem::take(&mut units.words)));
    let before_data = units.as_ref().map(|units| units.before.clone()).unwrap_or_default();
    context.symbolic = Some(symbolic);
    for (n, parameter) in entry.parameters.iter().enumerate() {
        let function = machine.function;
        match (parameter.name, &chained) {
            (Argument::In, _) => machine.context.number(function, n, 0, 8, input_at.clone()),
            (Argument::Out, _) => machine.context.number(function, n, 0, 8, output_at.clone()),
            (Argument::Blocks | Argument::Length, _) => {
                machine.context.number(function, n, 0, 8, data.pieces.count.clone())
            }
            (Argument::Ragged, _) => match &stretch {
                Some(stretch) => machine.context.number(function, n, 0, 4, stretch.ragged.clone()),
                // Units are whole blocks.
                None => machine.parameter(n, &number(0, 4))?,
            },
            (Argument::Skip, _) => machine.context.number(function, n, 0, 4, data.pieces.skipped.clone()),
            (Argument::Previous, Some((at, _))) => machine.context.number(function, n, 0, 8, at.clone()),
            (Argument::Stride, Some((_, chain))) => machine.context.number(function, n, 0, 8, chain.stride.clone()),
            (Argument::Iv, Some((_, chain))) => machine.parameter(n, chain.iv.as_chunks().0)?,
            (Argument::Counter | Argument::FirstUnit, _) => {
                for (at, word) in (0..).step_by(4).zip(&counter) {
                    machine.context.number(function, n, at, 4, word.clone());
                }
            }
            (Argument::Keys, _) => machine.parameter(n, &given_keys)?,
            (Argument::TweakKeys, _) => machine.parameter(n, given_tweak_keys.as_deref().unwrap_or_default())?,
            (Argument::UnitBytes, _) => {
                let blocks = case.place.map_or(0, |place| place.blocks);
                machine.parameter(n, &number((16 * blocks + ragged) as u64, 4))?;
            }
            (Argument::Before, _) => machine.context.number(function, n, 0, 4, before_data.clone()),
            (other, _) => return Err(format!("no value is known for `{other}`")),
        }
    }

    let has_turns_without_tile = units.is_some() && case.entry == Entry::Bytes;
    let cut = |of: &Loop| Cut::new(machine.function, of, &live);
    let loops = Loop::around_stores(machine.function)?;
    let (tile_cut, run_cut) = match (&loops[..], data.tiles.next_run.is_some() || units.is_some()) {
        ([tiles], false) => (cut(tiles), None),
        ([tiles, stretches], true) if has_turns_without_tile => {
            let from = units.as_ref().map(|units| units.from.clone()).unwrap_or_default();
            (cut(tiles).counting(machine.function, from), Some(cut(stretches)))
        }
        ([tiles, runs], true) => (cut(tiles), Some(cut(runs))),
        _ => return Err(
            "the stores are not within a loop over tiles, and in counter modes one over runs, in XTS over stretches"
                .into(),
        ),
    };
    let tiles_known = units.as_ref().and_then(|_| loops.last()?.after_exit(machine.function));
    let is_barrier = |n: &usize| machine.function.statements[*n].opcode.starts_with("bar.warp.");
    let unit_known = tiles_known.and_then(|from| (from..machine.function.statements.len()).find(is_barrier));
    machine.stops = loops.iter().map(|one| one.head).chain(tiles_known).chain(unit_known).collect();
    let mut proof = Proof {
        threads: machine.threads(),
        machine,
        warp: case.warp,
        tile_cut,
        run_cut,
        data,
        shares,
        chain: chained.map(|(_, chain)| chain),
        units,
        tiles_known,
        unit_known,
        place: Begin { unit: Form::default(), rows: 0, tile: 0 },
        stretch,
        input,
        before,
        output,
        to,
        run_end,
        of_launch,
        proved: Proved::default(),
    };
    proof.give(&proof.data.tiles.tile.clone())?;
    proof.follow()?;
    Ok(proof.proved)
}
