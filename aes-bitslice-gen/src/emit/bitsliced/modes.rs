//! The parts of the generator's bitsliced kernels: a row for each mode and layout. A new mode is its templates and a row for
//! each layout that it has; what has no row is not there.

use super::keys::key_access;
use super::parts::{Geometry, Parts};
use crate::kernel::spec::KernelSpec;
use crate::templates::{CBC, COUNTER, SHARE};
use aes_bitslice_core::layout::Layout;
use aes_bitslice_core::manifest::Grid;
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::strategy::KeyStrategy;

/// The kernels of a mode in a layout. All sizes are the ones measured to be the fastest (docs/performance.md), and those in
/// which nothing spills: 255 registers for the state and what is between two of its layers, or 96 to 128 for a column of it.
struct Row {
    mode: Mode,
    layout: Layout,
    /// Templates of the mode, in order; the entry points are in the last.
    templates: &'static [&'static str],
    /// With the key given at launch.
    at_launch: Geometry,
    /// With the key baked in; none where there is no such kernel.
    baked: Option<Geometry>,
    grid: Grid,
    /// With the strategy `bits`, co-resident with a table kernel; none where there is no such kernel.
    co_resident: Option<Grid>,
}

const fn geometry(threads: u32, blocks_per_sm: u32) -> Geometry {
    Geometry { threads, blocks_per_sm }
}

const PRESENT: &str = include_str!("column/present.h");
const COLUMN_WORDS: &str = include_str!("column/words.h");
const COLUMN_KEY_STREAM: &str = include_str!("column/key_stream.h");
const STATE_ECB: &[&str] = &[include_str!("state/ecb.h")];
const COLUMN_ECB: &[&str] = &[SHARE, PRESENT, COLUMN_WORDS, include_str!("column/ecb.h")];

/// What CTR does once, two rounds for its tables, is worth more than what the others do.
const CTR_TILES: Grid = Grid::Tiles { most: 16, left: 32 };
const TILES: Grid = Grid::Tiles { most: 8, left: 64 };

/// Co-resident with a table kernel: as many thread blocks as are on the device at a time (3 a multiprocessor for CTR, 4 for ECB,
/// on compute capability 9.0) or a multiple of that, so that the last of them end together.
const CTR_CO_RESIDENT: Grid = Grid::Persistent { each: 3 };
const CO_RESIDENT: Grid = Grid::Persistent { each: 4 * 14 };

const ROWS: [Row; 10] = [
    Row {
        mode: Mode::EcbEncrypt,
        layout: Layout::Column,
        templates: COLUMN_ECB,
        at_launch: geometry(128, 5),
        baked: Some(geometry(128, 4)),
        grid: TILES,
        co_resident: Some(CO_RESIDENT),
    },
    Row {
        mode: Mode::EcbEncrypt,
        layout: Layout::State,
        templates: STATE_ECB,
        at_launch: geometry(128, 2),
        baked: Some(geometry(128, 2)),
        grid: Grid::Covers,
        co_resident: None,
    },
    Row {
        mode: Mode::EcbDecrypt,
        layout: Layout::Column,
        templates: COLUMN_ECB,
        at_launch: geometry(128, 4),
        baked: Some(geometry(128, 4)),
        grid: TILES,
        co_resident: Some(CO_RESIDENT),
    },
    Row {
        mode: Mode::EcbDecrypt,
        layout: Layout::State,
        templates: STATE_ECB,
        at_launch: geometry(128, 2),
        baked: Some(geometry(128, 2)),
        grid: Grid::Covers,
        co_resident: None,
    },
    Row {
        mode: Mode::Ctr,
        layout: Layout::Column,
        templates: &[COUNTER, SHARE, PRESENT, COLUMN_KEY_STREAM, include_str!("column/ctr.h")],
        at_launch: geometry(128, 4),
        baked: Some(geometry(128, 4)),
        grid: CTR_TILES,
        co_resident: Some(CTR_CO_RESIDENT),
    },
    Row {
        mode: Mode::Ctr,
        layout: Layout::State,
        templates: &[COUNTER, COUNTER_PLANES, include_str!("state/ctr.h")],
        at_launch: geometry(128, 2),
        baked: Some(geometry(128, 2)),
        grid: Grid::Covers,
        co_resident: None,
    },
    Row {
        mode: Mode::Keystream,
        layout: Layout::Column,
        templates: &[COUNTER, SHARE, PRESENT, COLUMN_KEY_STREAM, include_str!("column/keystream.h")],
        at_launch: geometry(128, 4),
        baked: None,
        grid: CTR_TILES,
        co_resident: None,
    },
    Row {
        mode: Mode::Keystream,
        layout: Layout::State,
        templates: &[COUNTER, COUNTER_PLANES, include_str!("state/keystream.h")],
        at_launch: geometry(128, 2),
        baked: None,
        grid: Grid::Covers,
        co_resident: None,
    },
    Row {
        mode: Mode::CbcDecrypt,
        layout: Layout::Column,
        templates: &[CBC, SHARE, PRESENT, COLUMN_WORDS, include_str!("column/cbc.h")],
        at_launch: geometry(128, 4),
        baked: Some(geometry(128, 4)),
        grid: TILES,
        co_resident: Some(CO_RESIDENT),
    },
    Row {
        mode: Mode::CbcDecrypt,
        layout: Layout::State,
        templates: &[CBC, include_str!("state/cbc.h")],
        // The ciphertext of 64 states is what fits in shared memory.
        at_launch: geometry(64, 4),
        baked: Some(geometry(64, 4)),
        grid: Grid::Covers,
        co_resident: None,
    },
];

/// The parts of a kernel; none if there is no such kernel.
pub(crate) fn parts(spec: &KernelSpec) -> Option<Parts> {
    let strategy = spec.round_keys.strategy();
    let row = ROWS.iter().find(|row| (row.mode, row.layout) == (spec.mode, spec.layout))?;
    let (geometry, grid) = match strategy {
        KeyStrategy::Planes => (row.at_launch, row.grid),
        KeyStrategy::Bits => (row.at_launch, row.co_resident?),
        KeyStrategy::OneHotMux | KeyStrategy::Immediate => (row.baked?, row.grid),
        KeyStrategy::PlanesInMemory => return None,
    };
    let (planes, keys) = match spec.layout {
        Layout::State => (vec![STATE_PLANES, STATE_WORDS], include_str!("state/keys.h")),
        Layout::Column => (vec![include_str!("column/planes.h")], include_str!("column/keys.h")),
    };
    let (name, mode, access) = (spec.name(), row.templates.to_vec(), key_access(spec));
    Some(Parts { name, strategy, geometry, grid, planes, keys, mode, access })
}

const STATE_PLANES: &str = include_str!("state/planes.h");

/// By state: the words of 32 blocks, and their transposition.
pub const STATE_WORDS: &str = include_str!("state/words.h");

/// By state: the bit-planes of 32 counters.
pub const COUNTER_PLANES: &str = include_str!("state/counters.h");
