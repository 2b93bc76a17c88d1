//! The templates of each mode, and measured sizes (docs/record/2026-11-notebook.md). A mode without a row has no table kernel.

use crate::templates::{CBC, COUNTER, SHARE};
use aes_bitslice_core::mode::Mode;

/// The kernels of a mode.
#[derive(Debug)]
pub(crate) struct Row {
    mode: Mode,
    /// For a kernel that has a multiprocessor to itself.
    pub(crate) alone: Size,
    /// For a kernel that shares it with a bitsliced kernel; `None` if there is no such kernel.
    pub(crate) co_resident: Option<Size>,
    /// Templates of the mode, in order; the entry points are in the last.
    pub(crate) templates: &'static [&'static str],
}

/// The size of a thread block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) threads: u32,
    /// Blocks that a thread holds in registers at a time.
    pub(crate) blocks_per_thread: u32,
}

const fn size(threads: u32, blocks_per_thread: u32) -> Size {
    Size { threads, blocks_per_thread }
}

const ECB: &[&str] = &[include_str!("ecb.h")];

static ROWS: [Row; 4] = [
    Row { mode: Mode::EcbEncrypt, alone: size(512, 2), co_resident: Some(size(384, 1)), templates: ECB },
    Row { mode: Mode::EcbDecrypt, alone: size(512, 2), co_resident: Some(size(384, 1)), templates: ECB },
    Row {
        mode: Mode::Ctr,
        alone: size(512, 1),
        co_resident: Some(size(256, 2)),
        templates: &[SHARE, COUNTER, include_str!("ctr.h")],
    },
    Row {
        mode: Mode::CbcDecrypt,
        alone: size(512, 1),
        co_resident: Some(size(384, 1)),
        templates: &[SHARE, include_str!("tiles.h"), CBC, include_str!("cbc.h")],
    },
];

/// The row of a mode, if it has one.
pub(crate) fn row(mode: Mode) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.mode == mode)
}
