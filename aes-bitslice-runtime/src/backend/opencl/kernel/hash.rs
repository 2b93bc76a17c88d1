//! The GHASH kernel on a device, and its launches. A launch adds the hash of its data to 16 bytes in device memory; another clears data
//! that such a hash shows not to be authentic (`aes_bitslice_core::manifest`).

use crate::backend::opencl::context::Context;
use crate::backend::opencl::handles::{Event, event_of};
use crate::backend::opencl::kernel::binding::{Bound, Values};
use crate::backend::opencl::kernel::program::{EntryPoint, EntryPoints};
use crate::backend::opencl::kernel::span::{Place, Span};
use crate::backend::opencl::memory::key_memory::KeyMemory;
use crate::backend::opencl::memory::slots::Pool;
use crate::base::error::Error;
use crate::cpu::hash_key::{HashKey, ONE};
use crate::exec::steps::HashSlot;
use crate::op::launch::{Entry, Launch, Value, block_words};
use crate::op::partial_hash::{self, HASH, Verdict};
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::ghash::{self, Blocks, Element};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_kernels::OPENCL_HASHES;
use opencl3::command_queue;
use opencl3::types::{cl_command_queue, cl_mem};
use std::ptr;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A kernel on a device.
pub(crate) struct HashKernel {
    manifest: Manifest<Hash>,
    entry_points: EntryPoints,
    /// The maximum number of work-groups, for which tables are built.
    units: u32,
}

impl HashKernel {
    /// Compiles it for a device.
    pub(crate) fn compile(context: &Context) -> Result<Self, Error> {
        let stored = OPENCL_HASHES.first().expect("one is stored");
        let manifest = Manifest::<Hash>::parse(stored.manifest).expect("the manifests of stored kernels are tested");
        Self::of(context, manifest, stored.source)
    }

    fn of(context: &Context, manifest: Manifest<Hash>, source: &str) -> Result<Self, Error> {
        let entry_points = EntryPoints::compile(context, &manifest, source)?;
        let units = manifest.units_per_sm * context.info().compute_units.max(1);
        Ok(Self { manifest, entry_points, units })
    }

    /// The tables that launches under a hash key read.
    pub(crate) fn tables(&self, context: &Arc<Context>, key: &HashKey) -> Result<KeyMemory, Error> {
        let tables = ghash::tables(key.blocks(), Element::from_block(*key.bytes()), &self.manifest.shape, self.units);
        KeyMemory::new(context, &tables)
    }

    /// Adds the hash of `len` bytes from `input` on to the 16 bytes at `out`, without waiting. `aligned` is whether the input's buffer
    /// begins at a multiple of 16 bytes.
    ///
    /// # Safety
    /// Both are within buffers of the context, and the queue belongs to it too; all are valid. The tables belong to this kernel; `out` is
    /// at a multiple of 4 bytes.
    pub(crate) unsafe fn run(
        &self,
        queue: cl_command_queue,
        input: Place,
        aligned: bool,
        len: u64,
        tables: &KeyMemory,
        out: Place,
    ) -> Result<Launched, Error> {
        let Self { manifest, entry_points, units } = self;
        let entry = if aligned && input.at.is_multiple_of(16) { Entry::Hash } else { Entry::HashBytes };
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Tables, Value::Address(tables.raw() as u64)),
            (Argument::Units, Value::U32(*units)),
            (Argument::Factor, Value::Words(block_words(&ONE))),
            (Argument::Addend, Value::Words([0; 4])),
        ];
        let thread_blocks = manifest.shape.tiles(len).clamp(1, (*units).into()) as u32;
        let launch = Launch { entry, at: 0, thread_blocks, threads: manifest.threads, values };
        let span = Span { input: Some(input), output: Some(out), len, in_place: false, aligned };
        // SAFETY: the entry point takes what its parameters say; the caller guarantees the rest.
        let launched = unsafe { enqueue(queue, entry_points.one(entry)?, span, &launch) }?;
        tables.is_read_by(&launched.done);
        Ok(launched)
    }

    /// Clears `len` bytes from `output` on, without waiting, unless the hash at the start of the buffer `hash` shows that they are
    /// authentic.
    ///
    /// # Safety
    /// Both are within buffers of the context, and the queue belongs to it too; all are valid. `hash` comes from [`run`](Self::run) earlier
    /// in the queue.
    pub(crate) unsafe fn clear_unless_authentic(
        &self,
        queue: cl_command_queue,
        output: Place,
        len: u64,
        hash: cl_mem,
        verdict: &Verdict,
    ) -> Result<Launched, Error> {
        let Self { manifest, entry_points, units } = self;
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Hash, Value::Address(hash as u64)),
            (Argument::Factor, Value::Words(block_words(&verdict.factor))),
            (Argument::Addend, Value::Words(block_words(&verdict.addend))),
            (Argument::Mask, Value::Words(block_words(&verdict.mask))),
        ];
        let threads = manifest.threads;
        // Few, because there is almost never anything to clear.
        let thread_blocks = (*units).min(len.div_ceil(threads.into()).try_into().unwrap_or(u32::MAX));
        let launch = Launch { entry: Entry::Clear, at: 0, thread_blocks, threads, values };
        let span = Span { input: None, output: Some(output), len, in_place: false, aligned: true };
        // SAFETY: as in `run`.
        unsafe { enqueue(queue, entry_points.one(Entry::Clear)?, span, &launch) }
    }

    /// Runs the entry points that hash in a slot against the hashes of each kind on the CPU; and the entry point that clears, on authentic
    /// data and on data that differs in one bit.
    ///
    /// # Errors
    /// [`Error::SelfTestFailed`], and any error the driver reports.
    pub(crate) fn test(&self, pool: &Pool) -> Result<(), Error> {
        Blocks::ALL.into_iter().try_for_each(|blocks| self.answers(pool, blocks))
    }

    fn answers(&self, pool: &Pool, blocks: Blocks) -> Result<(), Error> {
        let (data, key, expected) = partial_hash::known_answer(blocks);
        let tables = self.tables(pool.context(), &key)?;
        let mut slot = pool.take(16 + data.len())?;
        for at in [0, 1] {
            let started = slot.copy_in(at, &data).and_then(|()| slot.clear_hash()).and_then(|()| {
                let (input, out) = (slot.place(at), slot.hash());
                // SAFETY: everything is within the slot's buffer, and the queue is the slot's.
                slot.launch(|_, queue, events| unsafe {
                    self.run(queue, input, true, data.len() as u64, &tables, out)?.into(events)
                })
            });
            let started = started.and_then(|()| slot.copy_hash());
            slot.wait().and(started)?;
            if slot.hash_copied() != expected {
                return Err(Error::SelfTestFailed { kernel: self.manifest.kernel.clone() });
            }
            let hash = KeyMemory::new(pool.context(), &block_words(&expected))?;
            let mut one_bit = expected;
            one_bit[7] ^= 0x10;
            for (addend, is_authentic) in [(expected, true), (one_bit, false)] {
                let verdict =
                    Verdict { factor: Zeroizing::new(ONE), addend: Zeroizing::new(addend), mask: [0xff; HASH] };
                let (output, len) = (slot.place(at), data.len());
                // SAFETY: the output is within the slot's buffer, the queue is the slot's, and the hash is memory of the context that lives
                // until it was waited for.
                let started = slot.launch(|_, queue, events| unsafe {
                    self.clear_unless_authentic(queue, output, len as u64, hash.raw(), &verdict)?.into(events)
                });
                let started = started.and_then(|()| slot.copy_out(at, len));
                slot.wait().and(started)?;
                let left = slot.staged(at, len);
                let is_right = if is_authentic { *left == data[..] } else { left.iter().all(|&byte| byte == 0) };
                if !is_right {
                    return Err(Error::SelfTestFailed { kernel: self.manifest.kernel.clone() });
                }
            }
        }
        Ok(())
    }
}

/// A launch that is in a queue.
pub(crate) struct Launched {
    /// The event of its completion.
    done: Event,
    /// Whether its arguments were overwritten.
    wiped: Result<(), Error>,
}

impl Launched {
    /// Adds its event to `events`: whatever else failed, it is in the queue.
    pub(crate) fn into(self, events: &mut Vec<Event>) -> Result<(), Error> {
        events.push(self.done);
        self.wiped
    }
}

/// Puts a launch of an entry point into a queue.
///
/// # Safety
/// The entry point takes what its parameters say; the launch and the span have what they point to, as the caller of [`HashKernel::run`]
/// guarantees.
unsafe fn enqueue(queue: cl_command_queue, entry: &EntryPoint, span: Span, launch: &Launch) -> Result<Launched, Error> {
    // SAFETY: as the caller guarantees.
    let bound = unsafe { Bound::new(entry, &Values { span, launch, gathered: &[], keys: None }) }?;
    let local = [launch.threads as usize];
    let global = [launch.thread_blocks as usize * local[0]];
    let (global, local) = (global.as_ptr(), local.as_ptr());
    // SAFETY: every argument was set, and the entry point has been locked since; the caller guarantees the rest.
    let launched = unsafe {
        command_queue::enqueue_nd_range_kernel(queue, bound.raw(), 1, ptr::null(), global, local, 0, ptr::null())
    };
    let done = event_of("clEnqueueNDRangeKernel", launched);
    let wiped = bound.wipe();
    Ok(Launched { done: done?, wiped })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::platforms::Wanted;

    /// Each entry point in turn does nothing.
    #[test]
    #[ignore = "needs an OpenCL device"]
    fn a_kernel_that_gives_a_wrong_answer_is_not_used() {
        let context = Context::open(Wanted::First).unwrap();
        let stored = OPENCL_HASHES.first().unwrap();
        let manifest = || Manifest::<Hash>::parse(stored.manifest).unwrap();
        let test =
            |source: &str| HashKernel::of(&context, manifest(), source).unwrap().test(&Pool::new(context.clone()));
        test(stored.source).unwrap();
        for name in manifest().entries.values().map(|entry| &entry.name) {
            let (before, after) = stored.source.split_once(&format!("{name}(")).expect("it is in the source");
            let parameters = after.split_once(") {").expect("a body follows").0;
            let idle = format!("{before}{name}_is({after}\nKERNEL {name}({parameters}) {{}}\n");
            assert!(matches!(test(&idle), Err(Error::SelfTestFailed { .. })), "{name}");
        }
    }
}
