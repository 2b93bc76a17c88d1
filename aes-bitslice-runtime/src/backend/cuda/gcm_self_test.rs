//! The known answers that the kernel of GCM in one launch must give on a device before its first use.

use crate::backend::cuda::commands::{HashKernel, Slots, Span};
use crate::backend::cuda::memory::stream_sums::StreamSums;
use crate::backend::cuda::select::stored::KeyForm;
use crate::backend::device::hash::{Crypt, Gcm, GcmHash, GcmTables};
use crate::base::counter::CounterBlock;
use crate::base::error::Error;
use crate::base::key::Key;
use crate::cpu::key::CpuKey;
use crate::exec::sources;
use crate::exec::steps::HashSlot;
use crate::op::partial_hash::{self, HASH, Terms, Verdict};
use aes_bitslice_core::aes::Direction;
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::self_test::COUNTER;
use std::sync::Arc;

/// Runs both entry points of the kernel of GCM in one launch in a slot of the device, which was entered, against the CPU: also on a message
/// that is authentic, and on one that is not. The form is that of its keys.
///
/// # Errors
/// [`Error::SelfTestFailed`], and any error the driver reports.
pub(crate) fn test(kernel: &HashKernel, slots: &Slots, sums: &StreamSums, form: &KeyForm) -> Result<(), Error> {
    let (plaintext, ..) = partial_hash::known_answer(Blocks::AsTheyAre);
    let secret = Key::new(&std::array::from_fn::<u8, 32, _>(|i| (i * 7 + 3) as u8))?;
    let (cpu, failed) = (CpuKey::new(&secret), || Error::SelfTestFailed { kernel: kernel.name().into() });
    let (key, keys) = (cpu.hash_key(), form.round_keys(&sources::expanded(&secret)).ok_or_else(failed)?);
    let gcm = Gcm {
        kernel: kernel.clone(),
        keys: &keys,
        tables: Arc::new(GcmTables { tables: kernel.tables(&key)?, inverses: key.inverse_powers() }),
    };
    let counter = CounterBlock::of_gcm(COUNTER, false);
    let (mut ciphertext, mut expected) = (plaintext.clone(), [0; HASH]);
    cpu.crypt_and_hash(Direction::Encrypt, &key, counter, &mut expected, (&mut ciphertext[..]).into());
    let len = plaintext.len();
    let mut slot = slots.take(len)?.with_staging(len)?;
    let hash = || Verdict::none(Terms::of_hash());
    let verdict = |first: u8| {
        let mut terms = Terms::of_hash();
        *terms.addend = expected;
        terms.addend[0] ^= first;
        Verdict { terms, mask: [0xff; HASH] }
    };
    let nothing = vec![0; len];
    for (direction, from, to, verdict, computed) in [
        (Direction::Encrypt, &plaintext, &ciphertext, hash(), expected),
        (Direction::Decrypt, &ciphertext, &plaintext, hash(), expected),
        (Direction::Decrypt, &ciphertext, &plaintext, verdict(0), [0; HASH]),
        (Direction::Decrypt, &ciphertext, &nothing, verdict(1), [0xff; HASH]),
    ] {
        slot.staging(0, len).copy_from_slice(from);
        let (data, hash) = (slot.room(0, len), slot.hash());
        let crypt = Crypt { direction, counter: COUNTER, span: Span::between(Some(data), Some(data), len as u64) };
        let started = slot
            .copy_in_staged(0, len)
            .and_then(|()| slot.clear_hash())
            // SAFETY: everything is in the slot's memory, except for the tables, which outlive the wait.
            .and_then(|()| unsafe {
                sums.with(*slot.queue(), |sum| gcm.run(slot.queue(), crypt, &key, &verdict, GcmHash { sum, hash }))
            })
            .and_then(|()| slot.copy_hash())
            .and_then(|()| slot.copy_out_staged(0, len));
        slot.wait().and(started)?;
        if slot.hash_copied() != computed || slot.staging(0, len) != to {
            return Err(failed());
        }
    }
    Ok(())
}
