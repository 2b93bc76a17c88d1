//! The CPU as a backend, using the `aes` and `ctr` crates: for callers without a GPU, and for serial operations even with one.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::threads::threads;
use crate::exec::backend::{KernelsNeeded, OnBackend, Opened, Settings};
use crate::exec::{cores, processor};
use crate::op::buffers::Buffers;
use crate::op::cpu_key::CpuKey;
use crate::op::operation::Operation;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

impl OnBackend for CpuKey {
    /// On all cores, or on this thread if the operation is serial.
    fn run<O: Operation>(&self, operation: O, data: Buffers<'_>) -> Result<Vec<O::Part>, Error> {
        Ok(match O::SERIAL {
            true => vec![operation.on_cpu(self, data)],
            false => cores::run(self, operation, data),
        })
    }
}

/// The CPU as a backend.
pub(crate) struct OnCores;

impl Opened for OnCores {
    type Key = CpuKey;

    fn backend(&self) -> Backend {
        Backend::Cpu
    }

    fn description(&self) -> String {
        format!("CPU, {}", processor::description())
    }

    fn supports(&self, _kernels: Option<KernelsNeeded>) -> bool {
        true
    }

    fn is_preferred(&self, _mode: Mode, _key_bits: KeyBits, _bytes: u64) -> bool {
        true
    }

    fn calls_at_once(&self) -> usize {
        threads()
    }

    fn key(&self, key: &Key, _settings: Settings) -> Result<CpuKey, Error> {
        Ok(CpuKey::new(key))
    }
}
