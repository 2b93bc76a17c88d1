//! A GHASH kernel on a device, and its launches.
//!
//! A launch adds the hash of its data to 16 bytes in device memory; another clears data that such a hash shows not to be authentic
//! (`aes_bitslice_core::hash_manifest`).

use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::{Function, Module};
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::cpu::hash_key::{HashKey, ONE};
use crate::op::launch::{Entry, Launch, Value, block_words};
use crate::op::partial_hash::Verdict;
use aes_bitslice_core::ghash::{self, Element};
use aes_bitslice_core::hash_manifest::{HashManifest, HashOfMessages};
use aes_bitslice_core::manifest::GridSize;
use aes_bitslice_core::messages::GROUP;
use aes_bitslice_kernels::HASHES;
use cudarc::driver::sys::{CUdeviceptr, CUstream};
use std::sync::Arc;
use zeroize::Zeroize;

/// A kernel on a device. Cloning is cheap, and clones share the code.
#[derive(Clone)]
pub(crate) struct HashKernel {
    code: Arc<Code>,
}

struct Code {
    manifest: HashManifest,
    /// The maximum number of thread blocks, for which tables are built.
    units: u32,
    blocks: Function,
    bytes: Function,
    clear: Function,
    /// For many messages at a time: the functions that compute tags and that clear.
    messages: Option<(Function, Function)>,
    multiprocessors: u32,
    /// Whether it may begin before earlier work on the stream completes, and waits for that work itself.
    overlaps: bool,
    module: Module,
}

/// Whether there is a kernel for an architecture (`sm_90`: 90).
pub(crate) fn is_there_for(architecture: u32) -> bool {
    stored(architecture).is_some()
}

/// The fastest kernel for an architecture, and its manifest.
fn stored(architecture: u32) -> Option<(&'static aes_bitslice_kernels::HashKernel, HashManifest)> {
    HASHES.iter().find_map(|kernel| {
        let manifest = HashManifest::parse(kernel.manifest).expect("the manifests of stored kernels are tested");
        let runs = manifest.compute_capability.is_some_and(|range| range.contains(architecture));
        runs.then_some((kernel, manifest))
    })
}

impl HashKernel {
    /// Loads the fastest kernel for a device; `None` if there is none. Its context was entered on this thread.
    pub(crate) fn load(context: &Arc<Context>, architecture: u32, multiprocessors: u32) -> Result<Option<Self>, Error> {
        let Some((kernel, manifest)) = stored(architecture) else { return Ok(None) };
        let image = Image::of(architecture, kernel.name, kernel.cubins, kernel.ptx.unwrap_or_default())?;
        let module = Module::load(context, &image)?;
        let function = |entry| module.function(kernel.name, entry, &image, manifest.shared_bytes);
        let (blocks, bytes) = (function(&manifest.entry)?, function(&manifest.entry_bytes)?);
        let clear = module.function(kernel.name, &manifest.entry_clear, &image, 0)?;
        let messages = manifest.messages.as_ref().map(|HashOfMessages { entry, entry_clear, .. }| {
            Ok::<_, Error>((function(entry)?, module.function(kernel.name, entry_clear, &image, 0)?))
        });
        let messages = messages.transpose()?;
        let units = manifest.units_per_sm * multiprocessors;
        let overlaps = manifest.overlaps && image.waits_itself();
        Ok(Some(Self {
            code: Arc::new(Code { manifest, units, blocks, bytes, clear, messages, multiprocessors, overlaps, module }),
        }))
    }

    /// The kernel's name.
    pub(crate) fn name(&self) -> &str {
        &self.code.manifest.kernel
    }

    /// The tables that launches under a hash key read, in the memory of the device, whose context was entered on this thread.
    pub(crate) fn tables(&self, key: &HashKey) -> Result<KeyMemory, Error> {
        let Code { manifest, units, module, .. } = &*self.code;
        let tables = ghash::tables(key.blocks(), Element::from_block(*key.bytes()), &manifest.shape, *units);
        KeyMemory::new(&module.context, &tables)
    }

    /// The same for launches on many messages.
    pub(crate) fn tables_of_messages(&self, key: &HashKey) -> Result<KeyMemory, Error> {
        let Code { manifest, module, .. } = &*self.code;
        let of_messages = manifest.messages.as_ref().ok_or_else(|| self.none_of_messages())?;
        let tables = ghash::tables(key.blocks(), Element::from_block(*key.bytes()), &of_messages.shape, 1);
        KeyMemory::new(&module.context, &tables)
    }

    fn none_of_messages(&self) -> Error {
        Error::NoSuchKernel { what: format!("{} is for one message at a time", self.name()) }
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
        let Code { manifest, units, blocks, bytes, overlaps, module, .. } = &*self.code;
        let entry = if input.is_multiple_of(16) { Entry::Blocks } else { Entry::Bytes };
        let function = if entry == Entry::Blocks { blocks } else { bytes };
        let values = vec![
            ("length", Value::U64(len)),
            ("tables", Value::Address(tables.pointer())),
            ("units", Value::U32(*units)),
            ("factor", Value::Words(block_words(&ONE))),
            ("addend", Value::Words([0; 4])),
        ];
        let (threads, shared) = (manifest.threads, manifest.shared_bytes);
        let tiles = manifest.shape.tiles(len).clamp(1, (*units).into()) as u32;
        let launch = Launch { entry, at: 0, thread_blocks: tiles, threads, values };
        let span = Span { input: Some(input), output: Some(out), len };
        let arguments =
            function.binding.arguments(span, &launch, None, |_, _| unreachable!("nothing of it is gathered"))?;
        let grid = GridSize { thread_blocks: tiles.into(), threads };
        // SAFETY: the arguments are those of the entry point; the caller guarantees what they point to; the geometry is the manifest's.
        unsafe { function.launch(&module.context, grid, shared, *overlaps, stream, &arguments) }
    }

    /// Clears `len` bytes from `output` on, without waiting, unless the hash in the 16 bytes at `hash` shows that they are authentic.
    ///
    /// # Safety
    /// As [`run`](Self::run), which it follows on the stream.
    pub(crate) unsafe fn clear_unless_authentic(
        &self,
        stream: CUstream,
        output: CUdeviceptr,
        len: u64,
        hash: CUdeviceptr,
        verdict: &Verdict,
    ) -> Result<(), Error> {
        let Code { manifest, clear, multiprocessors, overlaps, module, .. } = &*self.code;
        let values = vec![
            ("length", Value::U64(len)),
            ("hash", Value::Address(hash)),
            ("factor", Value::Words(block_words(&verdict.factor))),
            ("addend", Value::Words(block_words(&verdict.addend))),
            ("mask", Value::Words(block_words(&verdict.mask))),
        ];
        let threads = manifest.threads;
        // Few, because there is almost never anything to clear, and launching more takes longer.
        let thread_blocks = (2 * multiprocessors).min(len.div_ceil(threads.into()).try_into().unwrap_or(u32::MAX));
        let mut launch = Launch { entry: Entry::Bytes, at: 0, thread_blocks, threads, values };
        let span = Span { input: None, output: Some(output), len };
        let arguments =
            clear.binding.arguments(span, &launch, None, |_, _| unreachable!("nothing of it is gathered"))?;
        let grid = GridSize { thread_blocks: thread_blocks.into(), threads };
        // SAFETY: as in `run`.
        let launched = unsafe { clear.launch(&module.context, grid, 0, *overlaps, stream, &arguments) };
        for (_, value) in &mut launch.values {
            if let Value::Words(words) = value {
                words.zeroize();
            }
        }
        launched
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
        let Code { manifest, units, messages, .. } = &*self.code;
        let (function, _) = messages.as_ref().ok_or_else(|| self.none_of_messages())?;
        let values = vec![
            ("messages", Value::Address(of.messages)),
            ("order", Value::Address(of.order)),
            ("all", Value::U32(of.all)),
            ("aad", Value::Address(of.aad)),
            ("masks", Value::Address(of.masks)),
            ("tables", Value::Address(tables.pointer())),
        ];
        let thread_blocks = of.all.div_ceil(GROUP).min(*units);
        let span = Span { input: Some(input), output: Some(out), len: 0 };
        // SAFETY: as the caller promises.
        unsafe { self.launch_for_messages(stream, function, manifest.shared_bytes, thread_blocks, span, values) }
    }

    /// Clears the messages from `output` on whose 16 bytes at `hashes` and mask differ, as far as their tags count, and reports which at
    /// `verdicts`, without waiting.
    ///
    /// # Safety
    /// As [`make_tags`](Self::make_tags), which it follows on the stream.
    pub(crate) unsafe fn clear_messages(
        &self,
        stream: CUstream,
        output: CUdeviceptr,
        of: &OfMessages,
        hashes: CUdeviceptr,
        verdicts: CUdeviceptr,
    ) -> Result<(), Error> {
        let Code { manifest, messages, multiprocessors, .. } = &*self.code;
        let (_, function) = messages.as_ref().ok_or_else(|| self.none_of_messages())?;
        let values = vec![
            ("messages", Value::Address(of.messages)),
            ("all", Value::U32(of.all)),
            ("tags", Value::Address(hashes)),
            ("expected", Value::Address(of.masks)),
            ("verdicts", Value::Address(verdicts)),
        ];
        // Each warp works on one message at a time.
        let thread_blocks = of.all.div_ceil(manifest.threads / 32).min(16 * multiprocessors);
        let span = Span { input: None, output: Some(output), len: 0 };
        // SAFETY: as the caller promises.
        unsafe { self.launch_for_messages(stream, function, 0, thread_blocks, span, values) }
    }

    /// # Safety
    /// As above; the values belong to the function.
    unsafe fn launch_for_messages(
        &self,
        stream: CUstream,
        function: &Function,
        shared_bytes: u32,
        thread_blocks: u32,
        span: Span,
        values: Vec<(&'static str, Value)>,
    ) -> Result<(), Error> {
        let Code { manifest, module, .. } = &*self.code;
        let launch = Launch { entry: Entry::Messages, at: 0, thread_blocks, threads: manifest.threads, values };
        let arguments =
            function.binding.arguments(span, &launch, None, |_, _| unreachable!("nothing of it is gathered"))?;
        let grid = GridSize { thread_blocks: thread_blocks.into(), threads: manifest.threads };
        // SAFETY: the arguments are those of the entry point; what they point to is as the caller promises; the geometry is the manifest's.
        unsafe { function.launch(&module.context, grid, shared_bytes, false, stream, &arguments) }
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
