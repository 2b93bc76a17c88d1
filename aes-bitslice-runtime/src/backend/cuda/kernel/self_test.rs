//! The known answer that a kernel must give on a device before its first use.

use crate::backend::cuda::kernel::loaded::Kernel;
use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::slots::{Slot, Slots};
use crate::backend::cuda::memory::span::Span;
use crate::base::counter::{Counter, CounterMode};
use crate::base::error::Error;
use crate::exec::known_answer::{self, Candidate};
use crate::op::by_mode::launches_of;
use crate::op::ctr::Ctr;
use crate::op::launch::{Entry, Launch, Shape};
use aes_bitslice_core::self_test::COUNTER;

/// Runs the known-answer test through the entry points for blocks and bytes, in a slot of the kernel's device; `is_right` judges the
/// answer. Where there is an entry point for secret counters, its answer must be theirs.
pub(crate) fn run(
    kernel: &Kernel,
    slots: &Slots,
    keys: Option<&RoundKeys>,
    is_right: impl Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    kernel.context().enter()?;
    // Before the slot, whose drop waits.
    let data = known_answer::data();
    let slot = slots.take(known_answer::room())?;
    let mut candidate = UnderTest { kernel, keys, slot };
    known_answer::check(kernel.name(), &data, &mut candidate, is_right)?;
    for entry in kernel.entries() {
        match entry {
            // Above.
            Entry::Blocks | Entry::Bytes => {}
            Entry::SecretCounter => secret_counters(&data, &mut candidate)?,
            // Before the first call that uses them: `batch_self_test` and `many_keys`.
            Entry::Messages | Entry::Cmac | Entry::Each | Entry::Expand | Entry::Jobs => {}
            Entry::Hash | Entry::HashBytes | Entry::Clear | Entry::HashMessages | Entry::ClearMessages => {
                unreachable!("an entry point of hash kernels")
            }
        }
    }
    Ok(())
}

/// Compares the entry point for secret counters with those for blocks and bytes.
fn secret_counters(data: &[u8], candidate: &mut UnderTest<'_>) -> Result<(), Error> {
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
struct UnderTest<'a> {
    kernel: &'a Kernel,
    keys: Option<&'a RoundKeys>,
    slot: Slot<'a>,
}

impl Candidate for UnderTest<'_> {
    fn answer(&mut self, data: &[u8], from: usize, to: usize) -> Result<Vec<u8>, Error> {
        let mode = self.kernel.mode();
        self.answer_by(data, from, to, |shape| launches_of(mode, COUNTER, shape))
    }
}

impl UnderTest<'_> {
    /// Copies `data` in, runs the kernel with these launches, and copies the answer back ([`Candidate::answer`]).
    fn answer_by(
        &mut self,
        data: &[u8],
        from: usize,
        to: usize,
        launches: impl FnOnce(&Shape<'_>) -> Result<Vec<Launch>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let Self { kernel, keys, slot } = self;
        let mut answer = vec![0; data.len()];
        let (input, output) = (slot.room(from, data.len()), slot.room(to, data.len()));
        let span = Span { input: Some(input), output: Some(output), len: data.len() as u64 };
        // SAFETY: waited for below before the answer is looked at or freed, and the data outlives the slot, which waits
        // when it is dropped; the span is within the slot's buffer.
        let started = unsafe {
            slot.copy_in(from, data)
                .and_then(|()| kernel.run(slot.stream(), span, *keys, launches))
                .and_then(|()| slot.copy_out(to, &mut answer))
        };
        slot.wait().and(started)?;
        Ok(answer)
    }
}
