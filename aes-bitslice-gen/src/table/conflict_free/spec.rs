//! The specification of a table kernel without bank conflicts: mode, number of tables, and whether it has a multiprocessor to itself.

use super::modes::{self, Row, Size};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::mode::{Mode, State};

/// The number of T-boxes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TableCount {
    /// One of 1 KiB: entries for the other rows are rotated.
    One,
    /// One per row of the state, 4 KiB.
    Four,
}

impl TableCount {
    /// The number.
    pub const fn number(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Four => 4,
        }
    }
}

/// A table kernel without bank conflicts: every lane of a warp has its own copy of the tables, in its own bank of shared memory. One thread
/// block per multiprocessor makes the copies once and then works through its share of the data.
///
/// Its time does not depend on the entries it looks up, provided that every conflict-free access to shared memory takes the same time, as
/// the documentation of the banks says. But addresses depend on key and data: it is not constant-time as the bitsliced kernels are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConflictFree {
    mode: Mode,
    tables: TableCount,
    co_resident: bool,
}

impl ConflictFree {
    /// The kernel that has a multiprocessor to itself, with one table (32 KiB of shared memory) or four (128 KiB); `None` for a mode
    /// without table kernels.
    pub fn new(mode: Mode, tables: TableCount) -> Option<Self> {
        modes::row(mode).map(|_| Self { mode, tables, co_resident: false })
    }

    /// This kernel with fewer registers, for multiprocessors that also run a bitsliced kernel: both fit. `None` for a mode without such a
    /// kernel.
    pub fn co_resident(self) -> Option<Self> {
        self.row().co_resident.map(|_| Self { co_resident: true, ..self })
    }

    /// The mode and direction.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The number of tables.
    pub fn tables(&self) -> TableCount {
        self.tables
    }

    /// Whether it is for multiprocessors that run a bitsliced kernel at the same time.
    pub fn is_co_resident(&self) -> bool {
        self.co_resident
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        let tables = match self.tables {
            TableCount::One => "-one-table",
            TableCount::Four => "",
        };
        let co_resident = if self.co_resident { "-co-resident" } else { "" };
        format!("aes-{}-tbox{tables}{co_resident}", self.mode)
    }

    /// Threads per thread block.
    pub fn threads(&self) -> u32 {
        self.size().threads
    }

    /// Blocks that a thread holds in registers at a time.
    pub fn blocks_per_thread(&self) -> u32 {
        self.size().blocks_per_thread
    }

    /// Counters of a tile that a thread has, 32 apart, where the state is counters.
    pub fn counters_per_thread(&self) -> u32 {
        8
    }

    /// Blocks of 16 bytes per tile: the unit that a thread block works on at a time.
    pub fn tile_blocks(&self) -> u32 {
        match self.mode.state() {
            State::Counters => self.threads() * self.counters_per_thread(),
            State::Data => self.threads() * self.blocks_per_thread(),
        }
    }

    /// The number of thread blocks per multiprocessor that the compiler leaves registers for. If co-resident with a bitsliced kernel, more
    /// than will run, so that there are registers for the bitsliced kernel, too.
    pub(crate) fn blocks_per_sm(&self) -> u32 {
        if self.co_resident { 4 } else { 1 }
    }

    /// Bytes of shared memory: the copies of the tables, including the inverse S-box, and for counters the values that the counters of a
    /// tile share after two rounds.
    pub fn shared_bytes(&self) -> u32 {
        let last = u32::from(self.mode.direction() == Direction::Decrypt);
        let parts = if self.mode.state() == State::Counters { 4 * 256 * 16 } else { 0 };
        (self.tables.number() + last) * 32 * 1024 + parts
    }

    /// Templates of the mode, in order.
    pub(crate) fn templates(&self) -> &'static [&'static str] {
        self.row().templates
    }

    fn row(&self) -> &'static Row {
        modes::row(self.mode).expect("made of a row")
    }

    fn size(&self) -> Size {
        let row = self.row();
        if self.co_resident { row.co_resident.expect("made of a row that has it") } else { row.alone }
    }
}
