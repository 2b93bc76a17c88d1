//! The location of a call's data.

use crate::backend::opencl::handles::Buffer;
use opencl3::types::cl_mem;

/// A byte of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) buffer: cl_mem,
    /// The number of bytes of the buffer before it.
    pub(crate) at: u64,
}

/// The location of a call's data: as many bytes of input as of output. Both are one range, or do not overlap.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    /// The first byte that is read; `None` for an operation that only writes.
    pub(crate) input: Option<Place>,
    /// The first byte that is written; `None` for an operation that only reads.
    pub(crate) output: Option<Place>,
    /// The length in bytes.
    pub(crate) len: u64,
    /// Whether the output replaces the input.
    pub(crate) in_place: bool,
    /// Whether the buffers begin at multiples of 16 bytes.
    pub(crate) aligned: bool,
}

impl Span {
    /// `len` bytes of the engine's buffer, from byte `at` on, as far as they are read and written.
    pub(crate) fn of(buffer: &Buffer, at: usize, len: usize, reads: bool, writes: bool) -> Self {
        let place = Place { buffer: buffer.raw(), at: at as u64 };
        Self {
            input: reads.then_some(place),
            output: writes.then_some(place),
            len: len as u64,
            in_place: reads && writes,
            aligned: true,
        }
    }

    /// Whether byte `at` of the input and of the output, where present, is at a multiple of 16 bytes.
    pub(crate) fn is_aligned(&self, at: u64) -> bool {
        let places = [self.input, self.output].into_iter().flatten();
        self.aligned && places.map(|place| place.at + at).all(|at| at.is_multiple_of(16))
    }
}
