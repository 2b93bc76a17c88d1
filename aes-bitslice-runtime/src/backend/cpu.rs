//! The CPU as a backend, with its instructions for AES: for callers without a GPU, and for serial operations even with one.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::threads::threads;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::instructions::Instructions;
use crate::cpu::key::CpuKey;
use crate::exec::backend::{KernelsNeeded, OnBackend, Opened, Settings};
use crate::exec::call::Call;
use crate::exec::{cores, processor};
use crate::op::buffers::Buffers;
use crate::op::operation::Operation;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

impl OnBackend for CpuKey {
    fn run<O: Operation>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<O::Part>, Error> {
        Ok(self.scrubbed(|| cores::run(self, &call, data)))
    }
}

/// The CPU as a backend.
pub(crate) struct OnCores {
    /// The instructions of its keys, which the processor has.
    pub(crate) instructions: Instructions,
}

impl Opened for OnCores {
    type Key = CpuKey;

    fn backend(&self) -> Backend {
        Backend::Cpu
    }

    fn description(&self) -> String {
        format!("CPU, {}, {}", self.instructions, processor::threads())
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
        Ok(CpuKey::on(self.instructions, key))
    }
}
