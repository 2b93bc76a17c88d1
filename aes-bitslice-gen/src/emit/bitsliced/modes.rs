//! The parts of the generator's bitsliced kernels: a row for each mode, layout and data path. A new mode needs its templates and a row for
//! each kernel; there is no kernel without a row.

use super::keys::key_access;
use super::parts::{Batch, Geometry, Parts};
use crate::kernel::spec::{DataPath, KernelSpec, Layers};
use crate::templates::{CBC, COUNTER, PUBLIC};
use aes_bitslice_core::grid::Grid;
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;

/// The kernels of a mode in a layout, with one data path. All sizes are the fastest ones measured (docs/record/), and nothing spills
/// with them: 255 registers for the state and the values between two of its layers, or 128 for a column of it.
struct Row {
    mode: Mode,
    layout: Layout,
    data: DataPath,
    /// Templates of the mode, in order; the entry points are in the last.
    templates: &'static [&'static str],
    /// Whether the entry points let the next launch begin early, and wait for the one before.
    overlaps: bool,
    /// With the key given at launch.
    at_launch: Geometry,
    /// With the key baked in; `None` if there is no such kernel.
    baked: Option<Geometry>,
    grid: Grid,
    /// With the strategy `bits`, co-resident with a table kernel; `None` if there is no such kernel.
    co_resident: Option<(Geometry, Grid)>,
}

const fn geometry(threads: u32, blocks_per_sm: u32, unrolled: u32) -> Geometry {
    Geometry { threads, blocks_per_sm, unrolled }
}

const TILES: &str = include_str!("column/tiles.h");
const TURNS: &str = include_str!("column/taking_turns.h");
const COLUMN_WORDS: &str = include_str!("column/words.h");
const LAST_WORD: &str = include_str!("column/last_word.h");
const COLUMN_KEY_STREAM: &str = include_str!("column/key_stream.h");
const COLUMN_CTR: &str = include_str!("column/ctr.h");
/// By column, the key stream of counter mode: what comes before its entry points.
pub(in crate::emit) const KEY_STREAM: [&str; 5] = [COUNTER, LAST_WORD, TILES, TURNS, COLUMN_KEY_STREAM];
const STATE_ECB: &[&str] = &[include_str!("state/ecb.h")];
const COLUMN_ECB: &[&str] = &[TILES, TURNS, COLUMN_WORDS, include_str!("column/ecb.h")];

/// The size of a thread block where threads hold states.
const STATE: Geometry = geometry(128, 2, 1);

/// Where they hold columns: one thread block on each multiprocessor, which has all of its registers, with one round or two at a time.
const ONE: Geometry = geometry(512, 1, 1);
const TWO: Geometry = geometry(512, 1, 2);
const RESIDENT: Grid = Grid::Warps { each: 1, least: 1 };
/// Counters have parts that four warps compute together.
const COUNTERS: Grid = Grid::Warps { each: 1, least: 4 };

/// Co-resident with a table kernel: the number of thread blocks that are on the device at a time (3 per multiprocessor on compute
/// capability 9.0) or a multiple of it, so that the last of them end together.
const CTR_CO_RESIDENT: (Geometry, Grid) = (geometry(128, 4, 1), Grid::Warps { each: 3, least: 4 });
const CO_RESIDENT: (Geometry, Grid) = (geometry(128, 4, 1), Grid::Warps { each: 3 * 14, least: 4 });

/// By column.
const fn column(mode: Mode, templates: &'static [&'static str]) -> Row {
    Row {
        mode,
        layout: Layout::Column,
        data: DataPath::Direct,
        templates,
        overlaps: true,
        at_launch: TWO,
        baked: Some(TWO),
        grid: RESIDENT,
        co_resident: None,
    }
}

/// By column, with a counter.
const fn counting(mode: Mode, templates: &'static [&'static str]) -> Row {
    Row { at_launch: ONE, baked: None, grid: COUNTERS, ..column(mode, templates) }
}

/// By state.
const fn state(mode: Mode, templates: &'static [&'static str]) -> Row {
    Row {
        mode,
        layout: Layout::State,
        data: DataPath::Direct,
        templates,
        overlaps: false,
        at_launch: STATE,
        baked: Some(STATE),
        grid: Grid::Covers,
        co_resident: None,
    }
}

/// By state, with data in shared memory, which that of 64 threads fits into.
const fn in_shared_memory(mode: Mode, templates: &'static [&'static str]) -> Row {
    Row { at_launch: geometry(64, 4, 1), baked: Some(geometry(64, 4, 1)), ..state(mode, templates) }
}

/// The geometry of Hajihassani et al. 2019 (sections 6.3 and 6.4).
const fn staged(mode: Mode, templates: &'static [&'static str]) -> Row {
    Row { data: DataPath::Staged, ..in_shared_memory(mode, templates) }
}

/// By column, a warp keeps the tweaks of 256 units and of 32 rows of eight blocks, with room for another in each.
const TWEAK_BYTES: u32 = 16 * (256 + 32 * 9);
const COLUMN_XTS: &[&str] = &[COUNTER, TILES, TURNS, COLUMN_WORDS, include_str!("column/xts.h")];

/// XTS in a direction. By state, threads that hold no data would have to compute tweaks.
const fn xts(mode: Mode) -> Row {
    Row { overlaps: false, baked: None, ..column(mode, COLUMN_XTS) }
}

const STAGED_ECB: &[&str] = &[include_str!("staged/ecb.h")];

const ROWS: [Row; 20] = [
    Row { co_resident: Some(CO_RESIDENT), ..column(Mode::EcbEncrypt, COLUMN_ECB) },
    state(Mode::EcbEncrypt, STATE_ECB),
    Row { co_resident: Some(CO_RESIDENT), ..column(Mode::EcbDecrypt, COLUMN_ECB) },
    state(Mode::EcbDecrypt, STATE_ECB),
    Row {
        baked: Some(TWO),
        co_resident: Some(CTR_CO_RESIDENT),
        ..counting(Mode::Ctr, &[COUNTER, LAST_WORD, TILES, TURNS, COLUMN_KEY_STREAM, COLUMN_CTR])
    },
    counting(Mode::CtrLe32, &[include_str!("column/first_word.h"), TILES, TURNS, COLUMN_KEY_STREAM, COLUMN_CTR]),
    state(Mode::Ctr, &[COUNTER, COUNTER_PLANES, include_str!("state/ctr.h")]),
    counting(
        Mode::Keystream,
        &[COUNTER, LAST_WORD, TILES, TURNS, COLUMN_KEY_STREAM, include_str!("column/keystream.h")],
    ),
    Row { baked: None, ..state(Mode::Keystream, &[COUNTER, COUNTER_PLANES, include_str!("state/keystream.h")]) },
    Row {
        overlaps: false,
        co_resident: Some(CO_RESIDENT),
        ..column(Mode::CbcDecrypt, &[CBC, TILES, COLUMN_WORDS, include_str!("column/cbc.h")])
    },
    in_shared_memory(Mode::CbcDecrypt, &[CBC, include_str!("state/cbc.h")]),
    column(Mode::Prg, &[TILES, TURNS, COLUMN_WORDS, include_str!("column/prg.h")]),
    state(Mode::Prg, &[include_str!("state/prg.h")]),
    xts(Mode::XtsEncrypt),
    xts(Mode::XtsDecrypt),
    staged(Mode::EcbEncrypt, STAGED_ECB),
    staged(Mode::EcbDecrypt, STAGED_ECB),
    staged(Mode::Ctr, &[COUNTER, COUNTER_PLANES, include_str!("staged/ctr.h")]),
    staged(Mode::Keystream, &[COUNTER, COUNTER_PLANES, include_str!("staged/keystream.h")]),
    staged(Mode::CbcDecrypt, &[CBC, include_str!("staged/cbc.h")]),
];

const OWN_SCHEDULE: &str = include_str!("column/own_schedule.h");
const OWN_KEYS: &str = include_str!("column/own_keys.h");
const JOBS: &str = include_str!("column/jobs.h");

/// Batch entry points, of kernels by column whose key is given at launch.
static BATCHES: [Batch; 4] = [
    Batch {
        mode: Mode::Ctr,
        expands_keys: false,
        templates: &[PUBLIC, include_str!("column/messages.h"), include_str!("column/secret_counter.h")],
    },
    // Many keys: counters are data.
    Batch {
        mode: Mode::EcbEncrypt,
        expands_keys: true,
        templates: &[PUBLIC, COUNTER, OWN_SCHEDULE, include_str!("column/own_keys_encrypt.h"), OWN_KEYS, JOBS],
    },
    // Many keys: counters are data.
    Batch {
        mode: Mode::EcbDecrypt,
        expands_keys: true,
        templates: &[PUBLIC, COUNTER, OWN_SCHEDULE, include_str!("column/own_keys_decrypt.h"), OWN_KEYS, JOBS],
    },
    // After the batches for keys, whose templates define the macros for public data.
    Batch { mode: Mode::EcbEncrypt, expands_keys: false, templates: &[include_str!("column/cmac.h")] },
];

/// The parts of a kernel; `None` if there is no such kernel.
pub fn parts(spec: &KernelSpec) -> Option<Parts> {
    let strategy = spec.round_keys.strategy();
    let is_it = |row: &&Row| (row.mode, row.layout, row.data) == (spec.mode, spec.layout, spec.data);
    let row = ROWS.iter().find(is_it)?;
    let (geometry, grid) = match strategy {
        // The second key is also an argument of the launch.
        KeyStrategy::PlanesInMemory if spec.mode.has_tweaks() => return None,
        KeyStrategy::Planes | KeyStrategy::PlanesInMemory => (row.at_launch, row.grid),
        KeyStrategy::Bits => row.co_resident?,
        KeyStrategy::OneHotMux => (row.baked?, row.grid),
    };
    let planes = match (spec.layout, spec.data) {
        (Layout::State, DataPath::Direct) => vec![STATE_PLANES, STATE_WORDS],
        (Layout::State, DataPath::Staged) => vec![include_str!("staged/planes.h"), STATE_WORDS],
        (Layout::Column, _) => vec![include_str!("column/planes.h")],
    };
    let keys = match (spec.layout, strategy) {
        (Layout::State, KeyStrategy::PlanesInMemory) => include_str!("state/keys_in_memory.h"),
        (Layout::State, _) => include_str!("state/keys.h"),
        (Layout::Column, _) => include_str!("column/keys.h"),
    };
    let (name, mode, access) = (spec.name(), row.templates.to_vec(), key_access(spec));
    let direction = spec.mode.direction();
    let tweak_bytes = if spec.mode.has_tweaks() { TWEAK_BYTES } else { 0 };
    let is_for_many = (spec.layout, strategy, spec.layers) == (Layout::Column, KeyStrategy::Planes, Layers::Fewest);
    let batches = BATCHES.iter().filter(|batch| is_for_many && batch.mode == spec.mode).collect();
    let overlaps = row.overlaps;
    Some(Parts {
        name,
        what: "AES on bit-planes",
        strategy,
        geometry,
        grid,
        overlaps,
        planes,
        keys,
        mode,
        batches,
        definitions: vec![],
        access,
        direction,
        tweak_bytes,
    })
}

/// The transposition of 32 words of 32 bits, which every kernel has.
pub(super) const TRANSPOSE: &str = include_str!("transpose.h");

/// By state: the assignment of blocks to threads.
const STATE_PLANES: &str = include_str!("state/planes.h");

/// The templates that change the representation of 32 blocks, in the order in which they are printed: their transposition, their assignment
/// to threads, and their words.
pub const REPRESENTATION: [&str; 3] = [TRANSPOSE, STATE_PLANES, STATE_WORDS];

/// By state: the words of 32 blocks, and their transposition.
const STATE_WORDS: &str = include_str!("state/words.h");

/// By state: the bit-planes of 32 counters.
const COUNTER_PLANES: &str = include_str!("state/counters.h");
