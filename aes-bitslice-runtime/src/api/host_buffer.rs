//! Host memory that is fast for an engine.

use crate::base::error::Error;
use crate::exec::backend::HostMemory;
use aes_bitslice_core::memory::filled;
use std::fmt;
use std::ops::{Deref, DerefMut};
use zeroize::Zeroizing;

/// Host memory from [`Engine::host_buffer`](crate::Engine::host_buffer): pinned (page-locked) for an engine with CUDA
/// GPUs, so that copies run at the full speed of the link, ordinary for others. Wiped on drop. It may outlive the
/// engine.
///
/// Pinning is slow, about a millisecond per MiB: use the memory more than once. It is taken from all other programs on
/// the machine: use no more than needed.
pub struct HostBuffer(Memory);

enum Memory {
    Ordinary(Zeroizing<Vec<u8>>),
    OfBackend(Box<dyn HostMemory>),
}

impl HostBuffer {
    pub(crate) fn ordinary(len: usize) -> Result<Self, Error> {
        Ok(Self(Memory::Ordinary(Zeroizing::new(filled(0, len)?))))
    }

    pub(crate) fn of_backend(memory: Box<dyn HostMemory>) -> Self {
        Self(Memory::OfBackend(memory))
    }

    /// Whether it is pinned.
    pub fn is_pinned(&self) -> bool {
        matches!(self.0, Memory::OfBackend(_))
    }
}

impl Deref for HostBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Ordinary(bytes) => bytes,
            Memory::OfBackend(bytes) => bytes,
        }
    }
}

impl DerefMut for HostBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Ordinary(bytes) => bytes,
            Memory::OfBackend(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for HostBuffer {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for HostBuffer {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

/// Does not show the contents.
impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} bytes{})", self.len(), if self.is_pinned() { ", pinned" } else { "" })
    }
}
