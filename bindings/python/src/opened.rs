//! An opened engine, as its ciphers and files share it.

use crate::driver::keeping_context;
use crate::error::{Error, UnavailableError, caught, panicked};
use crate::fork::{ForkedNot, generation};
use aes_bitslice_runtime::{Backend, Engine as RuntimeEngine};
use pyo3::prelude::*;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, OnceLock};

/// An engine, and whether it is still usable: an engine and its ciphers share this.
pub struct Opened {
    pub engine: ForkedNot<RuntimeEngine>,
    /// Whether the kernels for many keys were loaded: one bit for those that encrypt, one for those that decrypt.
    pub many_keys_loaded: AtomicU8,
    generation: u64,
    /// The panic after which the engine is not trusted.
    poison: OnceLock<String>,
}

impl Opened {
    pub fn new(engine: RuntimeEngine) -> Arc<Self> {
        let is_device = !matches!(engine.backend(), Backend::Cpu | Backend::CpuBitsliced);
        let engine = ForkedNot::new(engine, is_device);
        let many_keys_loaded = AtomicU8::new(0);
        Arc::new(Self { engine, many_keys_loaded, generation: generation(), poison: OnceLock::new() })
    }

    /// Refuses an engine that is no longer usable.
    pub fn check(&self) -> PyResult<()> {
        if self.generation != generation() && self.engine.is_device() {
            return Err(UnavailableError::new_err(
                "the engine was opened before this process was forked, and a device does not work after a fork: open it in the child, \
                 and start children by `spawn` if the parent uses the device",
            ));
        }
        match self.poison.get() {
            Some(panic) => {
                Err(Error::new_err(format!("the engine is unusable since a call panicked ({panic}): open it again")))
            }
            None => Ok(()),
        }
    }

    /// Does `work`, turns a panic into an exception, after which the engine is not used any more, and restores the thread's CUDA context.
    pub fn guarded<T>(&self, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let work = || {
            caught(work).unwrap_or_else(|panic| {
                self.poison(&panic);
                Err(panicked(&panic))
            })
        };
        if self.engine.is_device() { keeping_context(work) } else { work() }
    }

    /// Makes the engine unusable.
    pub fn poison(&self, panic: &str) {
        let _ = self.poison.set(panic.into());
    }
}
