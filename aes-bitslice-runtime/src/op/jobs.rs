//! [`Jobs`], each under a key of its own, as an operation.

use crate::base::error::Error;
use crate::cpu::cipher::CpuCipher;
use crate::op::batch::Batch;
use crate::op::buffers::{Access, Buffers};
use crate::op::kernels::{KernelsNeeded, OnHost};
use crate::op::many_keys::{Jobs, NAME, RANGES, refused};
use crate::op::operation::{Cut, Keys, Operation, Pass, Place, Ready, one_pass, ready_as_it_is, returns_nothing};
use aes_bitslice_core::memory::NoMemory;
use aes_bitslice_core::mode::Mode;
use std::ops::Range;

impl Operation for Jobs {
    type Output = ();
    const NAME: &'static str = NAME;
    const ACCESS: Access = Access::Maps;
    const KEYS: Keys = Keys::Own;

    fn access(&self) -> Access {
        self.flow.access()
    }

    fn check(&self, bytes: u64) -> Result<(), Error> {
        self.ranges.within(bytes, RANGES.what, "the data").or_else(refused)
    }

    fn clear(&self, output: &mut [u8]) {
        self.ranges.iter().for_each(|Range { start, end }| output[start as usize..end as usize].fill(0));
    }

    /// Those of ECB in the direction in which the cipher runs: counters are data.
    fn kernels(&self) -> KernelsNeeded {
        let mode = Mode::ecb(self.flow.mode().direction());
        KernelsNeeded { of_messages: true, on_host: OnHost::Cpu, ..KernelsNeeded::of(mode) }
    }

    one_pass!();
}

ready_as_it_is!(Jobs);

impl Ready for Jobs {
    returns_nothing!();

    /// They go to all cores.
    fn cut(&self) -> Option<Cut<Self>> {
        None
    }

    fn messages(&self) -> Result<Option<Batch<'_>>, NoMemory> {
        Ok(Some(Batch::Jobs(self)))
    }

    fn on_cpu(&self, _cipher: &impl CpuCipher, data: Buffers<'_>) {
        self.on_cores(data);
    }

    fn under_own_keys(&self, data: Buffers<'_>) -> Option<()> {
        self.on_cores(data);
        Some(())
    }
}
