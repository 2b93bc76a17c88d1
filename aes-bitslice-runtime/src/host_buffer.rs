//! Host memory that is fast for an engine.

use crate::Error;
use crate::cuda::Pinned;
use std::fmt;
use std::ops::{Deref, DerefMut};
use zeroize::Zeroizing;

/// Host memory of [`Engine::host_buffer`](crate::Engine::host_buffer): pinned (page-locked) for an engine with CUDA GPUs, so that
/// copies go at the full speed of the link, ordinary on others. Wiped on drop. It may outlive the engine.
///
/// To pin memory takes long, about a millisecond a MiB: use it more than once. And it takes memory from everybody else on the
/// machine: use no more than is needed.
pub struct HostBuffer(Memory);

enum Memory {
    Ordinary(Zeroizing<Vec<u8>>),
    Pinned(Pinned),
}

impl HostBuffer {
    pub(crate) fn ordinary(len: usize) -> Result<Self, Error> {
        let mut bytes = Zeroizing::new(Vec::new());
        let reserved = bytes.try_reserve_exact(len);
        reserved.map_err(|_| Error::OutOfHostMemory { what: format!("a buffer of {len} bytes") })?;
        bytes.resize(len, 0);
        Ok(Self(Memory::Ordinary(bytes)))
    }

    pub(crate) fn pinned(memory: Pinned) -> Self {
        Self(Memory::Pinned(memory))
    }

    /// Whether it is pinned.
    pub fn is_pinned(&self) -> bool {
        matches!(self.0, Memory::Pinned(_))
    }
}

impl Deref for HostBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Ordinary(bytes) => bytes,
            Memory::Pinned(bytes) => bytes,
        }
    }
}

impl DerefMut for HostBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Ordinary(bytes) => bytes,
            Memory::Pinned(bytes) => bytes,
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

/// What it holds is not shown.
impl fmt::Debug for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBuffer({} bytes{})", self.len(), if self.is_pinned() { ", pinned" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, Engine, Error};

    #[test]
    fn memory_for_a_cpu_is_ordinary_and_zero() {
        let engine = Engine::open(Backend::Cpu).unwrap();
        for len in [0, 1, 4097] {
            let mut buffer = engine.host_buffer(len).unwrap();
            assert!(buffer.iter().all(|&byte| byte == 0) && buffer.len() == len && !buffer.is_pinned());
            buffer.fill(7);
            assert_eq!(format!("{buffer:?}"), format!("HostBuffer({len} bytes)"));
        }
        assert!(matches!(engine.host_buffer(usize::MAX), Err(Error::OutOfHostMemory { .. })));
    }
}
