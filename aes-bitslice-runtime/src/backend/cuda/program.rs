//! Kernels that are no cipher: CUDA C of the caller's own, compiled here, to try and to measure.

use crate::backend::cuda::device::Device;
use crate::backend::cuda::kernel::image::Image;
use crate::base::error::Error;
use cudarc::driver::{CudaFunction, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use std::sync::Arc;

/// A kernel `ENTRY(const void *in, void *out, unsigned long long count)` of the caller's own, on one GPU.
///
/// Its text is trusted as that of a printed kernel is: nothing checks where it reads and writes on the GPU.
pub struct Program {
    device: Arc<Device>,
    function: CudaFunction,
    threads: u32,
}

impl Program {
    /// Compiles a source and loads its entry point.
    pub(crate) fn load(device: &Arc<Device>, source: &str, entry: &str, threads: u32) -> Result<Self, Error> {
        device.enter()?;
        let image = Image::compile_source(device.architecture(), entry, source)?;
        // What is launched with other arguments than it takes reads beyond them.
        if image.parameter_sizes(entry).is_none_or(|sizes| sizes != [8; 3]) {
            let what = format!("`{entry}` is not there, or takes other arguments than two pointers and a count");
            return Err(Error::NoSuchKernel { what });
        }
        let context = device.context();
        let load = || {
            let module = context.shared().load_module(Ptx::from_binary(image.bytes().to_vec()))?;
            module.load_function(entry)
        };
        let function = context.call("cuModuleLoadData", load())?;
        Ok(Self { device: device.clone(), function, threads })
    }

    /// Puts a launch of `thread_blocks` on a stream, without waiting. `count` is the kernel's third argument.
    ///
    /// # Errors
    /// [`Error::OtherContext`] for a stream or a buffer of another device, and what the driver reports.
    pub fn run<I: DevicePtr<u8>, O: DevicePtrMut<u8>>(
        &self,
        stream: &CudaStream,
        thread_blocks: u32,
        input: &I,
        output: &mut O,
        count: u64,
    ) -> Result<(), Error> {
        self.device.enter()?;
        let own = self.device.context().shared().cu_ctx();
        if [stream.context(), input.stream().context(), output.stream().context()].iter().any(|c| c.cu_ctx() != own) {
            return Err(Error::OtherContext);
        }
        let (from, _reads) = input.device_ptr(stream);
        let (to, _writes) = output.device_ptr_mut(stream);
        let grid =
            LaunchConfig { grid_dim: (thread_blocks, 1, 1), block_dim: (self.threads, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&self.function);
        launch.arg(&from).arg(&to).arg(&count);
        // SAFETY: the entry point takes three arguments of these sizes, and the buffers are live memory of the device that the
        // stream's order keeps until the launch is done.
        let launched = unsafe { launch.launch(grid) };
        self.device.context().call("cuLaunchKernel", launched.map(|_| ()))
    }
}
