//! A key loaded on an engine: what the class `Cipher` is, and its calls run under.

use crate::device::OnDevice;
use crate::fork::ForkedNot;
use crate::opened::Opened;
use aes_bitslice_runtime::Cipher;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A key, and the engine that it is loaded on.
pub struct LoadedKey {
    pub opened: Arc<Opened>,
    pub cipher: ForkedNot<Cipher>,
    /// The modes whose kernels were loaded.
    loaded: AtomicU64,
}

impl LoadedKey {
    pub fn new(opened: Arc<Opened>, cipher: Cipher) -> Self {
        let cipher = ForkedNot::new(cipher, opened.engine.is_device());
        Self { opened, cipher, loaded: AtomicU64::new(0) }
    }

    /// The key on the GPU with this number.
    pub fn on_device(&self, ordinal: usize) -> PyResult<OnDevice<'_>> {
        OnDevice::of(&self.cipher, ordinal, &self.loaded)
    }
}
