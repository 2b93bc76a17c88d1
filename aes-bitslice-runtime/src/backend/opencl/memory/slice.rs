//! Bytes of an OpenCL buffer.

use crate::backend::opencl::handles::{self, Event};
use crate::backend::opencl::memory::in_flight::InFlight;
use opencl3::memory::{Buffer, ClMem};
use opencl3::types::cl_mem;

/// Bytes of an OpenCL buffer: of the caller's, or of [`DeviceMemory`](crate::opencl::DeviceMemory).
#[derive(Clone, Copy)]
pub struct BufferSlice<'a> {
    memory: Memory<'a>,
    at: usize,
    len: usize,
}

/// The memory that a slice is of.
#[derive(Clone, Copy)]
enum Memory<'a> {
    Callers(&'a Buffer<u8>),
    /// With the calls that it waits for before it is cleared.
    Engines {
        buffer: &'a handles::Buffer,
        calls: &'a InFlight,
    },
}

impl<'a> BufferSlice<'a> {
    /// `len` bytes of a buffer of the caller's, from byte `at` on. Whether the buffer has them is found out by the call
    /// that uses them.
    pub fn new(buffer: &'a Buffer<u8>, at: usize, len: usize) -> Self {
        Self { memory: Memory::Callers(buffer), at, len }
    }

    /// `len` bytes of an engine's memory, from byte `at` on; `calls` is told of the calls that use them.
    pub(crate) fn of_engine(buffer: &'a handles::Buffer, calls: &'a InFlight, at: usize, len: usize) -> Self {
        Self { memory: Memory::Engines { buffer, calls }, at, len }
    }

    /// The first byte, in its buffer.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Tells an engine's memory of a launch, which it has to wait for. Callers know of their own.
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
