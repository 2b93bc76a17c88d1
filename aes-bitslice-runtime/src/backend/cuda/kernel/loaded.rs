//! A kernel on a device: loading and launches.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::{Function, Module};
use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::gather::Gathered;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::op::launch::{Entry, Geometry, Launch, Shape};
use aes_bitslice_core::manifest::{GridSize, Manifest};
use aes_bitslice_core::mode::Mode;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUstream};
use std::sync::Arc;

/// The loaded code.
struct Code {
    name: String,
    mode: Mode,
    shared_bytes: u32,
    /// Whether it may begin before earlier work on its stream completes, because it waits itself.
    overlaps: bool,
    blocks: Function,
    bytes: Function,
    /// For many messages at a time, where it has such an entry point.
    messages: Option<Function>,
    /// For one message whose counter is secret, where it has such an entry point.
    secret_counter: Option<Function>,
    /// For CMAC of many messages at a time, where it has such an entry point.
    cmac: Option<Function>,
    /// For many keys at a time, where it has such entry points.
    many_keys: Option<ManyKeys>,
    module: Module,
}

/// The entry points for many keys.
struct ManyKeys {
    each: Function,
    expand: Function,
    jobs: Function,
    /// The maximum number of threads of a thread block, for the first two.
    threads: u32,
}

/// A kernel on a device. Cloning is cheap, and clones share the code.
#[derive(Clone)]
pub(crate) struct Kernel {
    code: Arc<Code>,
    geometry: Geometry,
}

impl Kernel {
    /// Loads a kernel on a device of `multiprocessors` multiprocessors.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if the code takes other parameters than the manifest says, [`Error::CudaUnavailable`] if the driver is too
    /// old for it, and any error the driver reports.
    pub(crate) fn load(
        context: &Arc<Context>,
        multiprocessors: u32,
        manifest: &Manifest,
        image: &Image,
    ) -> Result<Self, Error> {
        context.enter()?;
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let mode = manifest.mode().map_err(|e| no_kernel(e.to_string()))?;
        let module = Module::load(context, image)?;
        let function = |entry| module.function(&manifest.kernel, entry, image, manifest.shared_bytes);
        let (blocks, bytes) = (function(&manifest.entry)?, function(&manifest.entry_bytes)?);
        let messages = manifest.entry_messages.as_ref().map(function).transpose()?;
        let secret_counter = manifest.entry_secret_counter.as_ref().map(function).transpose()?;
        let cmac = manifest.entry_cmac.as_ref().map(function).transpose()?;
        let many_keys = manifest.many_keys.as_ref().map(|many| {
            let [each, expand, jobs] = [&many.entry_each, &many.entry_expand, &many.entry_jobs].map(function);
            Ok::<_, Error>(ManyKeys { each: each?, expand: expand?, jobs: jobs?, threads: many.threads })
        });
        let many_keys = many_keys.transpose()?;
        let (name, shared_bytes) = (manifest.kernel.clone(), manifest.shared_bytes);
        let overlaps = manifest.overlaps && image.waits_itself();
        let code = Code {
            name,
            mode,
            shared_bytes,
            overlaps,
            blocks,
            bytes,
            messages,
            secret_counter,
            cmac,
            many_keys,
            module,
        };
        Ok(Self { code: Arc::new(code), geometry: Geometry::new(manifest, multiprocessors) })
    }

    /// Prepares the kernel for multiprocessors that it shares with another kernel: all on-chip memory is shared memory, so that both fit.
    pub(crate) fn share_multiprocessors(&self) -> Result<(), Error> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        for Function { function, .. } in [&self.code.blocks, &self.code.bytes] {
            // SAFETY: the function is loaded.
            let preferred = unsafe { result::function::set_function_attribute(*function, attribute, 100) };
            self.context().call("cuFuncSetAttribute", preferred)?;
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        &self.code.name
    }

    /// The maximum number of threads of a thread block whose threads expand keys.
    pub(crate) fn threads_of_own_keys(&self) -> u32 {
        self.code.many_keys.as_ref().map_or(self.geometry.threads, |many| many.threads)
    }

    /// Whether it has an entry point for secret counters.
    pub(crate) fn takes_secret_counters(&self) -> bool {
        self.code.secret_counter.is_some()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.code.mode
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.code.module.context
    }

    /// Puts `launches` of a call on a stream, without waiting.
    ///
    /// # Safety
    /// The span is within memory of the device that is live until the work is done, and the stream is live. The launches belong to an
    /// operation of the kernel's mode, for the shape that they are given.
    pub(crate) unsafe fn run(
        &self,
        stream: CUstream,
        span: Span,
        keys: Option<&RoundKeys>,
        launches: impl FnOnce(&Shape<'_>) -> Result<Vec<Launch>, Error>,
    ) -> Result<(), Error> {
        let is_aligned = |at| span.is_aligned(at);
        let (geometry, in_place) = (&self.geometry, span.is_in_place());
        let launches = launches(&Shape { geometry, len: span.len, in_place, is_aligned: &is_aligned })?;
        // SAFETY: as the caller guarantees.
        launches.iter().try_for_each(|launch| unsafe { self.launch(stream, span, launch, keys) })
    }

    /// # Safety
    /// As [`Kernel::run`]; the launch is one of this kernel for the span.
    unsafe fn launch(
        &self,
        stream: CUstream,
        span: Span,
        launch: &Launch,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let many_keys = self.code.many_keys.as_ref();
        let function = match launch.entry {
            Entry::Blocks => Some(&self.code.blocks),
            Entry::Bytes => Some(&self.code.bytes),
            Entry::Messages => self.code.messages.as_ref(),
            Entry::SecretCounter => self.code.secret_counter.as_ref(),
            Entry::Cmac => self.code.cmac.as_ref(),
            Entry::Each => many_keys.map(|many| &many.each),
            Entry::Expand => many_keys.map(|many| &many.expand),
            Entry::Jobs => many_keys.map(|many| &many.jobs),
        };
        let function = function.ok_or_else(|| Error::NoSuchKernel {
            what: format!("{} is for one message and one key at a time", self.code.name),
        })?;
        // Freed on the stream, after the launch.
        let mut copies = Vec::new();
        let arguments = function.binding.arguments(span, launch, keys, |input, blocks| {
            // SAFETY: the blocks are within the input, which the caller guarantees.
            let copy = unsafe { Gathered::new(self.context(), stream, input, blocks) }?;
            let pointer = copy.pointer();
            copies.push(copy);
            Ok(pointer)
        })?;
        let grid = GridSize { thread_blocks: launch.thread_blocks.into(), threads: launch.threads };
        // Launches for many messages and keys do not wait for earlier work on the stream: they must not begin early.
        let overlaps = self.code.overlaps && matches!(launch.entry, Entry::Blocks | Entry::Bytes);
        let shared_bytes = self.code.shared_bytes;
        // SAFETY: the arguments are those of the entry point; the caller guarantees the span; the geometry is the one the kernel was
        // compiled for. A launch that overlaps waits, before it touches data, until earlier work is done.
        unsafe { function.launch(self.context(), grid, shared_bytes, overlaps, stream, &arguments) }
    }
}
