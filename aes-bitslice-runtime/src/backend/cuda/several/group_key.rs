//! A key on each GPU of a group, and its calls on host memory.

use crate::backend::cuda::device_key::DeviceKey;
use crate::backend::device::host_data::{self, KeyOnDevices, OnDevices, Prepared};
use crate::backend::device::key::KeyOnDevice;
use crate::base::error::Error;
use crate::exec::backend::OnBackend;
use crate::exec::call::{Call, PartOf};
use crate::exec::transfers::Transfers;
use crate::exec::work::Work;
use crate::op::buffers::Buffers;
use crate::op::operation::Pass;
use aes_bitslice_core::mode::Mode;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A key on each GPU of a group.
pub(crate) struct GroupKey {
    pub(crate) keys: Vec<DeviceKey>,
    /// Each GPU's share of the work, in proportion to the others.
    pub(crate) weights: Vec<f64>,
    transfers: Transfers,
    /// The number of calls on host memory so far.
    calls: AtomicUsize,
}

impl GroupKey {
    /// From the same key on each GPU, and each GPU's share of the work.
    pub(crate) fn new(keys: Vec<DeviceKey>, weights: Vec<f64>, transfers: Transfers) -> Self {
        Self { keys, weights, transfers, calls: AtomicUsize::new(0) }
    }

    /// Loads every kernel that calls of this mode may use, on all GPUs, unless that was done before. A GPU known to be
    /// lost is reported first, because other GPUs may report its error as their own.
    pub(crate) fn prepare(&self, mode: Mode) -> Result<(), Error> {
        self.keys.iter().try_for_each(|key| key.device().enter())?;
        self.keys.iter().try_for_each(|key| key.prepare(mode, None))
    }
}

impl OnBackend for GroupKey {
    fn run<O: Pass>(&self, call: Call<O>, data: Buffers<'_>) -> Result<Vec<PartOf<O>>, Error> {
        host_data::run(self, call, data)
    }
}

impl OnDevices for GroupKey {
    /// Each call begins on the next device.
    fn prepare(&self, work: &dyn Work, data: &mut Buffers<'_>) -> Result<Box<dyn Prepared + '_>, Error> {
        let (hashes, first) = (work.kernels().hashed.is_some(), self.calls.fetch_add(1, Ordering::Relaxed));
        KeyOnDevices { keys: &self.keys, weights: &self.weights, first }.prepare(work, data, |bytes, is_pinned| {
            match hashes {
                false => self.transfers.plan_over_link(bytes, is_pinned, self.keys.len()),
                true => self.transfers.plan(bytes, is_pinned, self.keys.len()),
            }
        })
    }
}
