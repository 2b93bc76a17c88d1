//! The GHASH kernel on a device, and its launches. A launch adds the hash of its data to 16 bytes in the memory of the
//! device (`aes_bitslice_core::hash_manifest`).

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Event, event_of};
use crate::backend::opencl::kernel::binding::{Bound, Values};
use crate::backend::opencl::kernel::program::{EntryPoints, Source};
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::key_memory::KeyMemory;
use crate::backend::opencl::memory::slots::Pool;
use crate::base::error::Error;
use crate::exec::steps::HashSlot;
use crate::op::launch::{Entry, Launch, Value, block_words};
use crate::op::partial_hash::{self, HashKey, ONE};
use aes_bitslice_core::ghash::{self, Element};
use aes_bitslice_core::hash_manifest::HashManifest;
use aes_bitslice_kernels::OPENCL_HASHES;
use opencl3::command_queue;
use opencl3::types::cl_command_queue;
use std::ptr;
use std::sync::Arc;

/// A kernel on a device.
pub(crate) struct HashKernel {
    manifest: HashManifest,
    entry_points: EntryPoints,
    /// Work-groups at most, for which tables are made.
    units: u32,
}

impl HashKernel {
    /// Compiles it for a device.
    pub(crate) fn compile(context: &Context) -> Result<Self, Error> {
        let stored = OPENCL_HASHES.first().expect("one is stored");
        let manifest = HashManifest::parse(stored.manifest).expect("the manifests of stored kernels are tested");
        let entry_points = EntryPoints::compile(context, &Source::of_hash(&manifest, stored.source))?;
        let units = manifest.units_per_sm * context.info().compute_units.max(1);
        Ok(Self { manifest, entry_points, units })
    }

    /// What launches under a hash key read.
    pub(crate) fn tables(&self, context: &Arc<Context>, key: &HashKey) -> Result<KeyMemory, Error> {
        let tables = ghash::tables(Element::from_block(*key.bytes()), &self.manifest.shape, self.units);
        KeyMemory::new(context, &tables)
    }

    /// Adds the hash of `len` bytes from `input` on to the 16 bytes at `out`, without waiting; what tells when it is
    /// done is added to `events`.
    ///
    /// # Safety
    /// Both lie in buffers of the context, and the queue is of it too; all are valid. The tables are of this kernel;
    /// `out` is at a multiple of 4 bytes.
    pub(crate) unsafe fn run(
        &self,
        queue: cl_command_queue,
        input: Place,
        len: u64,
        tables: &KeyMemory,
        out: Place,
        events: &mut Vec<Event>,
    ) -> Result<(), Error> {
        let Self { manifest, entry_points, units } = self;
        let entry = if input.at.is_multiple_of(16) { Entry::Blocks } else { Entry::Bytes };
        let values = vec![
            ("length", Value::U64(len)),
            ("tables", Value::Address(tables.raw() as u64)),
            ("units", Value::U32(*units)),
            ("factor", Value::Words(block_words(&ONE))),
            ("addend", Value::Words([0; 4])),
        ];
        let thread_blocks = manifest.shape.tiles(len).clamp(1, (*units).into()) as u32;
        let launch = Launch { entry, at: 0, thread_blocks, threads: manifest.threads, values };
        let span = Span { input: Some(input), output: Some(out), len, in_place: false, aligned: true };
        let values = Values { span, launch: &launch, gathered: &[], keys: None };
        // SAFETY: the entry point takes what its parameters say; the caller guarantees the buffers.
        let bound = unsafe { Bound::new(entry_points.one(entry), &values) }?;
        let local = [manifest.threads as usize];
        let global = [thread_blocks as usize * local[0]];
        let (global, local) = (global.as_ptr(), local.as_ptr());
        // SAFETY: every argument was set, and the entry point is locked since; the caller guarantees the rest.
        let launched = unsafe {
            command_queue::enqueue_nd_range_kernel(queue, bound.raw(), 1, ptr::null(), global, local, 0, ptr::null())
        };
        let launched = event_of("clEnqueueNDRangeKernel", launched)?;
        tables.is_read_by(&launched);
        events.push(launched);
        Ok(())
    }

    /// Runs both entry points in a slot against the hash on the CPU.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], and what the driver reports.
    pub(crate) fn test(&self, pool: &Pool) -> Result<(), Error> {
        let (data, key, expected) = partial_hash::known_answer();
        let tables = self.tables(pool.context(), &key)?;
        let mut slot = pool.take(16 + data.len())?;
        for at in [0, 1] {
            let started = slot.copy_in(at, &data).and_then(|()| slot.clear_hash()).and_then(|()| {
                let (input, out) = (slot.place(at), slot.hash());
                // SAFETY: all lies in the slot's buffer, and the queue is the slot's.
                slot.launch(|_, queue, events| unsafe {
                    self.run(queue, input, data.len() as u64, &tables, out, events)
                })
            });
            let started = started.and_then(|()| slot.copy_hash());
            slot.wait().and(started)?;
            if slot.hash_copied() != expected {
                return Err(Error::SelfTestFailed { kernel: self.manifest.kernel.clone() });
            }
        }
        Ok(())
    }
}
