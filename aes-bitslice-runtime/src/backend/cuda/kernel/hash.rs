//! A GHASH kernel on a device, and its launches.
//!
//! A launch adds the hash of its data to 16 bytes in device memory; another clears data that such a hash shows not to be authentic
//! (`aes_bitslice_core::manifest`).

use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::EntryPoints;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::cpu::hash_key::{HashKey, ONE};
use crate::op::launch::{Entry, Launch, Value, block_words};
use crate::op::partial_hash::Verdict;
use aes_bitslice_core::argument::Argument;
use aes_bitslice_core::ghash::{self, Element, Shape};
use aes_bitslice_core::manifest::{Hash, Manifest};
use aes_bitslice_core::messages::GROUP;
use aes_bitslice_kernels::HASHES;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::Arc;

/// A kernel on a device. Cloning is cheap, and clones share the code.
#[derive(Clone)]
pub(crate) struct HashKernel {
    code: Arc<Code>,
}

struct Code {
    manifest: Manifest<Hash>,
    entry_points: EntryPoints,
    /// The maximum number of thread blocks, for which tables are built.
    units: u32,
    multiprocessors: u32,
}

/// Whether there is a kernel for an architecture (`sm_90`: 90).
pub(crate) fn is_there_for(architecture: u32) -> bool {
    stored(architecture).is_some()
}

/// The fastest kernel for an architecture, and its manifest.
fn stored(architecture: u32) -> Option<(&'static aes_bitslice_kernels::HashKernel, Manifest<Hash>)> {
    HASHES.iter().find_map(|kernel| {
        let manifest = Manifest::<Hash>::parse(kernel.manifest).expect("the manifests of stored kernels are tested");
        let runs = manifest.compute_capability.is_some_and(|range| range.contains(architecture));
        runs.then_some((kernel, manifest))
    })
}

impl HashKernel {
    /// Loads the fastest kernel for a device; `None` if there is none. Its context was entered on this thread.
    pub(crate) fn load(context: &Arc<Context>, architecture: u32, multiprocessors: u32) -> Result<Option<Self>, Error> {
        let Some((kernel, manifest)) = stored(architecture) else { return Ok(None) };
        let image = Image::of(architecture, kernel.name, kernel.cubins, kernel.ptx.unwrap_or_default())?;
        let entry_points = EntryPoints::load(context, &manifest, &image)?;
        let units = manifest.units_per_sm * multiprocessors;
        Ok(Some(Self { code: Arc::new(Code { manifest, entry_points, units, multiprocessors }) }))
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.code.manifest.kernel
    }

    /// The tables that launches under a hash key read, in the memory of the device, whose context was entered on this thread.
    pub(crate) fn tables(&self, key: &HashKey) -> Result<KeyMemory, Error> {
        self.tables_of(key, &self.code.manifest.shape, self.code.units)
    }

    /// The tables that launches on many messages under a hash key read, in the memory of the device, whose context was entered on this
    /// thread.
    pub(crate) fn tables_of_messages(&self, key: &HashKey) -> Result<KeyMemory, Error> {
        let none = || Error::NoSuchKernel { what: format!("{} is for one message at a time", self.name()) };
        self.tables_of(key, &self.code.manifest.message_shape.ok_or_else(none)?, 1)
    }

    fn tables_of(&self, key: &HashKey, shape: &Shape, units: u32) -> Result<KeyMemory, Error> {
        let tables = ghash::tables(key.blocks(), Element::from_block(*key.bytes()), shape, units);
        KeyMemory::new(&self.code.entry_points.module.context, &tables)
    }

    /// Puts a launch on a stream.
    ///
    /// # Safety
    /// The values belong to the entry point; they and the span are in memory of the device that is live until the work is done; the stream
    /// is live.
    unsafe fn launch(
        &self,
        entry: Entry,
        stream: CUstream,
        thread_blocks: u32,
        span: Span,
        values: Vec<(Argument, Value)>,
    ) -> Result<(), Error> {
        let launch = Launch { entry, at: 0, thread_blocks, threads: self.code.manifest.threads, values };
        // SAFETY: as the caller promises; the threads are the manifest's.
        unsafe { self.code.entry_points.launch(stream, span, &launch, None) }
    }

    /// Adds the hash of `len` bytes from `input` on to the 16 bytes at `out`, without waiting.
    ///
    /// # Safety
    /// Both are in memory of the device that is live until the work is done, as are the tables, which belong to this kernel; `out` is
    /// aligned to 4 bytes; the stream is live.
    pub(crate) unsafe fn run(
        &self,
        stream: CUstream,
        input: CUdeviceptr,
        len: u64,
        tables: &KeyMemory,
        out: CUdeviceptr,
    ) -> Result<(), Error> {
        let Code { manifest, units, .. } = &*self.code;
        let entry = if input.is_multiple_of(16) { Entry::Hash } else { Entry::HashBytes };
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Tables, Value::Address(tables.pointer())),
            (Argument::Units, Value::U32(*units)),
            (Argument::Factor, Value::Words(block_words(&ONE))),
            (Argument::Addend, Value::Words([0; 4])),
        ];
        let tiles = manifest.shape.tiles(len).clamp(1, (*units).into()) as u32;
        let span = Span { input: Some(input), output: Some(out), len };
        // SAFETY: as the caller guarantees.
        unsafe { self.launch(entry, stream, tiles, span, values) }
    }

    /// Clears `len` bytes from `output` on, without waiting, unless the hash in the 16 bytes at `hash` shows that they are authentic.
    ///
    /// # Safety
    /// Both are in memory of the device that is live until the work is done; `hash` is aligned to 4 bytes, and comes from
    /// [`run`](Self::run) earlier on the stream, which is live.
    pub(crate) unsafe fn clear_unless_authentic(
        &self,
        stream: CUstream,
        output: CUdeviceptr,
        len: u64,
        hash: CUdeviceptr,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let Code { manifest, multiprocessors, .. } = &*self.code;
        let values = vec![
            (Argument::Length, Value::U64(len)),
            (Argument::Hash, Value::Address(hash)),
            (Argument::Factor, Value::Words(block_words(&verdict.factor))),
            (Argument::Addend, Value::Words(block_words(&verdict.addend))),
            (Argument::Mask, Value::Words(block_words(&verdict.mask))),
        ];
        // Few, because there is almost never anything to clear, and launching more takes longer.
        let most = len.div_ceil(manifest.threads.into()).try_into().unwrap_or(u32::MAX);
        let span = Span { input: None, output: Some(output), len };
        // SAFETY: as in `run`.
        unsafe { self.launch(Entry::Clear, stream, (2 * multiprocessors).min(most), span, values) }
    }

    /// Computes 16 bytes for each message at `out`, the sum of its hash and its mask, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done, as are the tables, which belong to this kernel and are for
    /// messages; the description of the messages refers to nothing outside; the stream is live.
    pub(crate) unsafe fn make_tags(
        &self,
        stream: CUstream,
        input: CUdeviceptr,
        tables: &KeyMemory,
        of: &OfMessages,
        out: CUdeviceptr,
    ) -> Result<(), Error> {
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::Order, Value::Address(of.order)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Aad, Value::Address(of.aad)),
            (Argument::Masks, Value::Address(of.masks)),
            (Argument::Tables, Value::Address(tables.pointer())),
        ];
        let thread_blocks = of.all.div_ceil(GROUP).min(self.code.units);
        let span = Span { input: Some(input), output: Some(out), len: 0 };
        // SAFETY: as the caller promises.
        unsafe { self.launch(Entry::HashMessages, stream, thread_blocks, span, values) }
    }

    /// Clears the messages from `output` on whose 16 bytes at `hashes` and mask differ, as far as their tags count, and reports which at
    /// `verdicts`, without waiting.
    ///
    /// # Safety
    /// All are in memory of the device that is live until the work is done; `hashes` come from [`make_tags`](Self::make_tags) earlier on
    /// the stream, which is live; the description of the messages refers to nothing outside.
    pub(crate) unsafe fn clear_messages(
        &self,
        stream: CUstream,
        output: CUdeviceptr,
        of: &OfMessages,
        hashes: CUdeviceptr,
        verdicts: CUdeviceptr,
    ) -> Result<(), Error> {
        let Code { manifest, multiprocessors, .. } = &*self.code;
        let values = vec![
            (Argument::Messages, Value::Address(of.messages)),
            (Argument::All, Value::U32(of.all)),
            (Argument::Tags, Value::Address(hashes)),
            (Argument::Expected, Value::Address(of.masks)),
            (Argument::Verdicts, Value::Address(verdicts)),
        ];
        // Each warp works on one message at a time.
        let thread_blocks = of.all.div_ceil(manifest.threads / 32).min(16 * multiprocessors);
        let span = Span { input: None, output: Some(output), len: 0 };
        // SAFETY: as the caller promises.
        unsafe { self.launch(Entry::ClearMessages, stream, thread_blocks, span, values) }
    }
}

/// The device addresses of the data that describes messages, and of their masks.
pub(crate) struct OfMessages {
    pub(crate) messages: CUdeviceptr,
    pub(crate) order: CUdeviceptr,
    /// The number of messages.
    pub(crate) all: u32,
    pub(crate) aad: CUdeviceptr,
    pub(crate) masks: CUdeviceptr,
}
