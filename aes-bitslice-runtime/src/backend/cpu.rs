//! The CPU as a backend, for callers without a GPU, and for serial operations even with one: on its instructions for AES, or bitsliced.

use crate::base::backend::Backend;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::base::threads::threads;
use crate::cpu::bitsliced::isa::Isa;
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

/// The CPU as a backend, with keys on instructions or vectors that the processor has.
#[derive(Clone, Copy)]
pub(crate) enum OnCores {
    Instructions(Instructions),
    Bitsliced(Isa),
}

impl Opened for OnCores {
    type Key = CpuKey;

    fn backend(&self) -> Backend {
        match self {
            Self::Instructions(_) => Backend::Cpu,
            Self::Bitsliced(_) => Backend::CpuBitsliced,
        }
    }

    fn description(&self) -> String {
        let threads = processor::threads();
        match self {
            Self::Instructions(instructions) => format!("CPU, {instructions}, {threads}"),
            Self::Bitsliced(isa) => format!("CPU, bitsliced, {isa}, {threads}"),
        }
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
        match *self {
            Self::Instructions(instructions) => Ok(CpuKey::on(instructions, key)),
            Self::Bitsliced(isa) => CpuKey::bitsliced(isa, key),
        }
    }
}

impl OnBackend for CpuKey {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        Ok(self.scrubbed(|| cores::run(self, &call, data))?)
    }
}
