//! The known answers that a GHASH kernel must give on a device before its first use: a hash of each kind.

use crate::backend::cuda::kernel::hash::HashKernel;
use crate::backend::cuda::memory::slots::Slots;
use crate::base::error::Error;
use crate::cpu::hash_key::ONE;
use crate::exec::steps::HashSlot;
use crate::op::partial_hash::{self, Verdict};
use aes_bitslice_core::ghash::Blocks;
use zeroize::Zeroizing;

/// Runs the entry points that hash in a slot of the device, which was entered, against the hash on the CPU; and the
/// entry point that clears, on authentic data and on data that differs in one bit.
pub(crate) fn run(kernel: &HashKernel, slots: &Slots) -> Result<(), Error> {
    Blocks::ALL.into_iter().try_for_each(|blocks| answers(kernel, slots, blocks))
}

fn answers(kernel: &HashKernel, slots: &Slots, blocks: Blocks) -> Result<(), Error> {
    let (data, key, expected) = partial_hash::known_answer(blocks);
    let tables = kernel.tables(&key)?;
    let mut slot = slots.take(16 + data.len())?;
    for at in [0, 1] {
        let hash = slot.hash();
        let input = slot.room(at, data.len());
        // SAFETY: waited for before anything is looked at or freed; everything is in the slot's memory.
        let started = unsafe {
            slot.copy_in(at, &data)
                .and_then(|()| slot.clear_hash())
                .and_then(|()| kernel.run(slot.stream(), input, data.len() as u64, &tables, hash))
                .and_then(|()| slot.copy_hash())
        };
        slot.wait().and(started)?;
        if slot.hash_copied() != expected {
            return Err(Error::SelfTestFailed { kernel: kernel.name().into() });
        }
        let mut one_bit = expected;
        one_bit[7] ^= 0x10;
        for (addend, is_authentic) in [(expected, true), (one_bit, false)] {
            let verdict = Verdict { factor: Zeroizing::new(ONE), addend: Zeroizing::new(addend), mask: [0xff; 16] };
            let (output, mut left) = (slot.room(at, data.len()), vec![0x5a; data.len()]);
            // SAFETY: waited for before anything is looked at or freed; device memory is the slot's.
            let started = unsafe {
                kernel
                    .clear_unless_authentic(slot.stream(), output, data.len() as u64, hash, &verdict)
                    .and_then(|()| slot.copy_out(at, &mut left))
            };
            slot.wait().and(started)?;
            let is_right = if is_authentic { left == data } else { left.iter().all(|&byte| byte == 0) };
            if !is_right {
                return Err(Error::SelfTestFailed { kernel: kernel.name().into() });
            }
        }
    }
    Ok(())
}
