//! What is said of a mode.

use std::fmt;

use aes_bitslice_runtime::{self as runtime, Direction};

use super::operation::AnyOperation;

/// A mode of operation, as the command line has it.
pub struct Mode {
    /// The name on the command line.
    pub name: &'static str,
    /// The name in messages.
    pub title: &'static str,
    /// A line for `--help`.
    pub help: &'static str,
    /// Whether it takes an IV.
    pub iv: bool,
    /// Whether data has to be whole blocks of 16 bytes, or be padded to them.
    pub whole_blocks: bool,
    /// The kernels that do it; `None` for what the CPU does on every engine.
    pub kernels: fn(Direction) -> Option<runtime::Mode>,
    /// What is done to a chunk of a stream.
    pub operation: fn(Direction, &Place) -> Box<dyn AnyOperation>,
}

/// Where a chunk begins in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The IV of the stream, or its initial counter block.
    pub iv: [u8; 16],
    /// Bytes of the stream before the chunk.
    pub offset: u64,
    /// The block of ciphertext before the chunk; before the first chunk, the IV.
    pub before: [u8; 16],
}

impl Place {
    /// The start of a stream with this IV.
    pub const fn start(iv: [u8; 16]) -> Self {
        Self { iv, offset: 0, before: iv }
    }
}

impl PartialEq for Mode {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
