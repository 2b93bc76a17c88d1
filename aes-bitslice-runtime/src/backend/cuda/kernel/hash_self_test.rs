//! The known answer that a GHASH kernel must give on a device before its first use.

use crate::backend::cuda::kernel::hash::HashKernel;
use crate::backend::cuda::memory::slots::Slots;
use crate::base::error::Error;
use crate::op::partial_hash;

/// Runs both entry points in a slot of the device, which was entered, against the hash on the CPU.
pub(crate) fn run(kernel: &HashKernel, slots: &Slots) -> Result<(), Error> {
    let (data, key, expected) = partial_hash::known_answer();
    let tables = kernel.tables(&key)?;
    let mut slot = slots.take(16 + data.len())?;
    for at in [0, 1] {
        let mut found = [0; 16];
        let hash = slot.hash();
        let input = slot.room(at, data.len());
        // SAFETY: waited for before anything is looked at or freed; all lies in the slot's memory.
        let started = unsafe {
            slot.copy_in(at, &data)
                .and_then(|()| slot.clear_hash())
                .and_then(|()| kernel.run(slot.stream(), input, data.len() as u64, &tables, hash))
                .and_then(|()| slot.copy_hash(&mut found))
        };
        slot.wait().and(started)?;
        if found != expected {
            return Err(Error::SelfTestFailed { kernel: kernel.name().into() });
        }
    }
    Ok(())
}
