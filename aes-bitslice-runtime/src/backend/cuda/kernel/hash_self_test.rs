//! The known answer that a GHASH kernel must give on a device before its first use.

use crate::backend::cuda::kernel::hash::HashKernel;
use crate::backend::cuda::memory::slots::Slots;
use crate::base::error::Error;
use crate::op::partial_hash::HashKey;

/// Bytes that are hashed: several tiles, and a last block that is not whole.
const BYTES: usize = (200 << 10) + 5;

/// Runs both entry points in a slot of the device, which was entered, against the hash on the CPU.
pub(crate) fn run(kernel: &HashKernel, slots: &Slots) -> Result<(), Error> {
    let data: Vec<u8> = (0..BYTES as u32).map(|i| (i.wrapping_mul(0x9e37_79b1) >> 19) as u8).collect();
    let key = HashKey::from_bytes(std::array::from_fn(|i| (i * i + 7 * i + 1) as u8));
    let expected = key.hash(&data);
    let tables = kernel.tables(&key)?;
    let mut slot = slots.take(16 + BYTES)?;
    for at in [0, 1] {
        let mut found = [0; 16];
        let hash = slot.hash();
        let input = slot.room(at, BYTES);
        // SAFETY: waited for before anything is looked at or freed; all lies in the slot's memory.
        let started = unsafe {
            slot.copy_in(at, &data)
                .and_then(|()| slot.clear_hash())
                .and_then(|()| kernel.run(slot.stream(), input, BYTES as u64, &tables, hash))
                .and_then(|()| slot.copy_hash(&mut found))
        };
        slot.wait().and(started)?;
        if found != expected {
            return Err(Error::SelfTestFailed { kernel: kernel.name().into() });
        }
    }
    Ok(())
}
