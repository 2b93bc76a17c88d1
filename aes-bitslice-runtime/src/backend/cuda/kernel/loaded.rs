//! A kernel on a device: loading and launches.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::module::{EntryPoints, Function};
use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::op::launch::{Entry, Geometry, Launch, Shape};
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::mode::Mode;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUstream};
use std::sync::Arc;

/// The loaded code.
struct Code {
    mode: Mode,
    /// The maximum number of threads of a thread block whose threads expand keys.
    own_key_threads: u32,
    entry_points: EntryPoints,
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
        let mode = manifest.mode().map_err(|e| Error::NoSuchKernel { what: e.to_string() })?;
        let entry_points = EntryPoints::load(context, manifest, image)?;
        let own_key_threads = manifest.own_key_threads.unwrap_or(manifest.threads);
        let code = Arc::new(Code { mode, own_key_threads, entry_points });
        Ok(Self { code, geometry: Geometry::new(manifest, multiprocessors) })
    }

    /// Prepares the kernel for multiprocessors that it shares with another kernel: all on-chip memory is shared memory, so that both fit.
    pub(crate) fn share_multiprocessors(&self) -> Result<(), Error> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        for Function { function, .. } in self.code.entry_points.functions() {
            // SAFETY: the function is loaded.
            let preferred = unsafe { result::function::set_function_attribute(*function, attribute, 100) };
            self.context().call("cuFuncSetAttribute", preferred)?;
        }
        Ok(())
    }

    pub(crate) fn name(&self) -> &str {
        self.code.entry_points.kernel()
    }

    /// The maximum number of threads of a thread block whose threads expand keys.
    pub(crate) fn threads_of_own_keys(&self) -> u32 {
        self.code.own_key_threads
    }

    /// Its entry points.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.code.entry_points.entries()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.code.mode
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.code.entry_points.module.context
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
        launches.iter().try_for_each(|launch| unsafe { self.code.entry_points.launch(stream, span, launch, keys) })
    }
}
