//! The CPU as a backend, with its instructions for AES: for callers without a GPU, and for serial operations even with one.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::threads::threads;
use crate::cpu::cipher::CpuCipher;
use crate::cpu::instructions::Instructions;
use crate::cpu::key::CpuKey;
use crate::exec::backend::{OnBackend, Opened, Settings};
use crate::exec::call::{Call, PartOf};
use crate::exec::{cores, processor};
use crate::op::buffers::Buffers;
use crate::op::kernels::KernelsNeeded;
use crate::op::operation::Pass;
use aes_bitslice_core::aes::KeyBits;
use aes_bitslice_core::mode::Mode;

impl OnBackend for CpuKey {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
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

    fn supports(&self, _kernels: KernelsNeeded) -> bool {
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
