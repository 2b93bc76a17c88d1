//! The CPU as a backend, for callers without a GPU, and for serial operations even with one: on its instructions for AES, or bitsliced.

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
use std::fmt::Display;

/// A key that the processor's cores compute with.
pub(crate) trait KeyOnCores: CpuCipher + Send {
    /// The instructions that it computes on.
    type Instructions: Copy + Display + Send + Sync;
    /// The backend that has such keys.
    const BACKEND: Backend;
    /// That backend, for people.
    const NAME: &str;

    /// A key on these instructions, which the processor has.
    fn load(instructions: Self::Instructions, key: &Key) -> Result<Self, Error>;
}

impl KeyOnCores for CpuKey {
    type Instructions = Instructions;
    const BACKEND: Backend = Backend::Cpu;
    const NAME: &str = "CPU";

    fn load(instructions: Instructions, key: &Key) -> Result<Self, Error> {
        Ok(Self::on(instructions, key))
    }
}

impl<K: KeyOnCores> OnBackend for K {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        Ok(self.scrubbed(|| cores::run(self, &call, data))?)
    }
}

/// The CPU as a backend, with keys on these instructions, which the processor has.
pub(crate) struct OnCores<K: KeyOnCores>(pub(crate) K::Instructions);

impl<K: KeyOnCores> Opened for OnCores<K> {
    type Key = K;

    fn backend(&self) -> Backend {
        K::BACKEND
    }

    fn description(&self) -> String {
        format!("{}, {}, {}", K::NAME, self.0, processor::threads())
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

    fn key(&self, key: &Key, _settings: Settings) -> Result<K, Error> {
        K::load(self.0, key)
    }
}
