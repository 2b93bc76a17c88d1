//! A key on each GPU of a group, and its calls on host memory.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::cuda::memory::slots::Slot;
use crate::backend::cuda::several::host_data::{self, Staged, room_on};
use crate::base::error::Error;
use crate::exec::backend::OnBackend;
use crate::exec::call::{Call, PartOf};
use crate::exec::chunk::cut;
use crate::exec::pipeline;
use crate::exec::transfers::{Plan, Transfers};
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;
use aes_bitslice_core::mode::Mode;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A key on each GPU of a group.
pub(crate) struct GroupKey {
    keys: Vec<DeviceKey>,
    weights: Vec<f64>,
    transfers: Transfers,
    /// The number of calls on host memory so far.
    calls: AtomicUsize,
}

impl GroupKey {
    /// From the same key on each GPU, and each GPU's share of the work.
    pub(crate) fn new(keys: Vec<DeviceKey>, weights: Vec<f64>, transfers: Transfers) -> Self {
        Self { keys, weights, transfers, calls: AtomicUsize::new(0) }
    }

    pub(crate) fn keys(&self) -> &[DeviceKey] {
        &self.keys
    }

    /// Loads every kernel that calls of this mode may use, on all GPUs, unless that was done before. A GPU known to be
    /// lost is reported first, because other GPUs may report its error as their own.
    pub(crate) fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.keys.iter().try_for_each(|key| key.device().enter())?;
        self.keys.iter().try_for_each(|key| key.prepare(mode, None))
    }

    /// Each GPU's share of the work, in proportion to the others.
    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The number of a call, counting up.
    fn next_call(&self) -> usize {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl OnBackend for GroupKey {
    fn run<O: Pass>(&self, call: Call<O>, mut data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        self.keys.iter().try_for_each(|key| key.device().enter())?;
        self.keys.iter().try_for_each(|key| key.prepare_all(&call, None))?;
        let staged = Staged::of(&mut data);
        let (bytes, devices) = (call.skip() + data.len(), self.keys.len());
        let plan = match call.kernels().hashed {
            None => self.transfers.plan_over_link(bytes, staged.is_nothing(), devices),
            Some(_) => self.transfers.plan(bytes, staged.is_nothing(), devices),
        };
        let chunk_bytes = match plan.chunk_bytes {
            bytes if bytes <= Slot::SMALLEST => bytes,
            bytes => self.keys.iter().try_fold(bytes, |bytes, key| room_on(key, bytes))?,
        };
        let plan = Plan { chunk_bytes, ..plan };
        // Calls too small for all GPUs each start on the next GPU.
        let first = self.next_call();
        let workers: Vec<_> = (0..plan.workers).map(|worker| first.wrapping_add(worker) % self.keys.len()).collect();
        let chunks = cut(call, data.reborrow(), chunk_bytes);
        let started = AtomicBool::new(false);
        let slots = |device: usize| host_data::slots(&self.keys[device], &plan, staged);
        let run = || pipeline::run(chunks, &self.weights, &workers, slots, &started);
        let outcome = catch_unwind(AssertUnwindSafe(run));
        // Not even a panic lets half a result out.
        if !matches!(outcome, Ok(Ok(_))) && started.into_inner() {
            data.output().fill(0);
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
}
