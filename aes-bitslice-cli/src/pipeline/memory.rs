//! What a worker keeps its chunk in, and the door to the engine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use zeroize::Zeroizing;

use crate::error::{Error, Exit, Result};

/// Room for what the last chunk may grow by: a block of padding.
const SLACK: usize = 16;

/// Every call into the engine passes through here, so that none is under way when a failure ends the process.
#[derive(Clone, Default)]
pub struct Gate(Arc<RwLock<()>>);

impl Gate {
    /// To be held during a call.
    pub fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the calls that were begun; who wants to begin one from now on is blocked for good.
    pub fn close(&self) {
        std::mem::forget(self.0.write());
    }
}

/// A worker's buffer, made when there is something to put into it.
pub struct Memory {
    chunk_bytes: usize,
    gate: Gate,
    buffer: Option<Buffer>,
}

type Buffer = Zeroizing<Vec<u8>>;

/// Zeroed memory that is wiped when dropped.
fn buffer(length: usize) -> Result<Buffer> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| Error::new(Exit::Failure, format!("not enough memory for a buffer of {length} bytes")))?;
    bytes.resize(length, 0);
    Ok(Zeroizing::new(bytes))
}

impl Memory {
    /// For chunks of so many bytes.
    pub fn new(chunk_bytes: usize, gate: Gate) -> Self {
        Memory { chunk_bytes, gate, buffer: None }
    }

    /// A chunk's bytes, and room for a block more.
    pub fn get(&mut self) -> Result<&mut [u8]> {
        let buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => {
                let _call = self.gate.enter();
                buffer(self.chunk_bytes + SLACK)?
            }
        };
        Ok(self.buffer.insert(buffer))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // The engine may have made it.
        let _call = self.gate.enter();
        self.buffer = None;
    }
}
