//! A kernel on a device: how it is loaded and launched.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::driver;
use crate::backend::cuda::kernel::binding::{Argument, Binding};
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::kernel::round_keys::RoundKeys;
use crate::backend::cuda::memory::gather::Gathered;
use crate::backend::cuda::memory::span::Span;
use crate::base::error::Error;
use crate::exec::choice::{Choice, Tiles};
use crate::op::launch::{Entry, Geometry, Launch, Shape};
use aes_bitslice_core::manifest::{Grid, Manifest};
use aes_bitslice_core::mode::Mode;
use aes_bitslice_core::signature;
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction, CUmodule, CUresult, CUstream};
use std::ffi::CString;
use std::sync::Arc;

/// A module of the driver, unloaded on drop when everything on the device is done. Graphs that need it own a share of it
/// (`capture`).
struct Module {
    context: Arc<Context>,
    module: CUmodule,
}

// SAFETY: a handle, which any thread may use that has made the context its own; unloading does that.
unsafe impl Send for Module {}
// SAFETY: as above; nothing is changed after loading.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // Launches may be in flight on streams of callers: wait. Where that cannot be done, they may still run the code, so it
        // stays; and a context that is lost has lost the module too.
        if self.context.make_current().and_then(|()| result::ctx::synchronize()).is_ok() {
            // Nothing can be done here about an error.
            // SAFETY: loaded here, not used after this, and nothing runs that needs it.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// A function of a module, and what it is launched with.
struct Function {
    function: CUfunction,
    binding: Binding,
}

// SAFETY: functions are handles, which any thread may use that has made the context its own; nothing is changed
// after loading.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// What was loaded.
struct Code {
    name: String,
    mode: Mode,
    shared_bytes: u32,
    blocks: Function,
    bytes: Function,
    module: Module,
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
    /// [`Error::NoSuchKernel`] if the code takes something else than the manifest says, [`Error::CudaUnavailable`] if the driver is
    /// too old for it, and what the driver reports.
    pub(crate) fn load(
        context: &Arc<Context>,
        multiprocessors: u32,
        manifest: &Manifest,
        image: &Image,
    ) -> Result<Self, Error> {
        context.enter()?;
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let mode = manifest.mode().map_err(|e| no_kernel(e.to_string()))?;
        // SAFETY: the image is a cubin, or PTX with its NUL, and outlives the call.
        let module = match unsafe { result::module::load_data(image.as_ptr()) } {
            Err(e) if e.0 == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                return Err(Error::CudaUnavailable {
                    what: format!("the NVIDIA driver is too old for the stored kernels ({})", driver::name(e)),
                    help: "update it to 580 or later, or use the backend `cpu`".into(),
                });
            }
            other => context.call("cuModuleLoadData", other)?,
        };
        let module = Module { context: context.clone(), module };
        let function = |entry: &signature::EntryPoint| {
            let name = CString::new(entry.name.as_str()).map_err(|e| no_kernel(e.to_string()))?;
            // SAFETY: the module is loaded, and is kept as long as the function.
            let function = unsafe { result::module::get_function(module.module, name) };
            let function = context.call("cuModuleGetFunction", function)?;
            let binding = Binding::new(entry);
            // What is launched with other arguments than it takes reads beyond them.
            if !image.parameter_sizes(&entry.name).is_some_and(|sizes| sizes.into_iter().eq(binding.sizes())) {
                return Err(no_kernel(format!("the code of {} takes other arguments than {entry}", manifest.kernel)));
            }
            allow_shared_memory(context, function, manifest.shared_bytes)?;
            Ok(Function { function, binding })
        };
        let (blocks, bytes) = (function(&manifest.entry)?, function(&manifest.entry_bytes)?);
        let (name, shared_bytes) = (manifest.kernel.clone(), manifest.shared_bytes);
        let code = Arc::new(Code { name, mode, shared_bytes, blocks, bytes, module });
        Ok(Self { code, geometry: Geometry::new(manifest, multiprocessors) })
    }

    /// The same kernel over as many thread blocks as a choice says, where that is for kernels of its kind.
    pub(crate) fn laid_out(mut self, choice: Choice) -> Self {
        if let (Choice::Bitsliced { tiles: Some(Tiles { most, left }) }, Grid::Tiles { .. }) =
            (choice, self.geometry.grid)
        {
            self.geometry.grid = Grid::Tiles { most, left };
        }
        self
    }

    /// For multiprocessors that it shares with another kernel: all on-chip memory is shared memory, so that both fit.
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

    pub(crate) fn mode(&self) -> Mode {
        self.code.mode
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.code.module.context
    }

    /// The tiles of a thread block's share of `blocks` (at least one) blocks of 16 bytes.
    pub(crate) fn tiles(&self, blocks: u64) -> u64 {
        self.geometry.tiles(blocks)
    }

    /// Puts `launches` of a call on a stream, without waiting.
    ///
    /// # Safety
    /// The span lies in memory of the device that is live until the work is done, and the stream is live. The launches are those of
    /// an operation of the kernel's mode, of the shape that they are given.
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
        // SAFETY: as the caller vouches.
        launches.iter().try_for_each(|launch| unsafe { self.launch(stream, span, launch, keys) })
    }

    /// # Safety
    /// As [`Kernel::run`]; the launch is one of this kernel's for the span.
    unsafe fn launch(
        &self,
        stream: CUstream,
        span: Span,
        launch: &Launch,
        keys: Option<&RoundKeys>,
    ) -> Result<(), Error> {
        let Function { function, binding } = match launch.entry {
            Entry::Blocks => &self.code.blocks,
            Entry::Bytes => &self.code.bytes,
        };
        // Freed on the stream, behind the launch.
        let mut copies = Vec::new();
        let arguments = binding.arguments(span, launch, keys, |input, blocks| {
            // SAFETY: the blocks lie in the input, which the caller vouches for.
            let copy = unsafe { Gathered::new(self.context(), stream, input, blocks) }?;
            let pointer = copy.pointer();
            copies.push(copy);
            Ok(pointer)
        })?;
        // The driver copies arguments when it is called.
        let mut pointers: Vec<_> = arguments.iter().map(Argument::pointer).collect();
        let (grid, threads) = ((launch.thread_blocks, 1, 1), (self.geometry.threads, 1, 1));
        let shared_bytes = self.code.shared_bytes;
        // SAFETY: the arguments are those of the entry point, and point to live values; the caller vouches for the span; the
        // geometry is the one the kernel was compiled for.
        let launched = unsafe { result::launch_kernel(*function, grid, threads, shared_bytes, stream, &mut pointers) };
        self.context().call("cuLaunchKernel", launched)
    }
}

/// Lets a kernel have more shared memory than the 48 KiB that every kernel may have. The context is current on this thread.
fn allow_shared_memory(context: &Context, function: CUfunction, bytes: u32) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is loaded.
    let allowed = unsafe { result::function::set_function_attribute(function, attribute, bytes as i32) };
    context.call("cuFuncSetAttribute", allowed)
}
