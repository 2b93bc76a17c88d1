//! A module of the driver, its functions, and the entry points of a kernel.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::driver;
use crate::backend::cuda::kernel::binding::{Passed, arguments};
use crate::backend::cuda::kernel::image::Image;
use crate::backend::cuda::memory::gather::gathered;
use crate::backend::cuda::memory::key_memory::KeyMemory;
use crate::backend::device::values::Values;
use crate::base::error::Error;
use crate::op::launch::{Entry, Launch};
use aes_bitslice_core::grid::GridSize;
use aes_bitslice_core::manifest::Manifest;
use aes_bitslice_core::signature::{EntryPoint, Parameter};
use cudarc::driver::result;
use cudarc::driver::sys::{self, CUfunction, CUmodule, CUresult, CUstream};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

/// A module of the driver, unloaded on drop once everything on the device is done. Graphs that need it share ownership
/// of it (`capture`).
pub(crate) struct Module {
    pub(crate) context: Arc<Context>,
    module: CUmodule,
}

// SAFETY: a handle, which any thread that has made the context current may use; unloading does that.
unsafe impl Send for Module {}
// SAFETY: a handle, which any thread that has made the context current may use; nothing is changed after loading.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // Launches may be in flight on streams of callers, so wait. If waiting fails, they may still run the code, so
        // it stays; and a context that is lost has lost the module too.
        if self.context.make_current().and_then(|()| result::ctx::synchronize()).is_ok() {
            // An error cannot be handled here.
            // SAFETY: loaded here, not used after this, and nothing runs that needs it.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// A function of a module, and its parameters.
pub(crate) struct Function {
    function: CUfunction,
    pub(crate) parameters: Vec<Parameter>,
}

// SAFETY: functions are handles, which any thread that has made the context current may use; nothing is changed after
// loading.
unsafe impl Send for Function {}
// SAFETY: functions are handles, which any thread that has made the context current may use; nothing is changed after loading.
unsafe impl Sync for Function {}

impl Module {
    /// Loads an image on a device whose context is current on this thread.
    ///
    /// # Errors
    /// [`Error::CudaUnavailable`] if the driver is too old for it, and any error the driver reports.
    pub(crate) fn load(context: &Arc<Context>, image: &Image) -> Result<Self, Error> {
        // SAFETY: the image is a cubin, or PTX with its NUL, and outlives the call.
        let module = match unsafe { result::module::load_data(image.as_ptr()) } {
            Err(e) if e.0 == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                let what = format!("the NVIDIA driver is too old for the stored kernels ({})", driver::name(e));
                return Err(driver::unavailable(what, "update it to 580 or later"));
            }
            other => context.call("cuModuleLoadData", other)?,
        };
        Ok(Self { context: context.clone(), module })
    }

    /// The function of an entry point of a kernel, launched with `shared_bytes` of shared memory.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if the code takes other parameters than the manifest says, and any error the driver
    /// reports.
    pub(crate) fn function(
        &self,
        kernel: &str,
        entry: &EntryPoint,
        image: &Image,
        shared_bytes: u32,
    ) -> Result<Function, Error> {
        let no_kernel = |what: String| Error::NoSuchKernel { what };
        let name = CString::new(entry.name.as_str()).map_err(|e| no_kernel(e.to_string()))?;
        // SAFETY: the module is loaded, and is kept as long as the function.
        let function = unsafe { result::module::get_function(self.module, name) };
        let function = self.context.call("cuModuleGetFunction", function)?;
        let sizes = entry.parameters.iter().map(|parameter| parameter.kind.cuda_bytes());
        // A function launched with other arguments than it takes reads beyond them.
        if !image.parameter_sizes(&entry.name).is_some_and(|taken| taken.into_iter().eq(sizes)) {
            return Err(no_kernel(format!("the code of {kernel} takes other arguments than {entry}")));
        }
        allow_shared_memory(&self.context, function, shared_bytes)?;
        Ok(Function { function, parameters: entry.parameters.clone() })
    }
}

impl Function {
    /// Launches it with the thread blocks and threads of `grid`; if it `overlaps`, possibly before earlier work on the
    /// stream completes.
    ///
    /// # Safety
    /// The arguments are those of the entry point, and what they point to is live until the work is done; grid and
    /// shared memory are what the code was compiled for; the stream is live. Code that overlaps waits for earlier work
    /// itself.
    pub(crate) unsafe fn launch(
        &self,
        context: &Context,
        grid: GridSize,
        shared_bytes: u32,
        overlaps: bool,
        stream: CUstream,
        arguments: &[Passed<'_>],
    ) -> Result<(), Error> {
        // The driver copies the arguments during the call.
        let mut pointers: Vec<_> = arguments.iter().map(Passed::pointer).collect();
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid.thread_blocks as u32,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: grid.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared_bytes,
            hStream: stream,
            attrs: &mut attribute,
            numAttrs: overlaps.into(),
        };
        // SAFETY: as the caller guarantees; the pointers are to live values.
        let launched = unsafe { sys::cuLaunchKernelEx(&config, self.function, pointers.as_mut_ptr(), ptr::null_mut()) };
        context.call("cuLaunchKernelEx", launched.result())
    }
}

/// The entry points of a kernel, loaded.
pub(crate) struct EntryPoints {
    kernel: String,
    functions: BTreeMap<Entry, Function>,
    shared_bytes: u32,
    /// Whether some may begin before earlier work on their stream completes, because they wait themselves.
    overlap: bool,
    module: Module,
}

impl EntryPoints {
    /// Loads all that the manifest lists. The context is current on this thread.
    ///
    /// # Errors
    /// [`Error::NoSuchKernel`] if the code takes other parameters than the manifest says, [`Error::CudaUnavailable`] if the driver is too
    /// old for it, and any error the driver reports.
    pub(crate) fn load<F>(context: &Arc<Context>, manifest: &Manifest<F>, image: &Image) -> Result<Self, Error> {
        let module = Module::load(context, image)?;
        let load = |(&entry, point): (&Entry, &EntryPoint)| {
            let shared_bytes = shared_bytes(entry, manifest.shared_bytes);
            Ok((entry, module.function(&manifest.kernel, point, image, shared_bytes)?))
        };
        Ok(Self {
            kernel: manifest.kernel.clone(),
            functions: manifest.entries.iter().map(load).collect::<Result<_, Error>>()?,
            shared_bytes: manifest.shared_bytes,
            overlap: manifest.overlaps && image.waits_itself(),
            module,
        })
    }

    pub(crate) fn functions(&self) -> impl Iterator<Item = CUfunction> {
        self.functions.values().map(|function| function.function)
    }

    /// Puts a launch on a stream, without waiting.
    ///
    /// # Safety
    /// The span, and what the values point to, are in memory of the device that is live until the work is done; the stream is live. The
    /// launch is one of this kernel for the span.
    pub(crate) unsafe fn launch(
        &self,
        stream: CUstream,
        launch: &Launch,
        values: &Values<'_, KeyMemory>,
    ) -> Result<(), Error> {
        let Launch { entry, thread_blocks, threads, .. } = *launch;
        let none = || Error::NoSuchKernel { what: format!("{} has no entry point for `{entry}`", self.kernel) };
        let function = self.functions.get(&entry).ok_or_else(none)?;
        let context = &self.module.context;
        // Freed on the stream, after the launch.
        let mut copies = Vec::new();
        let arguments = arguments(&function.parameters, values, |input, blocks| {
            // SAFETY: the blocks are within the input, which the caller guarantees.
            let copy = unsafe { gathered(context, stream, input, blocks) }?;
            let pointer = copy.pointer();
            copies.push(copy);
            Ok(pointer)
        })?;
        let grid = GridSize { thread_blocks: thread_blocks.into(), threads };
        let (overlaps, shared_bytes) = (self.overlap && entry.may_overlap(), shared_bytes(entry, self.shared_bytes));
        // SAFETY: the arguments are those of the entry point; the caller guarantees the span; the geometry is the one the kernel was
        // compiled for. A launch that overlaps waits, before it touches data, until earlier work is done.
        unsafe { function.launch(context, grid, shared_bytes, overlaps, stream, &arguments) }
    }
}

/// Bytes of shared memory that an entry point is launched with, in addition to what the code declares, if its kernel has this number.
fn shared_bytes(entry: Entry, of_kernel: u32) -> u32 {
    if entry.ends_decryption() || entry.describes() { 0 } else { of_kernel }
}

/// Lets a kernel have more shared memory than the 48 KiB that every kernel may have. The context is current on this
/// thread.
fn allow_shared_memory(context: &Context, function: CUfunction, bytes: u32) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is loaded.
    let allowed = unsafe { result::function::set_function_attribute(function, attribute, bytes as i32) };
    context.call("cuFuncSetAttribute", allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::driver::result::stream;
    use std::ffi::CStr;

    const SOURCE: &CStr = c".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

    /// While another stream is captured, the device cannot be waited for, so objects dropped meanwhile stay usable.
    #[test]
    #[ignore = "needs a CUDA GPU"]
    fn what_cannot_be_waited_for_stays() {
        let context = Arc::new(Context::open(&driver::usable(0).unwrap()).unwrap());
        context.enter().unwrap();
        let streams = [(); 2].map(|()| stream::create(stream::StreamKind::NonBlocking).unwrap());
        let [captured, other] = streams;
        // SAFETY: the source ends with a NUL; streams and modules are live until they are destroyed here, in this order.
        unsafe {
            let module = result::module::load_data(SOURCE.as_ptr().cast()).unwrap();
            let function = result::module::get_function(module, c"nothing".into()).unwrap();
            stream::begin_capture(captured, sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
            drop(Module { context: context.clone(), module });
            // The calls made meanwhile have ended the capture, with an error or without.
            let _ = stream::end_capture(captured);
            result::launch_kernel(function, (1, 1, 1), (1, 1, 1), 0, other, &mut []).unwrap();
            stream::synchronize(other).unwrap();
            result::module::unload(module).expect("a module that is still loaded");
            for stream in streams {
                stream::destroy(stream).unwrap();
            }
        }
    }
}
