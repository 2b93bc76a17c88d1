//! Tables in as many copies as there are lanes, so that no look-up waits for another, whatever is looked up.

use super::TableCount;
use crate::aes::Direction;
use crate::kernel::Mode;

/// A table kernel without bank conflicts: every lane of a warp has its own copy of the tables, in its own bank of shared
/// memory. One thread block a multiprocessor makes the copies once and then works through its share of the data.
///
/// How long it takes does not depend on what it looks up where every access to shared memory takes as long as any other
/// without conflicts, which is what is documented of the banks. But addresses depend on key and data: it is not
/// constant-time as the bitsliced kernels are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConflictFree {
    /// The mode and direction.
    pub mode: Mode,
    /// One table takes 32 KiB of shared memory, four 128 KiB.
    pub tables: TableCount,
    /// Whether it is to run beside a bitsliced kernel, on the same multiprocessors: with fewer registers, so that both fit.
    pub beside: bool,
}

impl ConflictFree {
    /// The kernel that has a multiprocessor for itself.
    pub fn new(mode: Mode, tables: TableCount) -> Self {
        Self { mode, tables, beside: false }
    }

    /// The same beside a bitsliced kernel.
    pub fn beside(self) -> Self {
        Self { beside: true, ..self }
    }

    /// The kernel's name: file stem and, with underscores, entry point.
    pub fn name(&self) -> String {
        let tables = match self.tables {
            TableCount::One => "-one-table",
            TableCount::Four => "",
        };
        let beside = if self.beside { "-beside" } else { "" };
        format!("aes-{}-tbox{tables}{beside}", self.mode)
    }

    /// Threads a thread block. Measured, like the rest of the geometry: docs/performance.md.
    pub fn threads(&self) -> u32 {
        match (self.mode, self.beside) {
            (_, false) => 512,
            (Mode::Ctr, true) => 256,
            (Mode::EcbEncrypt | Mode::EcbDecrypt | Mode::CbcDecrypt, true) => 384,
        }
    }

    /// Blocks that a thread has in registers at a time.
    pub fn blocks_per_thread(&self) -> u32 {
        match (self.mode, self.beside) {
            (Mode::EcbEncrypt | Mode::EcbDecrypt, false) | (Mode::Ctr, true) => 2,
            (Mode::EcbEncrypt | Mode::EcbDecrypt, true) | (Mode::Ctr, false) | (Mode::CbcDecrypt, _) => 1,
        }
    }

    /// Neighbouring counters of a run that a thread has, 32 apart.
    pub fn counters_per_thread(&self) -> u32 {
        8
    }

    /// Blocks of 16 bytes that a thread block works on at a time.
    pub fn blocks(&self) -> u32 {
        match self.mode {
            Mode::Ctr => self.threads() * self.counters_per_thread(),
            Mode::EcbEncrypt | Mode::EcbDecrypt | Mode::CbcDecrypt => self.threads() * self.blocks_per_thread(),
        }
    }

    /// Thread blocks a multiprocessor that the compiler leaves registers for. Beside a bitsliced kernel more than will run,
    /// so that there are registers for that one, too.
    pub(crate) fn blocks_per_sm(&self) -> u32 {
        if self.beside { 4 } else { 1 }
    }

    /// Bytes of shared memory: the copies of the tables, the inverse S-box's among them, and for CTR what the counters of
    /// a run have in common after two rounds.
    pub fn shared_bytes(&self) -> u32 {
        let last = u32::from(self.mode.direction() == Direction::Decrypt);
        let parts = if self.mode == Mode::Ctr { 4 * 256 * 16 } else { 0 };
        (self.tables.number() + last) * 32 * 1024 + parts
    }
}
