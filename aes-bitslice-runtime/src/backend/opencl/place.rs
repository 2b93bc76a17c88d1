//! A place in device memory: OpenCL has buffers, and no addresses.

use crate::backend::device::span;
use opencl3::types::cl_mem;

/// A byte of a buffer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Place {
    pub(crate) buffer: cl_mem,
    /// The number of bytes of the buffer before it.
    pub(crate) at: u64,
    /// Whether the buffer begins at a multiple of 16 bytes.
    pub(crate) buffer_is_aligned: bool,
}

impl Place {
    /// The start of a buffer of the engine's.
    pub(crate) fn start_of(buffer: cl_mem) -> Self {
        Self { buffer, at: 0, buffer_is_aligned: true }
    }
}

impl span::Place for Place {
    fn after(self, bytes: u64) -> Self {
        Self { at: self.at + bytes, ..self }
    }

    fn before(self, bytes: u64) -> Self {
        Self { at: self.at.wrapping_sub(bytes), ..self }
    }

    fn is_aligned(self) -> bool {
        self.buffer_is_aligned && self.at.is_multiple_of(16)
    }

    /// In OpenCL, an address in device memory is a buffer.
    fn address(self) -> u64 {
        assert_eq!(self.at, 0, "the start of a buffer");
        self.buffer as u64
    }
}
