//! The memory in which a worker keeps its chunk, and the gate to the engine.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use aes_bitslice_runtime::{Engine, HostBuffer};

use crate::error::Result;

/// Every call into the engine passes through here, so that none is in progress when a failure ends the process.
#[derive(Clone, Default)]
pub struct Gate(Arc<RwLock<()>>);

impl Gate {
    /// Must be held during a call.
    pub fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for calls in progress; a thread that wants to begin one from now on is blocked for good.
    pub fn close(&self) {
        std::mem::forget(self.0.write());
    }
}

/// A worker's buffer, made when there is something to put into it, in the kind of memory that the engine is fast with. It is wiped when
/// dropped.
pub struct Memory {
    engine: Engine,
    bytes: usize,
    gate: Gate,
    buffer: Option<HostBuffer>,
}

impl Memory {
    /// Of this many bytes.
    pub fn new(engine: Engine, bytes: usize, gate: Gate) -> Self {
        Memory { engine, bytes, gate, buffer: None }
    }

    /// A chunk's bytes, and room for it to grow.
    pub fn get(&mut self) -> Result<&mut [u8]> {
        let buffer = match self.buffer.take() {
            Some(buffer) => buffer,
            None => {
                let _call = self.gate.enter();
                self.engine.host_buffer(self.bytes)?
            }
        };
        Ok(self.buffer.insert(buffer))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Freeing it may be a call, too.
        let _call = self.gate.enter();
        self.buffer = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_bitslice_runtime::Backend;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn no_call_begins_behind_a_closed_gate() {
        let (engine, gate) = (Engine::open(Backend::Cpu).unwrap(), Gate::default());
        let [mut new, mut used] = [(); 2].map(|()| Memory::new(engine.clone(), 16, gate.clone()));
        used.get().unwrap();
        gate.close();
        let (tell, told) = mpsc::channel();
        // These threads are blocked until the process ends.
        let calls: [Box<dyn FnOnce() + Send>; 2] = [Box::new(move || _ = new.get()), Box::new(move || drop(used))];
        for call in calls {
            let tell = tell.clone();
            thread::spawn(move || {
                call();
                _ = tell.send(());
            });
        }
        assert!(told.recv_timeout(Duration::from_millis(100)).is_err());
    }
}
