//! The known answers that kernels must give on a device before their first use.

use crate::backend::device::driver::Driver;
use crate::backend::device::hash::{HashKernel, Sum};
use crate::backend::device::kernel::Kernel;
use crate::backend::device::round_keys::{KeyMaterial, RoundKeys};
use crate::backend::device::slots::{Slot, Slots};
use crate::backend::device::span::Span;
use crate::base::counter::{Counter, CounterMode};
use crate::base::error::Error;
use crate::cpu::hash_key::ONE;
use crate::exec::known_answer::{self, Candidate};
use crate::exec::steps::HashSlot;
use crate::op::by_mode::launches_of;
use crate::op::ctr::Ctr;
use crate::op::launch::{Entry, Launch, Shape, block_words};
use crate::op::operation::Ready;
use crate::op::partial_hash::{self, HASH, Terms, Verdict};
use aes_bitslice_core::ghash::Blocks;
use aes_bitslice_core::self_test::COUNTER;
use zeroize::Zeroizing;

/// Runs the known-answer test through the entry points for blocks and bytes, in a slot of the kernel's device; `is_right` judges the
/// answer. Where there is an entry point for secret counters, its answer must be theirs.
///
/// # Errors
/// [`Error::SelfTestFailed`], and any error the driver reports.
pub(crate) fn of_cipher<D: Driver>(
    kernel: &Kernel<D>,
    slots: &Slots<D>,
    keys: Option<&RoundKeys<D::KeyMemory>>,
    is_right: impl Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    kernel.driver().enter()?;
    let data = known_answer::data();
    let slot = slots.take(known_answer::room())?.with_staging(known_answer::room())?;
    let mut candidate = UnderTest { kernel, keys, slot };
    known_answer::check(kernel.name(), &data, &mut candidate, is_right)?;
    for entry in kernel.entries() {
        match entry {
            // Above.
            Entry::Blocks | Entry::Bytes => {}
            Entry::SecretCounter => secret_counters(&data, &mut candidate)?,
            // Before the first call that uses them: `batch_self_test` and `many_keys` of the backend.
            Entry::Messages | Entry::Cmac | Entry::Each | Entry::Expand | Entry::Jobs => {}
            entry => unreachable!("an entry point of hash kernels: {entry}"),
        }
    }
    Ok(())
}

/// Compares the entry point for secret counters with those for blocks and bytes.
fn secret_counters<D: Driver>(data: &[u8], candidate: &mut UnderTest<'_, D>) -> Result<(), Error> {
    let ctr = Ctr::new(&Counter::new(CounterMode::Inc32, COUNTER.to_be_bytes()), 0);
    for (from, to) in [(0, 0), (1, known_answer::room() / 2)] {
        let expected = candidate.answer_by(data, from, to, |shape| ctr.launches(shape))?;
        if candidate.answer_by(data, from, to, |shape| ctr.launch_of_secret(shape))? != expected {
            return Err(Error::SelfTestFailed { kernel: format!("{}, for secret counters,", candidate.kernel.name()) });
        }
    }
    Ok(())
}

/// A kernel under test, with its keys and its slot.
struct UnderTest<'a, D: Driver> {
    kernel: &'a Kernel<D>,
    keys: Option<&'a RoundKeys<D::KeyMemory>>,
    slot: Slot<'a, D>,
}

impl<D: Driver> Candidate for UnderTest<'_, D> {
    fn answer(&mut self, data: &[u8], from: usize, to: usize) -> Result<Vec<u8>, Error> {
        let mode = self.kernel.mode();
        self.answer_by(data, from, to, |shape| launches_of(mode, COUNTER, shape))
    }
}

impl<D: Driver> UnderTest<'_, D> {
    /// Copies `data` in, runs the kernel with these launches, and copies the answer back ([`Candidate::answer`]).
    fn answer_by(
        &mut self,
        data: &[u8],
        from: usize,
        to: usize,
        launches: impl FnOnce(&Shape<'_>) -> Result<Vec<Launch>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let Self { kernel, keys, slot } = self;
        let (input, output) = (slot.room(from, data.len()), slot.room(to, data.len()));
        let span = Span::between(Some(input), Some(output), data.len() as u64);
        slot.staging(from, data.len()).copy_from_slice(data);
        let started = slot
            .copy_in_staged(from, data.len())
            // SAFETY: the span is within the slot's memory, and the queue is the slot's.
            .and_then(|()| unsafe { kernel.run(slot.queue(), span, *keys, launches) })
            .and_then(|()| slot.copy_out_staged(to, data.len()));
        slot.wait().and(started)?;
        Ok(slot.staging(to, data.len()).to_vec())
    }
}

/// Runs the entry points of a GHASH kernel that hash in a slot of the device, which was entered, against the hashes of each kind on the
/// CPU; and the entry point that clears, on authentic data and on data that differs in one bit.
///
/// # Errors
/// [`Error::SelfTestFailed`], and any error the driver reports.
pub(crate) fn of_hash<D: Driver>(kernel: &HashKernel<D>, slots: &Slots<D>) -> Result<(), Error> {
    Blocks::ALL.into_iter().try_for_each(|blocks| hashes(kernel, slots, blocks))
}

fn hashes<D: Driver>(kernel: &HashKernel<D>, slots: &Slots<D>, blocks: Blocks) -> Result<(), Error> {
    let (data, key, expected) = partial_hash::known_answer(blocks);
    let tables = kernel.tables(&key)?;
    // A driver may take it at the start of its memory only.
    let right = kernel.driver().key_memory(&block_words(&expected))?;
    let room = 16 + data.len();
    let mut slot = slots.take(room)?.with_staging(room)?;
    let failed = || Error::SelfTestFailed { kernel: kernel.name().into() };
    for at in [0, 1] {
        let hash = slot.hash();
        let input = slot.room(at, data.len());
        slot.staging(at, data.len()).copy_from_slice(&data);
        let started = slot
            .copy_in_staged(at, data.len())
            .and_then(|()| slot.clear_hash())
            // SAFETY: everything is in the slot's memory, except for the tables, which outlive the wait.
            .and_then(|()| unsafe {
                kernel.run(slot.queue(), input, data.len() as u64, &tables, Sum { terms: &Terms::of_hash(), at: hash })
            })
            .and_then(|()| slot.copy_hash());
        slot.wait().and(started)?;
        if slot.hash_copied() != expected {
            return Err(failed());
        }
        let mut one_bit = expected;
        one_bit[7] ^= 0x10;
        for (addend, is_authentic) in [(expected, true), (one_bit, false)] {
            let terms = Terms { factor: Zeroizing::new(ONE), addend: Zeroizing::new(addend) };
            let verdict = Verdict { terms, mask: [0xff; HASH] };
            let (output, len) = (slot.room(at, data.len()), data.len() as u64);
            slot.staging(at, data.len()).fill(0x5a);
            // SAFETY: the output is in the slot's memory, and the hash outlives the wait.
            let started = unsafe { kernel.clear_unless_authentic(slot.queue(), output, len, right.place(), &verdict) };
            let started = started.and_then(|()| slot.copy_out_staged(at, data.len()));
            slot.wait().and(started)?;
            let left = slot.staging(at, data.len());
            let is_right = if is_authentic { *left == data[..] } else { left.iter().all(|&byte| byte == 0) };
            if !is_right {
                return Err(failed());
            }
        }
    }
    Ok(())
}
