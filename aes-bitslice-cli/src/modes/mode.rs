//! The description of a mode.

use std::fmt;

use aes_bitslice_runtime::{self as runtime, Direction, Nonce, Tag};

use super::batch::Batches;
use super::operation::AnyOperation;

/// A mode of operation, as the command line has it.
pub struct Mode {
    /// The name on the command line.
    pub name: &'static str,
    /// The name in messages.
    pub title: &'static str,
    /// A line for `--help`.
    pub help: &'static str,
    /// The directions that differ, and what `bench` calls them.
    pub measured: &'static [(Direction, &'static str)],
    /// Whether it takes an IV.
    pub iv: bool,
    /// The lengths of data that it takes.
    pub lengths: Lengths,
    /// The kernels that do it, or all of it except the tag; `None` if the CPU does it on every engine.
    pub kernels: fn(Direction) -> Option<runtime::Mode>,
    /// The operation on a chunk of a stream.
    pub operation: fn(Direction, &Place) -> Box<dyn AnyOperation>,
    /// What its batches are: many messages in one call.
    pub batches: Batches,
}

/// The lengths of data that a mode takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Any number of bytes.
    Any,
    /// Whole blocks of 16 bytes, or data that is padded to them.
    WholeBlocks,
    /// Whole [`Sectors`], and at the end one that may be shorter, down to 16 bytes.
    Sectors,
}

/// The sectors that a stream is cut into: data units of XTS. Other modes have none, whatever this says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sectors {
    /// Bytes of each, 16 to 2^24; the last may be shorter.
    pub bytes: u64,
    /// The number of the first, less than 2^128 - 2^64: no sector of a stream is past the largest possible number.
    pub first: u128,
}

impl Sectors {
    /// The sectors if none are given.
    pub const DEFAULT: Self = Self { bytes: 512, first: 0 };
}

/// Where a chunk begins in its stream.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The IV of the stream, or its initial counter block.
    pub iv: [u8; 16],
    /// Bytes of the stream before the chunk, whole sectors if there are any.
    pub offset: u64,
    /// The block of ciphertext before the chunk; before the first chunk, the IV.
    pub before: [u8; 16],
    /// The sectors of the stream.
    pub sectors: Sectors,
    /// The tag, for an operation that verifies it.
    pub tag: Tag,
}

impl Place {
    /// The start of a stream with this IV.
    pub fn start(iv: [u8; 16]) -> Self {
        Self { iv, offset: 0, before: iv, sectors: Sectors::DEFAULT, tag: Tag::from([0; 16]) }
    }

    /// The nonce: the first 12 bytes of the IV.
    pub fn nonce(&self) -> Nonce {
        Nonce::new(&self.iv[..12]).expect("12 bytes")
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
