//! The known answer that a kernel must give on a device before its first use.

use crate::backend::opencl::kernel::compiled::Kernel;
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::key_memory::RoundKeys;
use crate::backend::opencl::memory::slots::{Pool, Slot};
use crate::base::error::Error;
use crate::exec::known_answer::{self, Candidate};
use crate::op::by_mode;
use crate::op::launch::Shape;
use aes_bitslice_core::self_test;

/// Runs the known-answer test through both entry points, in a slot of the pool; `is_right` judges the answer.
pub(crate) fn self_test(
    kernel: &Kernel,
    pool: &Pool,
    keys: Option<&RoundKeys>,
    is_right: impl Fn(&[u8]) -> bool,
) -> Result<(), Error> {
    // Before the slot, whose drop waits.
    let data = known_answer::data();
    let slot = pool.take(known_answer::room())?;
    known_answer::check(kernel.name(), &data, &mut UnderTest { kernel, keys, slot }, is_right)
}

/// A kernel under test, with its keys and its slot.
struct UnderTest<'a> {
    kernel: &'a Kernel,
    keys: Option<&'a RoundKeys>,
    slot: Slot<'a>,
}

impl Candidate for UnderTest<'_> {
    fn answer(&mut self, data: &[u8], from: usize, to: usize) -> Result<Vec<u8>, Error> {
        let Self { kernel, keys, slot } = self;
        let buffer = slot.buffer().raw();
        let span = Span {
            output: Some(Place { buffer, at: to as u64 }),
            in_place: from == to,
            ..Span::of(slot.buffer(), from, data.len(), true, true)
        };
        let launches = |shape: &Shape<'_>| by_mode::launches_of(kernel.mode(), self_test::COUNTER, shape);
        let started = slot
            .copy_in(from, data)
            .and_then(|()| {
                slot.launch(|context, queue, events| {
                    // SAFETY: the span is within the slot's buffer, and the queue is the slot's.
                    unsafe { kernel.run(context, queue, span, launches, *keys, events) }
                })
            })
            .and_then(|()| slot.copy_out(to, data.len()));
        slot.wait().and(started)?;
        Ok(slot.staged(to, data.len()).to_vec())
    }
}
