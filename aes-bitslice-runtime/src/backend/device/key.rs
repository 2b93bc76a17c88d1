//! A key on a device: the launches of a call's steps, in order.

use crate::backend::device::driver::Driver;
use crate::backend::device::hash::{HashKernel, Sum, Tables};
use crate::backend::device::slots::{Slot, Slots};
use crate::backend::device::span::Span;
use crate::base::error::Error;
use crate::cpu::hash_key::HashKey;
use crate::exec::choice::Choice;
use crate::exec::steps::Step;
use crate::exec::work::Work;
use crate::op::kernels::KernelsNeeded;
use crate::op::partial_hash::Terms;
use aes_bitslice_core::mode::Mode;
use std::sync::Arc;

/// A key on a device, for the kernels of one kind of device.
pub(crate) trait KeyOnDevice: Send + Sync {
    type Driver: Driver;

    fn driver(&self) -> &Arc<Self::Driver>;

    /// The device's slots for data from the host.
    fn slots(&self) -> &Slots<Self::Driver>;

    /// The device's GHASH kernel, loaded and tested on first use. The device was entered on this thread.
    fn loaded_hash(&self) -> Result<HashKernel<Self::Driver>, Error>;

    /// The tables that launches of the GHASH kernel read under this key.
    fn tables(&self) -> &Tables<Self::Driver>;

    /// Loads every kernel that a call of this mode may use, with the `asked` choice or any that the key allows, unless that was done
    /// before.
    fn prepare(&self, mode: Mode, asked: Option<Choice>) -> Result<(), Error>;

    /// Puts the cipher of some work into a queue, without waiting: with the `asked` choice, else with the fastest of the kernels that the
    /// key allows. Its kernels compute `mode`.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done; the queue belongs to the device.
    unsafe fn launch(
        &self,
        queue: &mut QueueOf<Self>,
        span: SpanOf<Self>,
        work: &dyn Work,
        mode: Mode,
        asked: Option<Choice>,
    ) -> Result<(), Error>;

    /// The GHASH kernel, and its tables for this key, whose hash key is `key`; built on first use. The device was entered on this thread.
    fn hash_kernel(&self, key: &HashKey) -> Result<Hasher<Self::Driver>, Error> {
        let kernel = self.loaded_hash()?;
        let tables = self.tables().get(|| kernel.tables(key))?;
        Ok((kernel, tables))
    }

    /// Loads everything that some work may need, unless that was done before.
    fn prepare_all(&self, work: &dyn Work, asked: Option<Choice>) -> Result<(), Error> {
        let KernelsNeeded { mode, hashed, .. } = work.kernels();
        mode.map_or(Ok(()), |mode| self.prepare(mode, asked))?;
        match work.hash_key().filter(|_| hashed.is_some()) {
            Some(key) => self.driver().enter().and_then(|()| self.hash_kernel(key).map(drop)),
            None => Ok(()),
        }
    }

    /// Puts all steps of some work into the queue of a slot, without waiting.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done.
    unsafe fn launch_in(
        &self,
        slot: &mut Slot<'_, Self::Driver>,
        span: SpanOf<Self>,
        work: &dyn Work,
        asked: Option<Choice>,
    ) -> Result<(), Error> {
        work.kernels().launch_in(slot, |slot, step| {
            let hash = slot.hash();
            // SAFETY: as the caller guarantees; queue and hash are the slot's.
            unsafe {
                self.launch_step(slot.queue(), span, work, step, asked, Sum { terms: &Terms::of_hash(), at: hash })
            }
        })
    }

    /// Puts a step of some work into a queue, without waiting: the cipher as in [`launch`](Self::launch); the terms of a hash are added to
    /// the sum.
    ///
    /// # Safety
    /// The span and the sum are within memory of the device that is live until the work is done; the queue belongs to the device. It is in
    /// order, or a barrier was put into it after earlier work.
    unsafe fn launch_step(
        &self,
        queue: &mut QueueOf<Self>,
        span: SpanOf<Self>,
        work: &dyn Work,
        step: Step,
        asked: Option<Choice>,
        sum: Sum<'_, PlaceOf<Self>>,
    ) -> Result<(), Error> {
        let hashed = match step {
            // SAFETY: as the caller guarantees.
            Step::Cipher(mode) => return unsafe { self.launch(queue, span, work, mode, asked) },
            Step::Hash(hashed) => hashed.of(span.input, span.output),
        };
        let (Some(data), Some(key)) = (hashed, work.hash_key()) else { return Ok(()) };
        let (kernel, tables) = self.hash_kernel(key)?;
        // SAFETY: as the caller guarantees; the tables live as long as the key, and dropping it waits for the launches.
        unsafe { kernel.run(queue, data, span.len, &tables, sum) }
    }

    /// After all [steps](Self::launch_step) of work that verifies, which was on all data of a call: clears the output if it is not authentic.
    /// Does nothing for other work.
    ///
    /// # Safety
    /// The span and `hash` are within memory of the device that is live until the work is done; `hash` is aligned to 4 bytes; the queue
    /// belongs to the device. It is in
    /// order, or a barrier was put into it after earlier work.
    unsafe fn clear_unless_authentic(
        &self,
        queue: &mut QueueOf<Self>,
        span: SpanOf<Self>,
        work: &dyn Work,
        hash: PlaceOf<Self>,
    ) -> Result<(), Error> {
        let Some(output) = span.output.filter(|_| span.len > 0) else { return Ok(()) };
        let Some(verdict) = work.verdict(span.len) else { return Ok(()) };
        let kernel = self.loaded_hash()?;
        // SAFETY: as the caller guarantees.
        unsafe { kernel.clear_unless_authentic(queue, output, span.len, hash, &verdict) }
    }
}

/// A GHASH kernel, and the tables of a key for it.
pub(crate) type Hasher<D> = (HashKernel<D>, Arc<<D as Driver>::KeyMemory>);

type QueueOf<K> = <<K as KeyOnDevice>::Driver as Driver>::Queue;
type PlaceOf<K> = <<K as KeyOnDevice>::Driver as Driver>::Place;
type SpanOf<K> = Span<PlaceOf<K>>;
