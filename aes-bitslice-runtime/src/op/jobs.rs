//! [`Jobs`], each under a key of its own, as an operation.

use crate::base::error::Error;
use crate::cpu::key::CpuKey;
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

    fn on_cpu(&self, _cipher: &CpuKey, data: Buffers<'_>) {
        self.on_cores(data);
    }

    fn under_own_keys(&self, data: Buffers<'_>) -> Option<()> {
        self.on_cores(data);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::Key;
    use crate::cpu::key::CpuKey;
    use crate::op::many_keys::Job;

    /// Where a cipher has a key, it is not used.
    #[test]
    fn ranges_are_processed_under_their_own_keys_and_cleared() {
        let job = |key, range| Job { key, counter: [9; 16], range };
        let jobs = Jobs::new(Mode::Ctr, &[job(&[1; 16], 0..17), job(&[2; 16], 20..40)]).unwrap();
        let [mut one, mut other] = [[5; 40]; 2];
        jobs.under_own_keys(Buffers::InPlace(&mut one)).unwrap();
        jobs.on_cpu(&CpuKey::new(&Key::new(&[3; 16]).unwrap()), Buffers::InPlace(&mut other));
        assert!(one == other && one != [5; 40]);
        let mut cleared = one;
        jobs.clear(&mut cleared);
        assert!(cleared[..17] == [0; 17] && cleared[17..20] == [5; 3] && cleared[20..] == [0; 20]);
    }
}
