//! Bytes of an OpenCL buffer.

use crate::backend::opencl::handles::{self, Event};
use crate::backend::opencl::memory::in_flight::InFlight;
use opencl3::memory::{Buffer, ClMem};
use opencl3::types::cl_mem;

/// Bytes of an OpenCL buffer: the caller's, or [`DeviceMemory`](crate::opencl::DeviceMemory).
#[derive(Clone, Copy)]
pub struct BufferSlice<'a> {
    memory: Memory<'a>,
    at: usize,
    len: usize,
}

/// The memory that a slice belongs to.
#[derive(Clone, Copy)]
enum Memory<'a> {
    Callers(&'a Buffer<u8>),
    /// With the calls to wait for before it is cleared.
    Engines {
        buffer: &'a handles::Buffer,
        calls: &'a InFlight,
    },
}

impl<'a> BufferSlice<'a> {
    /// `len` bytes of a caller's buffer, from byte `at` on. The call that uses them checks whether the buffer has them.
    pub fn new(buffer: &'a Buffer<u8>, at: usize, len: usize) -> Self {
        Self { memory: Memory::Callers(buffer), at, len }
    }

    /// `len` bytes of an engine's memory, from byte `at` on; calls that use them are added to `calls`.
    pub(crate) fn of_engine(buffer: &'a handles::Buffer, calls: &'a InFlight, at: usize, len: usize) -> Self {
        Self { memory: Memory::Engines { buffer, calls }, at, len }
    }

    /// The position of its first byte in the buffer.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Records, in an engine's memory, a launch that it must wait for. Callers keep track of their own.
    pub(crate) fn is_used_by(&self, launch: &Event) {
        if let Memory::Engines { calls, .. } = self.memory {
            calls.add(launch);
        }
    }

    pub(crate) fn raw(&self) -> cl_mem {
        match self.memory {
            Memory::Callers(buffer) => buffer.get(),
            Memory::Engines { buffer, .. } => buffer.raw(),
        }
    }
}
